"""What a task is told of itself: each state it can be in, with what would change it."""

from typing import Any

import pytest

from bernstein_operator.api.vocabulary import AdmittedReason, BlockCause, RunReason, TaskPhase, TaskReason
from kubectl_bernstein.answers.points import points
from kubectl_bernstein.answers.remedies import BLOCKED, ENDED, RUN, WAITING
from kubectl_bernstein.answers.slots import slot_point
from kubectl_bernstein.scene import Scene
from tests.unit.objects import at, profile, run, stamp, task
from tests.unit.plugin.scenes import SLOTS, at_work, begun, said, scene, stands, waiting

NOW = at(10)
PAUSED = run(suspend=True, status=stands("Paused", concurrency=SLOTS))
ENDED_RUN = run(status=stands("Failed"))
FULL = run(status=stands("Running", concurrency={**SLOTS, "effective": 2}))
NONE = run(status=stands("Running", concurrency={**SLOTS, "configured": 0, "effective": 0}))
BUSY_NODES = run(
    status=stands(
        "Running",
        concurrency={**SLOTS, "effective": 0, "pausedSince": stamp(1), "message": "CPU use: 95.0 %."},
    )
)
ITS_TURN = run(
    status=stands(
        "Running", said("Reconciling", "True", "AtOperatorCeiling", "All runs take turns."), concurrency=SLOTS
    )
)
LOWERED = run(
    status=stands(
        "Running", concurrency={**SLOTS, "effective": 1, "reduction": 2, "message": "3 of 10 failed."}
    )
)
STOPPED = run(status=stands("Stopped", concurrency=SLOTS))
ASKS = stands(
    "AwaitingInput",
    said("InputRequired", "True", "InputRequired", "Which?"),
    question={"text": "Which?", "time": stamp(0), "deadline": stamp(60)},
)
LATE = [{"number": 1, "podName": "p", "intentTime": stamp(0), "endTime": stamp(5)}]


def told(found: Scene, name: str = "t") -> list[tuple[str, str, str]]:
    [one] = [one for one in found.tasks if one.meta.name == name]
    return [(point.reason, point.says, point.change) for point in points(found, one, now=NOW)]


def refused(reason: str) -> dict[str, Any]:
    return stands("Pending", said("Admitted", "False", reason, "in its words"))


