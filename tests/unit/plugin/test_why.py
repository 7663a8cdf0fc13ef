"""What stands in a task's way, followed to its ends, and how the answer looks."""

from typing import Any

import pytest

from bernstein_operator.api.objects import TaskObject
from kubectl_bernstein.answers.way import in_the_way
from kubectl_bernstein.views.view import Prose
from kubectl_bernstein.views.why import why_view
from tests.unit.objects import at, stamp, task
from tests.unit.plugin.scenes import at_work, begun, data, said, scene, stands, waiting

NOW = at(10)
FAILED = stands("Failed", said("Failed", "True", "RetriesExhausted", "agent: red"))
SLOW = (
    "Attempt 2 has its slot, but its Pod pod-2 has not started yet."
    " It is given up at about 2026-01-01T12:10:00Z."
)
ENDED = {"endTime": stamp(9), "resultClass": "agent", "reason": "NonZeroExit", "message": "the tests are red"}


def blocked(by: str, root: str) -> dict[str, Any]:
    told = said("Blocked", "True", "BlockedByFailure", f"Can't start: {root} is Failed.")
    return stands("BlockedByFailure", told, blockedBy={"task": by, "rootCause": root, "cause": "Failed"})


def way(*tasks: TaskObject) -> list[tuple[str, tuple[str, ...]]]:
    """Return what is in the way of the first, with who needs it."""
    return [(one.name, one.needed_by) for one in in_the_way(scene(*tasks), tasks[0], now=NOW)]


@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        pytest.param([waiting("t")], [], id="nothing"),
        pytest.param([waiting("t", "a"), task("a", status=at_work())], [("a", ("t",))], id="one that works"),
        pytest.param(
            [waiting("t", "a", "b"), task("a", status=stands("Succeeded")), waiting("b")],
            [("b", ("t",))],
            id="one that is done isn't",
        ),
        pytest.param(
            [waiting("t", "a"), waiting("a", "b"), task("b", status=at_work())],
            [("b", ("a",)), ("a", ("t",))],
            id="the end of the way comes first",
        ),
        pytest.param(
            [waiting("t", "a", "b"), waiting("a", "c"), waiting("b", "c"), waiting("c")],
            [("c", ("a", "b")), ("a", ("t",)), ("b", ("t",))],
            id="one that two need stands once",
        ),
        pytest.param([waiting("t", "lost")], [("lost", ("t",))], id="a name that nobody has"),
        pytest.param(
            [waiting("t", "a"), waiting("a", "t")],
            [("a", ("t",)), ("t", ("a",))],
            id="a circle is walked once",
        ),
        pytest.param(
            [
                waiting("t", "a", status=blocked("a", "b")),
                waiting("a", "b", status=blocked("b", "b")),
                task("b", status=FAILED),
            ],
            [("b", ("a",)), ("a", ("t",))],
            id="what blocks it is followed too",
        ),
        pytest.param(
            [task("t", dependsOn=["a"], status=at_work()), waiting("a")], [], id="not once it works"
        ),
        pytest.param(
            [task("t", dependsOn=["a"], status=FAILED), waiting("a")], [], id="nor once it has ended"
        ),
    ],
)
def test_what_stands_in_the_way(tasks: list[TaskObject], found: list[tuple[str, tuple[str, ...]]]) -> None:
    assert way(*tasks) == found


def test_a_long_way_is_followed_to_its_end() -> None:
    chain = [waiting("t0", "t1"), *(waiting(f"t{n}", f"t{n + 1}") for n in range(1, 1100)), waiting("t1100")]
    assert way(*chain)[0] == ("t1100", ("t1099",))


def lines(*tasks: TaskObject) -> list[str]:
    shown = why_view(scene(*tasks), tasks[0], now=NOW).shown
    assert isinstance(shown, Prose)
    return [f"{'  ' * line.indent}{line.text}" for line in shown.lines]


def test_the_whole_answer_reads_from_top_to_bottom() -> None:
    retried = stands("Pending", attempt=2, retries=1, attempts=[begun(1, **ENDED), begun(2)])
    tasks = [waiting("r-check", "write", name="check"), task("r-write", name="write", status=retried)]
    assert lines(*tasks) == [
        "agenttask/r-check (check of run r): Pending, DependencyPending",
        "  Waits for write.",
        "  → It starts by itself once all that it waits for has succeeded.",
        "",
        "In its way:",
        "  write: Pending, PodWaiting (needed by check)",
        f"    {SLOW}",
        "    → kubectl describe pod pod-2",
    ]


