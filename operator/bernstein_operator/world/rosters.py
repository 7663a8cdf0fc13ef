"""Whose tasks are where: the rosters of all runs, by run, by task, and by what a Pod's labels say.

A roster is there as soon as anything tells of its run, before the run itself is heard of, and goes with the
last that is left of it.
"""

from collections.abc import Container, Iterator
from typing import Final

from bernstein_operator.api.names import shorten
from bernstein_operator.api.objects import Key, TaskObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.world.roster import Roster

_EMPTY: Final = Roster()


class Rosters:
    """Rosters by the key of their run, and which of them each task is in."""

    def __init__(self) -> None:
        self._by_key: dict[Key, Roster] = {}
        self._places: dict[str, Key] = {}

    def __iter__(self) -> Iterator[Roster]:
        return iter(self._by_key.values())

    def look_up(self, run: Key) -> Roster:
        """Return a run's roster; an empty one where there is none."""
        return self._by_key.get(_run_key(run), _EMPTY)

    def of_run(self, run: Key) -> Roster:
        """Return a run's roster, a new one where it had none."""
        return self._at(_run_key(run))

    def of_uid(self, uid: str) -> Roster | None:
        """Return the roster that a task is in, or was in when it was last heard of."""
        place = self._places.get(uid)
        return self._by_key.get(place) if place else None

    def of(self, task: TaskObject) -> Roster:
        """Return the roster of a task that was placed."""
        return self._at(self._places[task.meta.uid])

    def place(self, task: TaskObject) -> Roster:
        """Put a task where its run is; returns that roster."""
        self._places[task.meta.uid] = _task_key(task)
        return self.of(task)

    def place_pod(self, pod: Pod, uid: str) -> Roster:
        """Return the roster of a Pod's task, which may be gone: by its label it is still one of its run."""
        return self._at(self._places.setdefault(uid, (pod.metadata.namespace, pod.run_label)))

    def leave(self, uid: str, *, runs: Container[Key | None]) -> None:
        """Forget where a task was, and its roster if that was the last of it."""
        self._tidy(self._places.pop(uid), runs=runs)

    def end(self, run: Key, *, runs: Container[Key | None]) -> None:
        """Forget a deleted run's roster if nothing is left of it; ``runs`` are those that there are."""
        self._tidy(_run_key(run), runs=runs)

    def task(self, uid: str) -> TaskObject | None:
        """Return a task that there is."""
        roster = self.of_uid(uid)
        return roster.tasks.get(uid) if roster else None

    def _at(self, key: Key) -> Roster:
        return self._by_key.setdefault(key, Roster(namespace=key[0]))

    def _tidy(self, key: Key, *, runs: Container[Key | None]) -> None:
        roster = self._by_key.get(key)
        if roster and not roster.tasks and not roster.live and roster.run not in runs:
            del self._by_key[key]


def _run_key(run: Key) -> Key:
    """Return where a run's roster is kept: under what the label of its Pods says."""
    namespace, name = run
    return namespace, shorten(name)


def _task_key(task: TaskObject) -> Key:
    """Return where the roster of a task's run is kept."""
    # A task whose run can't be read belongs to a roster of nobody's.
    return _run_key(task.run_key) if task.run_key else (task.meta.namespace, "")
