"""Tells what has happened, once it is stored: events for people, counters for dashboards.

What is told follows from the difference between two stored states, the last one told and the present one.
So a transition is told once however many passes it took, none is told that the API server refused, and none
is lost whose answer was, or that a killed process wrote at the last moment.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from bernstein_operator.api.objects import Key, ProfileObject, RunObject, TaskObject
from bernstein_operator.api.pod import Metadata
from bernstein_operator.builders.events import Notice, event
from bernstein_operator.builders.run_notices import profile_notices, run_notices
from bernstein_operator.builders.task_notices import task_notices
from bernstein_operator.kube.recorder import Recorder
from bernstein_operator.telemetry import metrics
from bernstein_operator.telemetry.run_series import run_series

log = logging.getLogger(__name__)

_Object = TypeVar("_Object", TaskObject, RunObject, ProfileObject)

OWED_FOR: Final = timedelta(hours=1)
"""How far back a start looks for events that the processes before it may not have sent; API servers keep
events for no longer."""
WAIT_FOR_OWED_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Owed:
    """What of the past is told at a start: what happened from ``since`` on and isn't among ``sent``."""

    since: datetime
    sent: Collection[Key]

    def includes(self, notice: Notice, body: Mapping[str, Any]) -> bool:
        """Whether an event is to be sent."""
        meta = body["metadata"]
        return notice.at >= self.since and (meta["namespace"], meta["name"]) not in self.sent


class _Told(Generic[_Object]):
    """Objects as they were when they were last told of."""

    def __init__(self) -> None:
        self._states: dict[Key, _Object] = {}

    def update(self, one: _Object) -> _Object | None:
        """Take ``one`` for told; returns the state before where that is an older one of the same object."""
        before = self._states.get(one.meta.key)
        if before and before.meta.uid != one.meta.uid:
            before = None
        if before and before.meta.version >= one.meta.version:
            return None
        self._states[one.meta.key] = one
        return before

    def forget(self, key: Key) -> None:
        """Drop what is kept of an object."""
        self._states.pop(key, None)


class Herald:
    """Hands events to the recorder and counts; ``instance`` names this process.

    An object that is new to it is taken for told: what it may owe from before is for ``tell_owed``.
    """

    def __init__(self, recorder: Recorder, *, instance: str) -> None:
        self._recorder = recorder
        self._instance = instance
        self._tasks: _Told[TaskObject] = _Told()
        self._runs: _Told[RunObject] = _Told()
        self._profiles: _Told[ProfileObject] = _Told()

    def task_seen(self, task: TaskObject, *, role: str, adapter: str, models: Container[str] = ()) -> None:
        """Tell what is new about a task as it is stored.

        ``role`` is its own or its run's, ``adapter`` its last attempt's, ``models`` what that one's profile
        lists.
        """
        before = self._tasks.update(task)
        if before:
            self._tell(task, kind="AgentTask", notices=task_notices, told=before)
            metrics.count_transition(before, task, role=role, adapter=adapter, models=models)

    def run_seen(self, run: RunObject) -> None:
        """Tell what is new about a run as it is stored."""
        before = self._runs.update(run)
        metrics.show_run(run)
        if before:
            self._tell(run, kind="BernsteinRun", notices=run_notices, told=before)
            metrics.count_ceiling_changes(before, run)

    def profile_seen(self, profile: ProfileObject) -> None:
        """Tell what is new about a profile as it is stored."""
        before = self._profiles.update(profile)
        if before:
            self._tell(profile, kind="AgentProfile", notices=profile_notices, told=before)

    def task_gone(self, key: Key) -> None:
        """Forget a task that is no more."""
        self._tasks.forget(key)

    def run_gone(self, key: Key, *, now: datetime) -> None:
        """Forget a run that is no more; its series stay for as long as those of one that has ended."""
        self._runs.forget(key)
        run_series.ended(*key, now)

    def profile_gone(self, key: Key) -> None:
        """Forget a profile that is no more."""
        self._profiles.forget(key)

    async def tell_owed(
        self,
        tasks: Iterable[TaskObject],
        runs: Iterable[RunObject],
        profiles: Iterable[ProfileObject],
        *,
        sent: Collection[Key] = (),
        now: datetime,
    ) -> None:
        """Send what processes that were killed between a write and its event owe: all but what is ``sent``.

        Some of it is forgotten with the next write of its object (a pause, a hold, a quarantine), so it is
        sent before anything is decided; events that can't be sent hold that up for a moment only.
        """
        owed = _Owed(now - OWED_FOR, sent)
        for profile in profiles:
            self._profiles.update(profile)
            self._tell(profile, kind="AgentProfile", notices=profile_notices, owed=owed)
        for run in runs:
            self._runs.update(run)
            self._tell(run, kind="BernsteinRun", notices=run_notices, owed=owed)
        for task in tasks:
            self._tasks.update(task)
            self._tell(task, kind="AgentTask", notices=task_notices, owed=owed)
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_FOR_OWED_SECONDS):
                await self._recorder.flush()

    def _tell(
        self,
        one: _Object,
        *,
        kind: str,
        notices: Callable[[_Object], Iterable[Notice]],
        told: _Object | None = None,
        owed: _Owed | None = None,
    ) -> None:
        """Hand over what ``one`` owes beyond what ``told`` owed; where ``owed`` is given, the part it names.

        A fault in here is logged and goes no further: what is told of was stored, and that is what counts.
        """
        try:
            known = {notice.identity for notice in (notices(told) if told else ())}
            fresh = [notice for notice in notices(one) if notice.identity not in known]
            for notice in sorted(fresh, key=lambda notice: notice.at):
                body = event(notice, kind=kind, meta=one.meta, instance=self._instance)
                if owed is None or owed.includes(notice, body):
                    self._recorder.post(one.meta.namespace, body)
                    _log(notice, kind=kind, meta=one.meta)
        except Exception:
            log.exception("events not told", extra={"kind": kind, "object": one.meta.name})


def _log(notice: Notice, *, kind: str, meta: Metadata) -> None:
    """Log what the documents have a name for, by that name; a note may be an agent's, so it stays out."""
    if notice.document:
        where = {"kind": kind, "namespace": meta.namespace, "object": meta.name}
        log.info(notice.document, extra={**where, "reason": notice.reason})
