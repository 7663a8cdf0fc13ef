"""Tells what has happened, once it is stored: events for people, counters for dashboards.

What is told follows from the difference between two stored states, so a transition is told once however many
passes it took, and none is told that the API server refused.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final, TypeVar

from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.builders.events import Notice, event, run_notices, task_notices
from bernstein_operator.kube.recorder import Recorder
from bernstein_operator.telemetry import metrics

log = logging.getLogger(__name__)

_Object = TypeVar("_Object", TaskObject, RunObject)

OWED_FOR: Final = timedelta(minutes=10)
"""How far back a start looks for events that the process before it may not have sent."""


class Herald:
    """Hands events to the recorder and counts; ``instance`` names this process."""

    def __init__(self, recorder: Recorder, *, instance: str) -> None:
        self._recorder = recorder
        self._instance = instance

    def task_stored(self, before: TaskObject, after: TaskObject, *, role: str) -> None:
        """Tell what is new about a task; ``role`` is its own or its run's."""
        self._tell(after, kind="AgentTask", notices=task_notices, told=before)
        metrics.count_transition(before, after, role=role)

    def run_stored(self, before: RunObject, after: RunObject) -> None:
        """Tell what is new about a run."""
        self._tell(after, kind="BernsteinRun", notices=run_notices, told=before)

    def tell_owed(self, tasks: Iterable[TaskObject], runs: Iterable[RunObject], *, now: datetime) -> None:
        """Send again what a process that was killed between a write and its event may owe."""
        for task in tasks:
            self._tell(task, kind="AgentTask", notices=task_notices, since=now - OWED_FOR)
        for run in runs:
            self._tell(run, kind="BernsteinRun", notices=run_notices, since=now - OWED_FOR)

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
