"""How an attempt ended: who is asked first, and what an agent may say of itself."""

from typing import Any

import pytest

from bernstein_agent.contract import Result, ResultClass, ResultSubject
from bernstein_operator.api.pod import Pod
from bernstein_operator.decisions.deadline import limits_of
from bernstein_operator.decisions.outcome import Outcome, classify
from tests.unit.objects import (
    COMMIT_A,
    COMMIT_B,
    T0,
    at,
    attempt,
    bounds,
    name_of_pod,
    pod,
    running,
    said,
    terminated,
)

MINE = name_of_pod()
DRAINED = [
    {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drain"}
]


def outcome(seen: Pod, *, gone: bool = False, repo: bool = False, posted: Result | None = None) -> Outcome:
    limit = limits_of(bounds(timeoutSeconds=60), attempt(), seen, now=at(100))[0]
    return classify(seen, gone=gone, limit=limit, has_repository=repo, now=at(100), posted=posted)


def ended(exit_code: int = 0, message: str = "", *, start: float = 1, end: float = 10, **more: Any) -> Pod:
    reason = more.pop("why", "")
    state = terminated(exit_code, start=start, end=end, message=message, reason=reason)
    phase = more.pop("phase", "Failed" if exit_code else "Succeeded")
    return pod(agent=state, phase=phase, **more)


@pytest.mark.parametrize(
    ("seen", "result_class", "reason"),
    [
        pytest.param(ended(0, said(MINE)), "success", "Completed", id="a result of success"),
        pytest.param(ended(1, said(MINE)), "agent", "NonZeroExit", id="success and a bad exit code"),
        pytest.param(ended(1, said(MINE, "business")), "business", "ItSaysSo", id="its own word of failure"),
        pytest.param(ended(0, said(MINE, "abandoned")), "abandoned", "ItSaysSo", id="it gave up"),
        pytest.param(ended(0, said(MINE, "capacity")), "capacity", "ItSaysSo", id="a rate limit"),
        pytest.param(
            ended(1, said(MINE, "security")), "agent", "ItSaysSo", id="a class that is not its to claim"
        ),
        pytest.param(
            ended(0, said(MINE, "cancelled")), "agent", "ItSaysSo", id="a cancel that nobody asked for"
        ),
        pytest.param(ended(0, said("another")), "agent", "ResultMissing", id="a result about another Pod"),
        pytest.param(ended(0, said(MINE)[:-5]), "agent", "ResultMissing", id="a result that was cut"),
        pytest.param(ended(0, "all fine"), "agent", "ResultMissing", id="a message that is no result"),
        pytest.param(ended(0), "agent", "ResultMissing", id="exit 0 without a result"),
        pytest.param(ended(1), "agent", "ResultMissing", id="exit 1 without a result"),
        pytest.param(ended(63), "agent", "ResultMissing", id="exit 63, just under the contract's range"),
        pytest.param(ended(64), "contract", "ResultMissing", id="exit 64, the range's first"),
        pytest.param(ended(78), "contract", "ResultMissing", id="exit 78, the range's last"),
        pytest.param(ended(79), "agent", "ResultMissing", id="exit 79, just over the range"),
        pytest.param(ended(137), "transient", "ResultMissing", id="killed by the system"),
        pytest.param(ended(137, why="OOMKilled"), "oom", "OOMKilled", id="killed for its memory"),
        pytest.param(
            ended(0, said(MINE), why="OOMKilled"),
            "oom",
            "OOMKilled",
            id="OOMKilled beside exit 0 and success",
        ),
        pytest.param(
            ended(0, why="OOMKilled", phase="Running"), "oom", "OOMKilled", id="OOMKilled in any phase"
        ),
    ],
)
def test_what_the_agent_container_says(seen: Pod, result_class: str, reason: str) -> None:
    found = outcome(seen)
    assert (found.result_class, found.reason) == (result_class, reason)
    assert found.ended_at == at(10)


@pytest.mark.parametrize(
    ("seen", "gone", "result_class", "reason"),
    [
        pytest.param(
            pod(phase="Failed", reason="Evicted", message="disk"),
            False,
            "disruption",
            "Evicted",
            id="evicted without container statuses",
        ),
        pytest.param(
            pod(phase="Failed", reason="Evicted", runner=terminated(0)),
            False,
            "disruption",
            "Evicted",
            id="evicted with the init container's status only",
        ),
        pytest.param(ended(137, reason="Evicted"), False, "disruption", "Evicted", id="evicted while it ran"),
        pytest.param(ended(137, reason="Preempting"), False, "disruption", "Evicted", id="preempted"),
        pytest.param(ended(137, reason="Terminated"), False, "disruption", "Evicted", id="node shut down"),
        pytest.param(ended(137, conditions=DRAINED), False, "disruption", "Evicted", id="drained"),
        pytest.param(
            ended(1, said(MINE, "disruption"), conditions=DRAINED),
            False,
            "disruption",
            "Evicted",
            id="drained, and the runner says that it was asked to stop",
        ),
        pytest.param(
            ended(0, said(MINE), conditions=DRAINED),
            False,
            "success",
            "Completed",
            id="done before the drain could end it",
        ),
        pytest.param(
            ended(1, said(MINE, "business"), reason="Evicted"),
            False,
            "business",
            "ItSaysSo",
            id="failed by itself before the eviction",
        ),
        pytest.param(pod(phase="Running", agent=running()), True, "disruption", "PodDeleted", id="vanished"),
        pytest.param(ended(137, deleted=5), False, "disruption", "PodDeleted", id="deleted while it ran"),
        pytest.param(
            ended(0, said(MINE), deleted=5), True, "success", "Completed", id="deleted after its success"
        ),
        pytest.param(
            pod(phase="Failed", reason="OutOfcpu"),
            False,
            "disruption",
            "KubeletRefused",
            id="no room on the node",
        ),
        pytest.param(
            pod(phase="Failed", reason="OutOfnvidia.com/gpu"),
            False,
            "disruption",
            "KubeletRefused",
            id="a reason that is no word",
        ),
        pytest.param(
            pod(phase="Failed", reason="TopologyAffinityError"),
            False,
            "disruption",
            "KubeletRefused",
            id="a kubelet's reason of any name",
        ),
    ],
)
def test_what_the_node_says(seen: Pod, gone: bool, result_class: str, reason: str) -> None:
    found = outcome(seen, gone=gone)
    assert (found.result_class, found.reason) == (result_class, reason)


def test_an_eviction_without_statuses_invents_no_exit_code() -> None:
    found = outcome(pod(phase="Failed", reason="Evicted", message="disk pressure"))
    assert found == Outcome(
        ResultClass.DISRUPTION,
        "Evicted",
        "Evicted: disk pressure",
        exit_code=None,
        ended_at=at(100),
        result=None,
    )


@pytest.mark.parametrize(
    ("seen", "result_class", "reason"),
    [
        pytest.param(ended(1, stop="deadline", end=62), "deadline", "DeadlineExceeded", id="a deadline"),
        pytest.param(ended(1, stop="StartTimeout", end=62), "transient", "StartTimeout", id="a late start"),
        pytest.param(ended(1, stop="RunGone", end=62), "cancelled", "RunGone", id="its run is gone"),
        pytest.param(ended(1, stop="Cancelled", end=9), "cancelled", "Cancelled", id="a cancel"),
        pytest.param(
            ended(0, said(MINE), stop="deadline", start=1, end=60),
            "success",
            "Completed",
            id="success a second before the limit",
        ),
        pytest.param(
            ended(0, said(MINE), stop="deadline", start=1, end=61),
            "deadline",
            "DeadlineExceeded",
            id="success exactly at the limit",
        ),
        pytest.param(
            ended(1, said(MINE, "business"), stop="deadline", start=1, end=60),
            "business",
            "ItSaysSo",
            id="a failure of its own a second before the limit",
        ),
        pytest.param(
            ended(1, said(MINE, "disruption"), stop="deadline", start=1, end=60),
            "deadline",
            "DeadlineExceeded",
            id="the runner's word that it was asked to stop",
        ),
        pytest.param(
            ended(1, said(MINE, "deadline"), stop="deadline", end=62),
            "deadline",
            "DeadlineExceeded",
            id="the runner and the operator agree",
        ),
        pytest.param(
            ended(0, said(MINE), stop="Cancelled", end=9),
            "success",
            "Completed",
            id="success just as it was cancelled",
        ),
        pytest.param(
            ended(137, stop="deadline", end=62, why="Error", reason="DeadlineExceeded"),
            "deadline",
            "DeadlineExceeded",
            id="the kubelet's word beside the operator's",
        ),
        pytest.param(
            ended(137, stop="Cancelled", end=62, reason="DeadlineExceeded"),
            "cancelled",
            "Cancelled",
            id="the annotation decides, not the kubelet's reason",
        ),
        pytest.param(
            ended(137, end=62, reason="DeadlineExceeded"),
            "deadline",
            "DeadlineExceeded",
            id="the kubelet's clock alone, after a start",
        ),
        pytest.param(
            pod(phase="Failed", reason="DeadlineExceeded"),
            "transient",
            "StartTimeout",
            id="the kubelet's clock alone, before any start",
        ),
        pytest.param(
            ended(0, said(MINE), end=60, reason="DeadlineExceeded"),
            "success",
            "Completed",
            id="the kubelet's clock after a result in time",
        ),
    ],
)
def test_who_stopped_it(seen: Pod, result_class: str, reason: str) -> None:
    found = outcome(seen)
    assert (found.result_class, found.reason) == (result_class, reason)


@pytest.mark.parametrize(
    ("exit_code", "why", "result_class"),
    [
        pytest.param(1, "", "transient", id="it could not copy"),
        pytest.param(64, "", "contract", id="its image is of another version"),
        pytest.param(137, "OOMKilled", "oom", id="it was killed for its memory"),
    ],
)
def test_a_failing_init_container(exit_code: int, why: str, result_class: str) -> None:
    found = outcome(pod(phase="Failed", runner=terminated(exit_code, reason=why, message="no space")))
    assert found.result_class == result_class
    assert found.exit_code is None


def test_a_pod_that_ended_without_a_word_is_transient() -> None:
    assert outcome(pod(phase="Failed")).result_class == "transient"


@pytest.mark.parametrize(
    ("before", "after", "result_class"),
    [
        pytest.param(COMMIT_A, COMMIT_B, "success", id="a new commit"),
        pytest.param(COMMIT_A, COMMIT_A, "business", id="the commit it began with"),
        pytest.param(COMMIT_A, None, "business", id="no commit at all"),
    ],
)
def test_success_in_a_repository_means_a_commit(before: str, after: str | None, result_class: str) -> None:
    seen = ended(0, said(MINE, head_before=before, head_after=after))
    assert outcome(seen, repo=True).result_class == result_class
    assert outcome(seen, repo=False).result_class == "success"


@pytest.mark.parametrize(
    ("reason", "allowed", "expected"),
    [
        ("NoChangeNeeded", True, ("success", "NoChangeNeeded")),
        ("NoChangeNeeded", False, ("business", "NoCommit")),
        ("Completed", True, ("business", "NoCommit")),
    ],
    ids=["a reason where one will do", "a reason where none will do", "no reason where one would do"],
)
def test_a_success_may_do_without_a_commit_where_its_task_says_so(
    reason: str, allowed: bool, expected: tuple[str, str]
) -> None:
    seen = ended(0, said(MINE, reason=reason, head_before=COMMIT_A, head_after=COMMIT_A))
    limit = limits_of(bounds(timeoutSeconds=60), attempt(), seen, now=at(100))[0]
    found = classify(seen, gone=False, limit=limit, has_repository=True, allow_no_change=allowed, now=at(100))
    assert (found.result_class, found.reason) == expected


def test_the_end_is_when_the_container_ended_and_not_when_it_was_seen() -> None:
    assert outcome(ended(1, end=33)).ended_at == at(33)
    assert outcome(pod(phase="Failed"), gone=True).ended_at == at(100)
    assert at(33) > T0


def word(result_class: str = "success", *, of: str = MINE, message: str = "", **fields: Any) -> Result:
    """Return a result as a runner posts it: whole."""
    subject = ResultSubject(id=of, attempt=1)
    reason = "Completed" if result_class == "success" else "ItSaysSo"
    return Result(
        subject=subject, result_class=ResultClass(result_class), reason=reason, message=message, **fields
    )


LONG = "m" * 9000
MADE = word(head_before=COMMIT_A, head_after=COMMIT_B)
AT_WORK = pod(phase="Running", agent=running(1))
TOLD_TO_STOP = pod(phase="Running", agent=running(1), stop="Cancelled")
FAILED = ended(1, said(MINE, "business"))


@pytest.mark.parametrize(
    ("seen", "gone", "posted", "result_class", "reason"),
    [
        pytest.param(ended(0), False, MADE, "success", "Completed", id="no message"),
        pytest.param(ended(0, said(MINE)[:-9]), False, MADE, "success", "Completed", id="a cut one"),
        pytest.param(ended(1), False, MADE, "agent", "NonZeroExit", id="a bad exit code"),
        pytest.param(ended(0), False, word(), "business", "NoCommit", id="no commit"),
        pytest.param(ended(0), False, word("agent", of="x"), "agent", "ResultMissing", id="another Pod's"),
        pytest.param(AT_WORK, True, MADE, "success", "Completed", id="its Pod is gone"),
        pytest.param(AT_WORK, True, word("agent"), "agent", "ItSaysSo", id="its Pod is gone after a failure"),
        pytest.param(AT_WORK, True, word("disruption"), "disruption", "PodDeleted", id="it was interrupted"),
        pytest.param(TOLD_TO_STOP, True, MADE, "cancelled", "Cancelled", id="told to stop, and gone"),
        pytest.param(ended(137, why="OOMKilled"), False, MADE, "oom", "OOMKilled", id="out of memory"),
        pytest.param(FAILED, False, MADE, "business", "ItSaysSo", id="its last word says otherwise"),
    ],
)
def test_a_posted_result_stands_in_for_a_last_word_that_was_lost(
    seen: Pod, gone: bool, posted: Result, result_class: str, reason: str
) -> None:
    found = outcome(seen, gone=gone, repo=True, posted=posted)
    assert (found.result_class, found.reason) == (result_class, reason)


def test_a_posted_result_tells_what_the_last_word_had_no_room_for() -> None:
    posted = word("agent", message=LONG)
    seen = ended(1, posted.to_termination_message())
    assert outcome(seen).message != LONG
    assert outcome(seen, posted=posted).message == LONG
    other = word("agent", message="n" * 9000)
    assert outcome(seen, posted=other) == outcome(seen), "another result than the one that it ended with"