@pytest.mark.parametrize(
    ("seen", "reason", "says", "change"),
    [
        pytest.param(
            scene(waiting("t", "a"), waiting("a")),
            "DependencyPending",
            "Waits for a.",
            "once all that it waits for has succeeded",
            id="a dependency",
        ),
        pytest.param(
            scene(waiting("t"), profiles=[]),
            "ProfileNotFound",
            "no AgentProfile 'default'",
            "a valid AgentProfile default",
            id="no profile",
        ),
        pytest.param(
            scene(waiting("t", profile="fast"), profiles=[profile("fast", adapter="command")]),
            "ProfileNotFound",
            "command",
            "AgentProfile fast",
            id="an invalid profile",
        ),
        pytest.param(
            scene(waiting("t", suspend=True)),
            "Suspended",
            "holds it back",
            'kubectl patch agenttask/t --type merge -p \'{"spec":{"suspend":false}}\'',
            id="suspended",
        ),
        pytest.param(
            scene(waiting("t", status=stands("Pending", attempts=LATE, nextAttemptTime=stamp(40)))),
            "BackingOff",
            "2026-01-01T12:00:40Z",
            "by itself",
            id="backing off",
        ),
        pytest.param(
            scene(waiting("t"), runs=[]), "RunNotFound", "no BernsteinRun 'r'", "BernsteinRun r", id="no run"
        ),
        pytest.param(
            scene(waiting("t"), runs=[ENDED_RUN]), "RunEnded", "ended as Failed", "new run", id="an ended run"
        ),
        pytest.param(
            scene(waiting("t", priority=0)), "InvalidSpec", "spec.priority", "edit agenttask/t", id="invalid"
        ),
        pytest.param(
            scene(waiting("t", status=stands("Pending", usage={"costUsd": "1"}), budget={"usd": "1"})),
            "TaskBudgetExhausted",
            "budget.usd (1.00)",
            "edit agenttask/t",
            id="nothing left of its own budget",
        ),
        pytest.param(
            scene(waiting("t"), runs=[STOPPED]),
            "BudgetExhausted",
            "was stopped",
            "budget",
            id="a stopped run",
        ),
        pytest.param(
            scene(waiting("t"), runs=[ITS_TURN]),
            "AtOperatorCeiling",
            "take turns",
            "turn has come",
            id="the operator's own ceiling",
        ),
        pytest.param(
            scene(waiting("t"), task("a", status=at_work()), runs=[LOWERED]),
            "AtCeiling",
            "held, by a. 3 of 10 failed.",
            "maxAgents",
            id="a lowered ceiling",
        ),
        pytest.param(
            scene(task("t", status=ASKS)),
            "InputRequired",
            "Which? It waits until 2026-01-01T12:01:00Z.",
            "kubectl bernstein answer t",
            id="a question",
        ),
        pytest.param(
            scene(waiting("t", status=refused("RoleCeiling"))),
            "RoleCeiling",
            "in its words",
            "maxPerRole",
            id="its role's ceiling",
        ),
        pytest.param(
            scene(waiting("t"), runs=[PAUSED]),
            "Suspended",
            "run is paused",
            "kubectl bernstein resume r",
            id="a paused run",
        ),
        pytest.param(
            scene(waiting("t"), runs=[run(cancel="true")]),
            "Draining",
            "being cancelled",
            "for good",
            id="a run that is being cancelled",
        ),
        pytest.param(
            scene(waiting("t"), runs=[run(status=stands("Draining", drainRequested={"time": stamp(1)}))]),
            "Draining",
            "being drained",
            "for good",
            id="a run that is being drained",
        ),
        pytest.param(
            scene(waiting("t"), runs=[run(goal=[])]),
            "InvalidSpec",
            "run's own spec can't be used: spec.goal",
            "edit bernsteinrun/r",
            id="a run that can't be read",
        ),
        pytest.param(
            scene(waiting("t"), task("a", status=at_work()), task("b", status=at_work()), runs=[FULL]),
            "AtCeiling",
            "run r has 2, and all are held, by a, b.",
            '-p \'{"spec":{"concurrency":{"maxAgents":N}}}\'',
            id="no slot is free",
        ),
        pytest.param(
            scene(waiting("t"), task("a", status=at_work()), runs=[FULL]),
            "Queued",
            "one is free",
            "by itself",
            id="a slot is free",
        ),
        pytest.param(
            scene(waiting("t"), runs=[NONE]), "CeilingZero", "ceiling is 0", "maxAgents", id="a ceiling of 0"
        ),
        pytest.param(
            scene(waiting("t"), runs=[BUSY_NODES]),
            "SpawningPaused",
            "too busy: CPU use: 95.0 %.",
            "goes on by itself",
            id="busy nodes",
        ),
        pytest.param(
            scene(waiting("t"), runs=[run()]), "Queued", "has not counted", "by itself", id="an unseen run"
        ),
        pytest.param(
            scene(waiting("t", status=refused("QuotaExceeded"))),
            "QuotaExceeded",
            "in its words",
            "Raise the quota",
            id="a refused Pod, which only the operator knows of",
        ),
        pytest.param(
            scene(waiting("t", status=refused("ProviderHold"))),
            "ProviderHold",
            "in its words",
            "kubectl describe agentprofile/default",
            id="a provider that asks for less",
        ),
        pytest.param(
            scene(waiting("t", status=refused("CircuitOpen"))),
            "CircuitOpen",
            "in its words",
            "Correct the AgentProfile default",
            id="a profile that fails again and again",
        ),
        pytest.param(
            scene(waiting("t", status=refused("DependencyPending"))),
            "Queued",
            "one is free",
            "by itself",
            id="an old word of the operator's doesn't count where the cluster says better",
        ),
    ],
)
def test_why_a_task_waits(seen: Scene, reason: str, says: str, change: str) -> None:
    [(found, text, remedy)] = told(seen)
    assert found == reason
    assert says in text
    assert change in remedy


@pytest.mark.parametrize(
    ("status", "reason", "says", "change"),
    [
        pytest.param(
            stands("Pending", attempt=1, attempts=[begun()]),
            "PodWaiting",
            "Pod pod-1 has not started yet. It is given up at about 2026-01-01T12:10:00Z.",
            "kubectl describe pod pod-1",
            id="its Pod was asked for",
        ),
        pytest.param(
            stands(
                "Pending", said("Admitted", "True", "PodWaiting", "Unschedulable: no"), attempts=[begun()]
            ),
            "PodWaiting",
            "Unschedulable: no",
            "kubectl describe pod pod-1",
            id="its Pod can't start",
        ),
        pytest.param(
            at_work(),
            "Running",
            "has run since 2026-01-01T12:00:05Z on node-1. It is stopped at 2026-01-01T12:30:05Z.",
            "kubectl bernstein logs t --follow",
            id="its agent works",
        ),
        pytest.param(
            at_work(deadline={"effective": stamp(600)}),
            "Running",
            "It is stopped at 2026-01-01T12:10:00Z.",
            "kubectl bernstein logs t --follow",
            id="its deadline comes before its timeout",
        ),
        pytest.param(
            stands("Quarantined", said("Failed", "True", "Quarantined", "odd")),
            "Quarantined",
            "odd",
            "kubectl bernstein retry t",
            id="it is in quarantine",
        ),
        pytest.param(stands("Running", attempts=LATE), "Running", "just ended", "", id="between two phases"),
        pytest.param(
            stands("Succeeded", said("Complete", "True", "Completed"), completionTime=stamp(9)),
            "Completed",
            "It ended as Succeeded at 2026-01-01T12:00:09Z.",
            "",
            id="it is done",
        ),
        pytest.param(
            stands("Failed", said("Failed", "True", "RetriesExhausted", "agent: red")),
            "RetriesExhausted",
            "agent: red",
            "kubectl bernstein retry t",
            id="it failed",
        ),
        pytest.param(
            stands("Cancelled", said("Failed", "True", "Cancelled", "Cancelled by annotation.")),
            "Cancelled",
            "Cancelled by annotation.",
            "a cancel is for good",
            id="it was cancelled",
        ),
        pytest.param(
            stands(
                "BlockedByFailure",
                said("Blocked", "True", "BlockedByFailure", "Can't start: a is Failed."),
                blockedBy={"task": "b", "rootCause": "a", "cause": "Failed"},
            ),
            "BlockedByFailure",
            "Can't start: a is Failed.",
            "kubectl bernstein retry a",
            id="another one is in its way for good",
        ),
    ],
)
def test_where_a_task_stands(status: dict[str, Any], reason: str, says: str, change: str) -> None:
    [(found, text, remedy)] = told(scene(task(status=status)))
    assert found == reason
    assert says in text
    assert change in remedy
    assert bool(remedy) is bool(change)


