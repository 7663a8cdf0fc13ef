"""What live attempts have reported of their spend, by task and attempt.

Reports hold totals, so the highest of each number is the truth and the order in which they arrive is none of
anybody's business. They are kept in memory and reach the tasks' statuses now and then; a process that begins
anew hears them again within seconds, and what is stored is the floor until then.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from bernstein_agent.contract import MAX_MESSAGE_BYTES, Report, Result
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.snapshot import Reading
from bernstein_operator.api.task_status import MAX_DETAIL, Attempt, Usage
from bernstein_operator.decisions.asking import MAX_WORDS
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.usage import highest, of_contract
from bernstein_operator.world.marks import Marks
from bernstein_operator.world.pods import PodStore


@dataclass(slots=True)
class _Entry:
    """One open attempt: its number, what it reported, and what is stored of its usage."""

    attempt: int
    reading: Reading
    stored: Usage | None


class Meter:
    """Readings of open attempts; ``task_of`` finds a task by its UID, ``clock`` gives the present moment."""

    def __init__(
        self,
        marks: Marks,
        pods: PodStore,
        *,
        task_of: Callable[[str], TaskObject | None],
        clock: Callable[[], datetime],
    ) -> None:
        self._marks = marks
        self._pods = pods
        self._task_of = task_of
        self._clock = clock
        self._entries: dict[str, _Entry] = {}

    def owner_of(self, pod_uid: str) -> TaskObject | None:
        """Return the task that a Pod works on; None where the Pod is unknown or gone, or the task is."""
        return self._task_of(self._pods.task_by_pod(pod_uid))

    def reading(self, task_uid: str) -> Reading | None:
        """Return what a task's open attempt has reported to this process."""
        entry = self._entries.get(task_uid)
        return entry.reading if entry else None

    def reported(self, task_uid: str, attempt: int) -> Usage | None:
        """Return the most that is known of an attempt's spend, stored or not; None where nothing is."""
        task, entry = self._task_of(task_uid), self._entries.get(task_uid)
        listed = task.status.attempts if task else ()
        stored = next((one.usage for one in listed if one.number == attempt), None)
        heard = entry.reading.usage if entry and entry.attempt == attempt else None
        return highest(stored, heard)

    def take(self, task: TaskObject, attempt: Attempt, report: Report) -> bool:
        """Take note of a report of a task's open attempt; returns whether it says anything new."""
        known = self._entries.get(task.meta.uid)
        if not known or known.attempt != attempt.number:
            fresh = Reading(usage=attempt.usage or Usage(), written=self._clock())
            known = _Entry(attempt.number, fresh, attempt.usage)
            self._entries[task.meta.uid] = known
        before, known.reading = known.reading, _read_on(known.reading, report)
        if known.reading == before:
            return False
        self._marks.task(task.meta.key)
        if task.run_key:
            self._marks.run(task.run_key)
        return True

    def settle(self, task: TaskObject) -> None:
        """Follow what a task's stored status says of its open attempt."""
        entry, attempt = self._entries.get(task.meta.uid), open_attempt(task.status)
        if not entry:
            return
        if not attempt or attempt.number != entry.attempt:
            del self._entries[task.meta.uid]
        elif attempt.usage != entry.stored:
            entry.stored = attempt.usage
            entry.reading = replace(entry.reading, written=self._clock())

    def forget(self, task_uid: str) -> None:
        """Forget a task that is gone."""
        self._entries.pop(task_uid, None)


def _read_on(known: Reading, report: Report) -> Reading:
    """Return the reading after a report; one that was overtaken by another lowers nothing."""
    told = of_contract(report.usage)
    usage = highest(known.usage, told) or told
    return replace(
        known,
        usage=usage,
        cost_unknown=report.usage.cost_unknown if usage == told else known.cost_unknown,
        continues=known.continues if report.continues is None else report.continues,
        result=_bounded(report.result) if report.result else known.result,
    )


def _bounded(result: Result) -> Result:
    """Return a result without what nobody reads of its texts: as many are kept as there are agents.

    What is left is still too long for a termination message, which so stays the very same.
    """
    question, given_up = result.question, result.abandonment
    return replace(
        result,
        question=question[:MAX_WORDS] if question else None,
        abandonment=replace(given_up, detail=given_up.detail[: MAX_DETAIL + 1]) if given_up else None,
        summary=result.summary[:MAX_MESSAGE_BYTES],
        message=result.message[:MAX_MESSAGE_BYTES],
    )
