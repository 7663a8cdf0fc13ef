"""The operator is killed after each of its writes in turn, and it makes no difference in the end.

One scenario has every way of a task in it. It is played once undisturbed; then once for each write, with the
operator killed there and started again; the ends must be equal. All points take a quarter of an hour, so by
default only some are taken: ``BERNSTEIN_CRASH_POINTS`` says how many (or ``all``), ``BERNSTEIN_CRASH_OFFSET``
shifts them.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from statistics import median

import pytest
import yaml

from tests.support.builders import hand_profile, inline_task, make_run, make_task
from tests.support.crash import Death, Outcome, Scenario, Stage
from tests.support.faults import Drop, Rule, refuse
from tests.support.fixtures import Cluster
from tests.support.invariants import Invariant
from tests.support.kube import Kube, Manifest
from tests.support.player import Cue, Part, vanishes
from tests.support.pods import NODE, end_pod, make_result
from tests.support.recorder import PodRecorder
from tests.support.timeline import phase
from tests.support.wire import READ_VERBS, Target

POINTS = os.environ.get("BERNSTEIN_CRASH_POINTS", "8")
OFFSET = int(os.environ.get("BERNSTEIN_CRASH_OFFSET", "0"))
AT_A_TIME = int(os.environ.get("BERNSTEIN_CRASH_PARALLEL", "2"))
WRITES_OF_A_LIFE = 4
LIVES = 60
BASE, HEAD = "a" * 40, "b" * 40
LONGER_THAN_A_RESTART = 15
"""Seconds. What lasts only so long, and is told only meanwhile, must outlast an operator's absence."""
ENDED_RUN = frozenset({"Succeeded", "Failed", "Cancelled"})
QUOTA = "pods is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"


def commits(kube: Kube, pod: Manifest) -> None:
    """End with a commit that was pushed."""
    task = pod["metadata"]["labels"]["bernstein.run/task"]
    result = make_result(pod, cost_usd="0.25", headBefore=BASE, headAfter=HEAD, branch=f"bernstein/r/{task}")
    end_pod(kube, pod, result=result)


def fails(kube: Kube, pod: Manifest) -> None:
    """End with a failure of the agent's own, and what it left on a rescue branch."""
    told = {"reason": "CommandFailed", "message": "the tests are red", "cost_usd": "0.5"}
    rescued = {"headBefore": BASE, "rescueBranch": "bernstein/r/flaky.rescue-1"}
    result = make_result(pod, result_class="agent", exit_code=1, **told, **rescued)
    end_pod(kube, pod, "Failed", 1, "Error", result=result)


def gives_up(kube: Kube, pod: Manifest) -> None:
    """End as an agent that abandons its task."""
    why = {"reason": "out_of_scope", "detail": "that is the other team's"}
    result = make_result(pod, result_class="abandoned", exit_code=1, reason="Abandoned", abandonment=why)
    end_pod(kube, pod, "Failed", 1, "Error", result=result)


def wonders(kube: Kube, pod: Manifest) -> None:
    """End as an agent that asks a person something."""
    asked = {"reason": "Asked", "question": "Which of the two?"}
    end_pod(
        kube, pod, "Failed", 1, "Error", result=make_result(pod, result_class="asked", exit_code=1, **asked)
    )


def runs_out_of_memory(kube: Kube, pod: Manifest) -> None:
    """End as the kernel ends who takes too much."""
    end_pod(kube, pod, "Failed", 137, "OOMKilled")


def is_let_in_no_more(kube: Kube, pod: Manifest) -> None:
    """End as an agent whose credentials a provider refuses: the profile's circuit opens."""
    told = {"reason": "CredentialsRefused", "message": "401: no such key"}
    result = make_result(pod, result_class="contract", exit_code=1, **told)
    end_pod(kube, pod, "Failed", 1, "Error", result=result)


def is_asked_to_wait(kube: Kube, pod: Manifest) -> None:
    """End as an agent whose provider wants a rest that is longer than a restart: the profile is held."""
    told = {"reason": "RateLimited", "message": "429: slow down"}
    rest = LONGER_THAN_A_RESTART
    result = make_result(pod, result_class="capacity", exit_code=1, retryAfterSeconds=rest, **told)
    end_pod(kube, pod, "Failed", 1, "Error", result=result)