@pytest.mark.parametrize(
    ("spec", "of_run", "until"),
    [
        pytest.param({}, {}, "12:30:05", id="none"),
        pytest.param({"deadline": stamp(900)}, {}, "12:15:00", id="the task's"),
        pytest.param({}, {"deadline": stamp(600)}, "12:10:00", id="its run's"),
        pytest.param({"deadline": stamp(900)}, {"deadline": stamp(600)}, "12:10:00", id="the nearer one"),
        pytest.param({"deadline": stamp(99_999)}, {}, "12:30:05", id="a far one"),
    ],
)
def test_an_agent_is_stopped_at_the_nearest_of_its_limits(
    spec: dict[str, Any], of_run: dict[str, Any], until: str
) -> None:
    seen = scene(task(status=at_work(), **spec), runs=[run(status=stands("Running"), **of_run)])
    [(_, says, _)] = told(seen)
    assert f"It is stopped at 2026-01-01T{until}Z." in says


def test_all_that_holds_a_task_back_is_told_not_only_the_first() -> None:
    found = told(scene(waiting("t", "a", suspend=True), runs=[PAUSED], profiles=[]))
    assert [reason for reason, _, _ in found] == [
        "DependencyPending",
        "Suspended",
        "ProfileNotFound",
        "Suspended",
    ]


def test_a_circle_is_told_before_what_follows_from_it() -> None:
    [(reason, says, change), (next_reason, _, _)] = told(scene(waiting("t", "a"), waiting("a", "t")))
    assert (reason, next_reason) == ("InvalidGraph", "DependencyPending")
    assert "a → t → a" in says
    assert "cancel one" in change


BEHIND = run(metadata={"generation": 2}, status=stands("Running", concurrency=SLOTS))


@pytest.mark.parametrize(
    ("found", "reasons"),
    [
        pytest.param(scene(waiting("t")), ["Queued"], id="it is up to date"),
        pytest.param(
            scene(waiting("t", metadata={"generation": 2})), ["Queued", "NotSeen"], id="the task was changed"
        ),
        pytest.param(scene(task()), ["Queued"], id="of a task that only queues nothing is written"),
        pytest.param(scene(task(), runs=[PAUSED]), ["Suspended"], id="nor in a paused run"),
        pytest.param(scene(task(), runs=[BEHIND]), ["Queued", "NotSeen"], id="the run wasn't seen either"),
        pytest.param(
            scene(task(), profiles=[]), ["ProfileNotFound", "NotSeen"], id="of one that waits it would be"
        ),
    ],
)
def test_it_is_told_where_the_operator_is_behind(found: Scene, reasons: list[str]) -> None:
    assert [reason for reason, _, _ in told(found)] == reasons


@pytest.mark.parametrize(
    ("count", "named"),
    [(10, "t00, t01, t02, t03, t04, t05, t06, t07, t08, t09."), (12, "t08, t09 and 2 more.")],
)
def test_many_holders_are_counted(count: int, named: str) -> None:
    full = run(status=stands("Running", concurrency={**SLOTS, "effective": count}))
    holders = [task(f"t{number:02}", status=at_work()) for number in range(count)]
    assert slot_point(scene(waiting("t"), *holders, runs=[full]), waiting("t")).says.endswith(named)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (WAITING, set(AdmittedReason)),
        (BLOCKED, set(BlockCause)),
        (
            ENDED,
            set(TaskReason) | set(TaskPhase) - {"Pending", "Running", "BlockedByFailure", "BlockedByAbandon"},
        ),
        (
            RUN,
            {
                *(RunReason.AT_CEILING, "CeilingZero", "AtOperatorCeiling", "SpawningPaused"),
                *("BudgetExhausted", "BudgetRequired", "ConfigUnread"),
                *("Suspended", "InvalidSpec", "Draining"),
            },
        ),
    ],
    ids=["waiting", "blocked", "ended", "held by the run"],
)
def test_every_reason_has_what_would_change_it(table: dict[str, str], words: set[str]) -> None:
    assert set(table) == words
