"""An attempt is a process's own from its decision on; what was on record before is inherited."""

import pytest

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.control.heritage import Heritage
from tests.unit.objects import at, attempt, status, task

BEGUN = task(status=status(attempt()))
SEEN = task(status=status(attempt(pod_uid="p")))
NEXT = task(status=status(attempt(end_time=at(1)), attempt(2)))


@pytest.mark.parametrize(
    ("known", "now", "inherited"),
    [
        pytest.param((), BEGUN, True, id="found on record"),
        pytest.param((BEGUN,), BEGUN, False, id="decided about here"),
        pytest.param((BEGUN,), NEXT, True, id="another attempt than the one that was decided about"),
        pytest.param((BEGUN, SEEN), BEGUN, True, id="forgotten once its Pod was seen"),
        pytest.param((), SEEN, False, id="its Pod was seen"),
        pytest.param((), task(), False, id="no attempt"),
    ],
)
def test_whose_an_attempt_is(known: tuple[TaskObject, ...], now: TaskObject, inherited: bool) -> None:
    heritage = Heritage()
    for one in known:
        heritage.decided(one.meta.key, one.status)
    assert heritage.inherited(now) is inherited


def test_of_a_task_that_is_gone_nothing_is_kept() -> None:
    heritage = Heritage()
    heritage.decided(BEGUN.meta.key, BEGUN.status)
    heritage.forget(BEGUN.meta.key)
    assert heritage.inherited(BEGUN)