def is_phase(plural: str, name: str, wanted: str, kube: Kube) -> bool:
    """Return whether the object has come to that phase."""
    found = kube.find(plural, name)
    return found is not None and phase(found) == wanted


task_is = partial(partial, is_phase, "agenttasks")
run_is = partial(partial, is_phase, "bernsteinruns", "r")


def suspends(value: bool, kube: Kube) -> None:
    kube.patch("bernsteinruns", "r", {"spec": {"suspend": value}})


def asks(resource: str, name: str, **commands: str) -> Callable[[Kube], None]:
    """Return what a person types to ask for something."""

    def typed(kube: Kube) -> None:
        kube.annotate(resource, name, **commands)

    return typed


def tells(task: str, **commands: str) -> Callable[[Kube], None]:
    """Return a person's command to a task."""
    return asks("agenttasks", task, **commands)


def has_stopped(task: str, kube: Kube) -> bool:
    """Return whether a quarantined task's agent has ended."""
    found = kube.get("agenttasks", task)
    return phase(found) == "Quarantined" and "endTime" in found["status"]["attempts"][-1]


def is_all_but_over(kube: Kube) -> bool:
    """Return whether everything has happened that may give the run something to do again."""
    return all(is_phase("agenttasks", name, "Succeeded", kube) for name in COMING_BACK)


def closes_up(kube: Kube) -> None:
    kube.patch("agenttasks", "last", {"spec": {"suspend": False}})


RUN = make_run(
    # What the ceiling makes of so many failures depends on the moments in which it looks.
    concurrency={"maxAgents": 5, "adaptive": {"enabled": False}},
    repository={"url": "git://git.invalid/a", "ref": "main"},
    taskDefaults={"retry": {"limit": 1, "backoffSeconds": 1, "maxBackoffSeconds": 1}},
    tasks=[
        inline_task("plain"),
        inline_task("first", priority=1),
        inline_task("second", dependsOn=["first"]),
        inline_task("flaky", profile="ladder"),
        inline_task("slow", timeoutSeconds=LONGER_THAN_A_RESTART, retry={"limit": 0}),
        inline_task("behind", dependsOn=["slow"]),
        inline_task("farther", dependsOn=["behind"]),
        inline_task("large", prompt="read this: " + "x" * 40_000),
    ],
)
SEPARATE = [
    make_task("loner", depends_on=["plain"]),
    make_task("unwanted"),
    make_task("withdrawn", suspend=True),
    make_task("lost"),
    make_task("impossible", profile="imageless"),
    make_task("stuck", startTimeoutSeconds=4, deadlineWarningSeconds=0),
    make_task("refused"),
    make_task("quitter"),
    make_task("heir", depends_on=["quitter"]),
    make_task("tiresome"),
    make_task("hungry", profile="ladder"),
    make_task("caged"),
    make_task("redone", retry={"limit": 0}),
    make_task("keyless", profile="keyless"),
    make_task("locked-out", profile="keyless", depends_on=["plain"], priority=9),
    make_task("limited", profile="limited"),
    make_task("curious"),
    make_task("last", suspend=True),
]
COMING_BACK = ("caged", "redone", "keyless", "limited", "hungry", "r-flaky", "curious")
"""Tasks that fail for a while: the last one keeps the run from ending before they are through."""
OTHER = make_run("drained", max_agents=1, tasks=[inline_task("a", priority=1), inline_task("b")])
PROFILES = [
    hand_profile(),
    hand_profile("ladder", models=[{"name": "small"}, {"name": "large"}], memoryGrowth={"max": "2Gi"}),
    hand_profile("keyless"),
    hand_profile("limited"),
    hand_profile("imageless"),
]
PARTS: Mapping[str, Sequence[Part]] = {
    "r-plain": [Part(commits)],
    "r-first": [Part(commits, when=run_is("Paused"))],
    "r-second": [Part(commits)],
    "r-flaky": [Part(fails), Part(commits)],
    "r-slow": [Part()],
    "r-large": [Part(commits)],
    "loner": [Part(commits)],
    "unwanted": [Part()],
    "lost": [Part(vanishes, when=task_is("lost", "Running")), Part(commits)],
    "impossible": [Part(image_problem="ErrImageNeverPull")],
    "stuck": [Part(starts=False), Part(commits)],
    "refused": [Part(commits)],
    "quitter": [Part(gives_up)],
    "tiresome": [Part()],
    "hungry": [Part(runs_out_of_memory), Part(commits)],
    "caged": [Part(), Part(commits)],
    "redone": [Part(fails), Part(commits)],
    "keyless": [Part(is_let_in_no_more), Part(commits)],
    "locked-out": [Part(commits)],
    "limited": [Part(is_asked_to_wait), Part(commits)],
    "curious": [Part(wonders), Part(commits)],
    "last": [Part(commits)],
    "drained-a": [Part(commits, when=partial(is_phase, "bernsteinruns", "drained", "Draining"))],
}
CUES = [
    [Cue(task_is("unwanted", "Running"), tells("unwanted", cancel="true"))],
    [Cue(task_is("withdrawn", "Pending"), tells("withdrawn", cancel="true"))],
    [Cue(task_is("tiresome", "Running"), tells("tiresome", abandon="unsafe_change: it deletes too much"))],
    [
        Cue(task_is("caged", "Running"), tells("caged", quarantine="odd network traffic")),
        Cue(partial(has_stopped, "caged"), tells("caged", retry="1")),
    ],
    [Cue(task_is("redone", "Failed"), tells("redone", retry="1"))],
    [Cue(task_is("curious", "AwaitingInput"), tells("curious", answer="the second"))],
    [Cue(task_is("keyless", "Failed"), tells("keyless", retry="1"))],
    [Cue(task_is("drained-a", "Running"), asks("bernsteinruns", "drained", drain="true"))],
    [Cue(is_all_but_over, closes_up)],
    [
        Cue(task_is("r-first", "Running"), partial(suspends, True)),
        Cue(task_is("r-first", "Succeeded"), partial(suspends, False)),
    ],
]


