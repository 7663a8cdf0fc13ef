"""How many writes of each sort may be under way, so that one sort can't hold up another.

A start that hangs on a slow API server must not keep an agent from being stopped. So each sort has a lane of
its own, and a key whose lane is full isn't kept busy: it is parked, looked at afresh when there is room,
and may by then want something else.
"""

from collections.abc import Callable
from enum import StrEnum

from bernstein_operator.control.queue import WorkKey
from bernstein_operator.decisions.plan import Action, CreatePod, DeletePod, RecordAbandonment, StopPod


class Lane(StrEnum):
    """The sorts of writes, the most urgent first."""

    CONTROL = "control"
    """Stopping and removing Pods, and what a person's command writes."""
    STATUS = "status"
    """Recording what has happened."""
    LEDGER = "ledger"
    """Writing down abandonments."""
    START = "start"
    """Making Pods and tasks."""


def lane_of(actions: tuple[Action, ...]) -> Lane:
    """Return the lane of a status and the actions that follow it."""
    if any(isinstance(action, StopPod | DeletePod) for action in actions):
        return Lane.CONTROL
    if RecordAbandonment() in actions:
        return Lane.LEDGER
    return Lane.START if any(isinstance(action, CreatePod) for action in actions) else Lane.STATUS


class Lanes:
    """Counts what is under way; ``again`` is called with each parked key once there is room."""

    def __init__(self, again: Callable[[WorkKey], None], *, width: int) -> None:
        self._again = again
        self._width = width
        self._busy = dict.fromkeys(Lane, 0)
        self._parked: dict[Lane, dict[WorkKey, None]] = {lane: {} for lane in Lane}

    def enter(self, lane: Lane, key: WorkKey) -> bool:
        """Take a place in a lane; where it is full, park the key and return False."""
        if self._busy[lane] >= self._width:
            self._parked[lane][key] = None
            return False
        self._busy[lane] += 1
        return True

    def leave(self, lane: Lane) -> None:
        """Give the place back."""
        self._busy[lane] -= 1
        parked = self._parked[lane]
        if parked:
            key = next(iter(parked))
            del parked[key]
            self._again(key)
