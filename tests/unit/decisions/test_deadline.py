"""Which limit holds for a Pod, what Kubernetes' own clock is set to, and when a Pod is taken for lost."""

import pytest

from bernstein_operator.api.pod import Pod
from bernstein_operator.decisions.deadline import Limit, active_deadline_seconds, limit_of, overdue_since
from tests.unit.objects import at, effective, pod, running, terminated

LIMITS = effective(startTimeoutSeconds=600, timeoutSeconds=60)


@pytest.mark.parametrize(
    ("start", "timeout", "seconds"),
    [
        pytest.param(600, 100, 700, id="both limits, one after the other"),
        pytest.param(1, 1, 2, id="the smallest that can be said"),
        pytest.param(2_592_000, 2_592_000, 5_184_000, id="the largest that can be said"),
    ],
)
def test_a_pod_may_take_both_limits(start: int, timeout: int, seconds: int) -> None:
    spec = effective(startTimeoutSeconds=start, timeoutSeconds=timeout)
    assert active_deadline_seconds(spec) == seconds
    assert 1 <= seconds <= 2_147_483_647


@pytest.mark.parametrize(
    ("seen", "limit"),
    [
        pytest.param(pod(created=5), Limit(at(605), started=False), id="from its creation until it starts"),
        pytest.param(
            pod(created=5, phase="Running", agent=running(50)),
            Limit(at(110), started=True),
            id="from its start",
        ),
        pytest.param(
            pod(created=5, runner=running(6)),
            Limit(at(605), started=False),
            id="the init container is no start",
        ),
    ],
)
def test_which_limit_holds(seen: Pod, limit: Limit) -> None:
    assert limit_of(seen, LIMITS, now=at(100)) == limit


@pytest.mark.parametrize(
    ("seen", "lost_at"),
    [
        pytest.param(pod(deleted=30), 90, id="60 s after the end of its deletion's grace"),
        pytest.param(pod(stop="deadline", stopped=30), 100, id="60 s after the grace of its stop"),
        pytest.param(pod(stop="deadline", stopped=30, deleted=200), 260, id="its deletion is the later word"),
        pytest.param(pod(stop="deadline", created=3), 73, id="from its creation where no moment was kept"),
        pytest.param(pod(stop="deadline", stopped=160, created=3), 230, id="a clock that is a little ahead"),
        pytest.param(pod(stop="deadline", stopped=161, created=3), 73, id="a moment that has yet to come"),
        pytest.param(pod(stop="deadline", stopped=251_635_031_999, created=3), 73, id="the end of all time"),
    ],
)
def test_when_a_pod_is_taken_for_lost(seen: Pod, lost_at: float) -> None:
    assert overdue_since(seen, now=at(100)) == at(lost_at)


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-01-01T00:00:00", ""], ids=["words", "no zone", "nothing"]
)
def test_a_damaged_moment_of_a_stop_is_none(text: str) -> None:
    seen = pod(agent=terminated())
    annotations = {"bernstein.run/stop-time": text}
    damaged = Pod(metadata=type(seen.metadata)(name="p", annotations=annotations))
    assert damaged.stopped_at is None