ENDS = {
    "caged": "Succeeded",
    "curious": "Succeeded",
    "drained-a": "Succeeded",
    "drained-b": "Cancelled",
    "heir": "BlockedByAbandon",
    "hungry": "Succeeded",
    "impossible": "Failed",
    "keyless": "Succeeded",
    "last": "Succeeded",
    "limited": "Succeeded",
    "locked-out": "Succeeded",
    "loner": "Succeeded",
    "lost": "Succeeded",
    "quitter": "Abandoned",
    "r-behind": "BlockedByFailure",
    "r-farther": "BlockedByFailure",
    "r-first": "Succeeded",
    "r-flaky": "Succeeded",
    "r-large": "Succeeded",
    "r-plain": "Succeeded",
    "r-second": "Succeeded",
    "r-slow": "Failed",
    "redone": "Succeeded",
    "refused": "Succeeded",
    "stuck": "Succeeded",
    "tiresome": "Abandoned",
    "unwanted": "Cancelled",
    "withdrawn": "Cancelled",
}
"""How each task of the scenario ends, whoever dies."""
ROWS = {"quitter": "out_of_scope", "tiresome": "unsafe_change"}


def a_full_quota() -> list[Rule]:
    """Refuse one task's first Pod as a full quota does."""

    def of_refused(target: Target, _: bytes) -> bool:
        return target.name.startswith("refused-")

    forbidden = refuse(403, reason="Forbidden", message=QUOTA)
    return [Rule(action=forbidden, verbs="create", resource="pods", where=of_refused, count=1)]


def is_over(kube: Kube) -> bool:
    return all(phase(kube.get("bernsteinruns", name)) in ENDED_RUN for name in ("r", "drained"))


SCENARIO = Scenario([*PROFILES, RUN, OTHER, *SEPARATE], PARTS, CUES, is_over, a_full_quota)


@pytest.fixture
def stage(cluster: Cluster, cluster_kube: Kube, recorder: PodRecorder, tmp_path: Path) -> Stage:
    """Where the scenario is played, under the eyes of the recorder."""
    if cluster_kube.find("nodes", NODE) is None:
        cluster_kube.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    return Stage(cluster.access, cluster_kube, recorder, tmp_path)


@pytest.fixture
def undisturbed(stage: Stage) -> Outcome:
    """What comes of the scenario if nobody dies."""
    return stage.play(SCENARIO)


