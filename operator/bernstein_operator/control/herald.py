"""Tells what has happened, once it is stored: events for people, counters for dashboards.

What is told follows from the difference between two stored states, so a transition is told once however many
passes it took, and none is told that the API server refused. Where a write's answer was lost, nobody knows
which state is stored: what it came to is told when the object is seen again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from bernstein_operator.api.objects import Key, RunObject, TaskObject
from bernstein_operator.builders.events import Notice, event, run_notices, task_notices
from bernstein_operator.kube.recorder import Recorder
from bernstein_operator.telemetry import metrics

log = logging.getLogger(__name__)

_Object = TypeVar("_Object", TaskObject, RunObject)

OWED_FOR: Final = timedelta(minutes=10)
"""How far back a start looks for events that the process before it may not have sent."""
WAIT_FOR_OWED_SECONDS: Final = 2.0


class _Doubts(Generic[_Object]):
    """Objects as they were before a write of which nobody knows whether it was carried out."""

    def __init__(self) -> None:
        self._before: dict[Key, _Object] = {}

    def add(self, before: _Object) -> None:
        """Keep the state before the first such write."""
        if not self.about(before):
            self._before[before.meta.key] = before

    def about(self, one: _Object) -> _Object | None:
        """Return the state that was told last, if there is a doubt about this very object."""
        before = self._before.get(one.meta.key)
        return before if before and before.meta.uid == one.meta.uid else None

    def forget(self, key: Key) -> None:
        """Drop what is kept of an object."""
        self._before.pop(key, None)


class Herald:
    """Hands events to the recorder and counts; ``instance`` names this process."""

    def __init__(self, recorder: Recorder, *, instance: str) -> None:
        self._recorder = recorder
        self._instance = instance
        self.tasks_in_doubt: _Doubts[TaskObject] = _Doubts()
        self.runs_in_doubt: _Doubts[RunObject] = _Doubts()

    def task_seen(self, task: TaskObject, *, role: str) -> None:
        """Tell what a write came to whose answer was lost, if this is news of it."""
        before = self.tasks_in_doubt.about(task)
        if before and before.meta.version < task.meta.version:
            self.task_stored(before, task, role=role)

    def run_seen(self, run: RunObject) -> None:
        """Tell the same of a run."""
        before = self.runs_in_doubt.about(run)
        if before and before.meta.version < run.meta.version:
            self.run_stored(before, run)

    def task_stored(self, before: TaskObject, after: TaskObject, *, role: str) -> None:
        """Tell what is new about a task; ``role`` is its own or its run's."""
        before = self.tasks_in_doubt.about(after) or before
        self.tasks_in_doubt.forget(after.meta.key)
        self._tell(after, kind="AgentTask", notices=task_notices, told=before)
        metrics.count_transition(before, after, role=role)

    def run_stored(self, before: RunObject, after: RunObject) -> None:
        """Tell what is new about a run."""
        before = self.runs_in_doubt.about(after) or before
        self.runs_in_doubt.forget(after.meta.key)
        self._tell(after, kind="BernsteinRun", notices=run_notices, told=before)

    async def tell_owed(
        self, tasks: Iterable[TaskObject], runs: Iterable[RunObject], *, now: datetime
    ) -> None:
        """Send again what a process that was killed between a write and its event may owe.

        A pause is forgotten with the next write of its run, so what runs owe is sent before anything is
        decided; events that can't be sent hold that up for a moment only.
        """
        for run in runs:
            self._tell(run, kind="BernsteinRun", notices=run_notices, since=now - OWED_FOR)
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_FOR_OWED_SECONDS):
                await self._recorder.flush()
        for task in tasks:
            self._tell(task, kind="AgentTask", notices=task_notices, since=now - OWED_FOR)

    def _tell(
        self,
        one: _Object,
        *,
        kind: str,
        notices: Callable[[_Object], Iterable[Notice]],
        told: _Object | None = None,
        since: datetime | None = None,
    ) -> None:
        """Hand over what ``one`` owes beyond what ``told`` owed, from ``since`` on.

        A fault in here is logged and goes no further: what is told of was stored, and that is what counts.
        """
        try:
            known = {notice.identity for notice in (notices(told) if told else ())}
            fresh = [notice for notice in notices(one) if notice.identity not in known]
            for notice in sorted(fresh, key=lambda notice: notice.at):
                if since is None or notice.at >= since:
                    body = event(notice, kind=kind, meta=one.meta, instance=self._instance)
                    self._recorder.post(one.meta.namespace, body)
        except Exception:
            log.exception("events not told", extra={"kind": kind, "object": one.meta.name})
