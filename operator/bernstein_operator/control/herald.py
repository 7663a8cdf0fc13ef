"""Tells what has happened, once it is stored: events for people, counters for dashboards.

What is told follows from the difference between two stored states, so a transition is told once however many
passes it took, and none is told that the API server refused.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.pod import Metadata
from bernstein_operator.builders.events import Notice, event, run_notices, task_notices
from bernstein_operator.kube.recorder import Recorder
from bernstein_operator.telemetry import metrics

OWED_FOR: Final = timedelta(minutes=10)
"""How far back a start looks for events that the process before it may not have sent."""


class Herald:
    """Hands events to the recorder and counts; ``instance`` names this process."""

    def __init__(self, recorder: Recorder, *, instance: str) -> None:
        self._recorder = recorder
        self._instance = instance

    def task_stored(self, before: TaskObject, after: TaskObject) -> None:
        """Tell what is new about a task."""
        told = {(one.reason, one.at) for one in task_notices(before)}
        fresh = [one for one in task_notices(after) if (one.reason, one.at) not in told]
        self._post(fresh, kind="AgentTask", meta=after.meta)
        metrics.count_transition(before, after)

    def run_stored(self, before: RunObject, after: RunObject) -> None:
        """Tell what is new about a run."""
        told = {(one.reason, one.at) for one in run_notices(before)}
        fresh = [one for one in run_notices(after) if (one.reason, one.at) not in told]
        self._post(fresh, kind="BernsteinRun", meta=after.meta)

    def tell_owed(self, tasks: Iterable[TaskObject], runs: Iterable[RunObject], *, now: datetime) -> None:
        """Send again what a process that was killed between a write and its event may owe."""
        since = now - OWED_FOR
        for task in tasks:
            owed = [one for one in task_notices(task) if one.at >= since]
            self._post(owed, kind="AgentTask", meta=task.meta)
        for run in runs:
            owed = [one for one in run_notices(run) if one.at >= since]
            self._post(owed, kind="BernsteinRun", meta=run.meta)

    def _post(self, notices: Iterable[Notice], *, kind: str, meta: Metadata) -> None:
        for notice in sorted(notices, key=lambda one: one.at):
            body = event(notice, kind=kind, meta=meta, instance=self._instance)
            self._recorder.post(meta.namespace, body)