@pytest.mark.slow
def test_it_makes_no_difference_where_the_operator_is_killed(stage: Stage, undisturbed: Outcome) -> None:
    assert undisturbed.broken == []
    tasks = yaml.safe_load(undisturbed.state["agenttasks"])
    assert {task["metadata"]["name"]: task["status"]["phase"] for task in tasks} == ENDS
    [ledger] = [
        one for one in yaml.safe_load(undisturbed.state["configmaps"]) if isinstance(one["data"], list)
    ]
    assert {row["task_id"]: row["reason"] for row in ledger["data"]} == ROWS
    deaths = list(chosen(undisturbed.writes))
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        play = partial(stage.play, SCENARIO, wanted=undisturbed)
        outcomes = list(pool.map(lambda death: play(deaths=[death]), deaths))
    print(report(undisturbed, outcomes))  # noqa: T201 - the count of points is the result
    found = [
        f"{death} at {outcome.died_at}:\n{different}"
        for death, outcome in zip(deaths, outcomes, strict=True)
        if (different := difference(undisturbed, outcome, late=death.late)) and not is_race(death, outcome)
    ]
    assert not found, "\n\n".join(found)
    # A pass may need a few writes less than the first one, so the last points may not be reached.
    survived = [death.write for death, outcome in zip(deaths, outcomes, strict=True) if not outcome.died_at]
    assert all(write > 0.9 * len(undisturbed.writes) for write in survived)


@pytest.mark.slow
def test_an_operator_that_dies_again_and_again_gets_there(stage: Stage, undisturbed: Outcome) -> None:
    outcome = stage.play(
        SCENARIO, deaths=repeat(Death(WRITES_OF_A_LIFE, events=False), LIVES), wanted=undisturbed
    )
    print(f"killed {len(outcome.died_at)} times in {outcome.seconds:.0f} s")  # noqa: T201
    different = difference(undisturbed, outcome)
    assert not different, different
    assert len(outcome.died_at) > 5


@pytest.mark.slow
def test_it_makes_no_difference_which_answers_are_lost(stage: Stage, undisturbed: Outcome) -> None:
    scenario = replace(SCENARIO, rules=lambda: [*a_full_quota(), *lost_answers()])
    different = difference(undisturbed, stage.play(scenario, wanted=undisturbed))
    assert not different, different


def lost_answers() -> list[Rule]:
    """Lose the answer to every second write; each was carried out.

    Not to those of events, which have a patience of their own, nor of the lease: who can't renew it ends.
    """
    count = iter(range(10_000))

    def is_hit(target: Target, _: bytes) -> bool:
        is_work = target.verb not in READ_VERBS and target.resource not in {"events", "leases"}
        return is_work and next(count) % 2 == 0

    return [Rule(action=Drop(forward=True), where=is_hit)]


def is_race(death: Death, outcome: Outcome) -> bool:
    """Return whether one process took an attempt back while the other made its Pod: that is removed."""
    return death.late and any(write.endswith("status refused") for write in outcome.died_at)


def difference(undisturbed: Outcome, outcome: Outcome, *, late: bool = False) -> str:
    """Return what is not as it should be; empty if nothing.

    Two processes that write at once may go over the ceiling within one request: a lease and a quota are
    for that.
    """
    excused = {Invariant.CEILING} if late else set()
    broken = [str(violation) for violation in outcome.broken if violation.invariant not in excused]
    return "\n".join(filter(None, [undisturbed.differences(outcome), *broken]))


def chosen(writes: Sequence[str]) -> Iterator[Death]:
    """Return the deaths to try: at each point the write is done, or (not for events) arrives late."""
    step = 1 if POINTS == "all" else max(1, len(writes) // int(POINTS))
    for index in range(OFFSET % step, len(writes), step):
        is_event = " events " in writes[index]
        if POINTS == "all" or is_event or index // step % 2 == 0:
            yield Death(index + 1)
        if not is_event and (POINTS == "all" or index // step % 2 == 1):
            yield Death(index + 1, late=True)


def report(undisturbed: Outcome, outcomes: Sequence[Outcome]) -> str:
    """Return one line of numbers."""
    killed = sum(len(outcome.died_at) for outcome in outcomes)
    return (
        f"{len(undisturbed.writes)} writes, killed at {killed} of {len(outcomes)} points; seconds:"
        f" {undisturbed.seconds:.1f} undisturbed, {median(one.seconds for one in outcomes):.1f} killed,"
        f" {median(one.start for one in outcomes):.1f} for a start"
    )
