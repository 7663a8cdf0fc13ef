"""The agents' Pods by the task that owns them.

Two things must not happen here: an older picture of a Pod replacing a newer one, and a Pod that is gone
coming back to life because a late event tells of it. The last state of a Pod that is gone is kept for as
long as its attempt is open: it says how the attempt ended.

A Pod stays with the task that it was first seen with. Whoever deletes a task with ``--cascade=orphan`` takes
the owner off its Pods; the agents go on all the same, and hold their slots until they end.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Sighting
from bernstein_operator.api.task_status import Attempt
from bernstein_operator.world.graves import Graves


class PodStore:
    """Sightings by the UID of the owning task, then by Pod name."""

    def __init__(self) -> None:
        self._by_task: dict[str, dict[str, Sighting]] = {}
        self._tasks: dict[str, str] = {}
        self._dead = Graves()

    def of_task(self, task_uid: str) -> tuple[Sighting, ...]:
        """Return what is known of a task's Pods."""
        return tuple(self._by_task.get(task_uid, {}).values())

    def held(self, task_uid: str, attempt: Attempt | None) -> int:
        """Return how many slots a task's Pods hold, one that its open ``attempt`` may have made included."""
        sightings = self.of_task(task_uid)
        seen = {one.pod.metadata.name for one in sightings}
        begun = attempt is not None and not attempt.pod_uid and attempt.pod_name not in seen
        return max(sum(one.live for one in sightings), int(begun))

    def has_ended(self, task_uid: str, pod: str) -> bool:
        """Whether the Pod of that name has ended or is gone, and said its last word."""
        sighting = self._by_task.get(task_uid, {}).get(pod)
        return sighting is not None and (sighting.gone or sighting.pod.ended)

    def task_of(self, pod: Pod) -> str:
        """Return the UID of the task that a Pod was first seen with; empty for a stranger's Pod."""
        return self._tasks.get(pod.metadata.uid) or pod.task_uid

    def task_by_pod(self, pod_uid: str) -> str:
        """Return the UID of the task that the Pod of that UID is of; empty where it is unknown or gone."""
        return self._tasks.get(pod_uid, "")

    def all_present(self) -> Iterator[Pod]:
        """Yield every Pod that isn't gone."""
        for sightings in self._by_task.values():
            yield from (one.pod for one in sightings.values() if not one.gone)

    def put(self, pod: Pod) -> bool:
        """Take note of a Pod; returns whether that was news."""
        if pod.metadata.uid in self._dead:
            return False
        task_uid = self.task_of(pod)
        sightings = self._by_task.setdefault(task_uid, {})
        known = sightings.get(pod.metadata.name)
        if known and not known.gone and known.pod.metadata.version >= pod.metadata.version:
            return False
        self._tasks[pod.metadata.uid] = task_uid
        same = known is not None and known.pod.metadata.uid == pod.metadata.uid
        sightings[pod.metadata.name] = Sighting(pod, left_until=known.left_until if known and same else None)
        return True

    def leave(self, pod: Pod, *, until: datetime) -> bool:
        """Take note that a Pod's end is left to its node; returns whether the Pod is known."""
        sightings = self._by_task.get(self.task_of(pod), {})
        known = sightings.get(pod.metadata.name)
        if not known or known.gone or known.pod.metadata.uid != pod.metadata.uid:
            return False
        sightings[pod.metadata.name] = replace(known, left_until=until)
        return True

    def bury(self, pod: Pod) -> bool:
        """Take note that a Pod is gone, with a late state of it; returns whether that was news."""
        if pod.metadata.uid in self._dead:
            return False
        self._dead.add(pod.metadata)
        task_uid = self.task_of(pod)
        self._tasks.pop(pod.metadata.uid, None)
        sightings = self._by_task.setdefault(task_uid, {})
        known = sightings.get(pod.metadata.name)
        if known and known.pod.metadata.uid != pod.metadata.uid:
            return False
        last = known.pod if known and known.pod.metadata.version > pod.metadata.version else pod
        sightings[pod.metadata.name] = Sighting(last, gone=True)
        return True

    def missing_from(self, listed: Iterable[Pod], *, version: int) -> list[Pod]:
        """Return the Pods that are known, not in a complete list, and not newer than it."""
        present = {pod.metadata.uid for pod in listed}
        return [
            pod
            for pod in self.all_present()
            if pod.metadata.uid not in present and pod.metadata.version <= version
        ]

    def forget_gone(self, task_uid: str, *, keep: str) -> None:
        """Drop the last words of Pods that are gone, except for the Pod named ``keep``."""
        sightings = self._by_task.get(task_uid)
        if not sightings:
            return
        for name in [name for name, one in sightings.items() if one.gone and name != keep]:
            del sightings[name]
        if not sightings:
            del self._by_task[task_uid]