def test_attempts_are_told_with_what_they_used_up() -> None:
    status = stands("Failed", retries=3, disruptions=1, attempts=[begun(1, **ENDED), begun(2)])
    assert lines(task(status=status))[-3:] == [
        "Attempts (retries used: 3 of 2; lost Pods: 1 of 3):",
        "  1: agent, NonZeroExit: the tests are red",
        "  2: goes on, Pod pod-2",
    ]


RECORD: dict[str, Any] = {
    "escalation": {"level": 2, "model": "big", "effort": "high", "memory": "2Gi"},
    "deadline": {
        "effective": stamp(600),
        "warned": [{"attempt": 1, "limit": "deadline", "time": stamp(300), "at": stamp(600)}],
    },
    "requests": [
        {"verb": "retry", "value": "1", "actor": "alice", "time": stamp(5), "effect": "A fresh start."},
        {"verb": "cancel", "value": "true", "time": stamp(6), "effect": "Cancelled."},
    ],
    "abandonment": {"reason": "other", "detail": "a\nb", "actor": "agent", "time": stamp(7)},
}


@pytest.mark.parametrize(
    ("known", "told"),
    [
        pytest.param((), [], id="nothing"),
        pytest.param(
            ("escalation",), ["escalated to level 2: model big, effort high, memory 2Gi"], id="escalation"
        ),
        pytest.param(
            ("deadline",),
            [
                "deadline 2026-01-01T12:10:00Z",
                (
                    "warned at 2026-01-01T12:05:00Z that deadline of attempt 1 is reached at"
                    " 2026-01-01T12:10:00Z"
                ),
            ],
            id="deadline",
        ),
        pytest.param(
            ("requests", "abandonment"),
            [
                'retry "1" by alice at 2026-01-01T12:00:05Z: A fresh start.',
                "cancel by unknown at 2026-01-01T12:00:06Z: Cancelled.",
                "abandoned as other by agent at 2026-01-01T12:00:07Z: a b",
            ],
            id="what people and agents said",
        ),
    ],
)
def test_what_is_on_record_is_told_last(known: tuple[str, ...], told: list[str]) -> None:
    found = task(status=stands("Pending", **{name: RECORD[name] for name in known}))
    text = lines(found)
    assert ("On record:" in text) is bool(told)
    assert [line.strip() for line in text[len(text) - len(told) :]] == told
    given = data(why_view(scene(found), found, now=NOW))
    assert {name for name in RECORD if given[name]} == set(known)


def test_long_words_are_cut_for_people_only() -> None:
    long = {**RECORD["abandonment"], "detail": "x" * 301}
    found = task(status=stands("Abandoned", abandonment=long))
    assert lines(found)[-1].endswith(f": {'x' * 300}…")
    assert data(why_view(scene(found), found, now=NOW))["abandonment"]["detail"] == "x" * 301


def test_how_what_is_in_the_way_failed_last_is_told() -> None:
    tasks = [waiting("t", "a"), task("a", status=stands("Pending", attempts=[begun(1, **ENDED)]))]
    assert lines(*tasks)[-1] == "    Its last attempt, 1: agent, NonZeroExit: the tests are red"


def test_a_name_that_nobody_has_is_said_so() -> None:
    assert "  lost: no task of the run has this name (needed by t)" in lines(waiting("t", "lost"))


@pytest.mark.parametrize(("count", "shown"), [(20, 20), (21, 20)])
def test_only_so_many_are_shown_to_people(count: int, shown: int) -> None:
    needs = [f"a{number:02}" for number in range(count)]
    tasks = [waiting("t", *needs), *map(waiting, needs)]
    text = lines(*tasks)
    assert sum("needed by t" in line for line in text) == shown
    assert any("and 1 more" in line for line in text) is (count > shown)
    assert len(data(why_view(scene(*tasks), tasks[0], now=NOW))["inTheWay"]) == count


def test_programs_get_the_same_answer() -> None:
    tasks = [waiting("t", "a", "lost"), task("a", status=stands("Failed", attempts=[begun(1, **ENDED)]))]
    found = data(why_view(scene(*tasks), tasks[0], now=NOW))
    assert (found["task"], found["run"], found["phase"]) == ("t", "r", "Pending")
    assert found["because"][0]["reason"] == "DependencyPending"
    assert [(one["name"], one["task"], one["phase"]) for one in found["inTheWay"]] == [
        ("a", "a", "Failed"),
        ("lost", None, None),
    ]
    assert found["attempts"] == []
    [attempt] = data(why_view(scene(tasks[1]), tasks[1], now=NOW))["attempts"]
    assert (attempt["podName"], attempt["resultClass"]) == ("pod-1", "agent")
