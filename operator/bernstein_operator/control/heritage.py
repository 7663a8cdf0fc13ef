"""Tells attempts that this process recorded from those that one before it did.

Of its own ones a process knows whether their Pod was asked for. An inherited one without a Pod may never have
had one, or one that has come and gone meanwhile; nothing that is stored tells the two apart.
"""

from bernstein_operator.api.objects import Key, TaskObject
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.decisions.attempt import open_attempt


class Heritage:
    """The open attempts that this process has decided about, as long as their Pod wasn't seen."""

    def __init__(self) -> None:
        self._own: dict[Key, str] = {}

    def inherited(self, task: TaskObject) -> bool:
        """Whether a task's open attempt, whose Pod was never seen, is news to this process."""
        pod = _unseen(task.status)
        return bool(pod) and self._own.get(task.meta.key) != pod

    def decided(self, task: Key, status: AgentTaskStatus) -> None:
        """Take note of what a task is to be: from now on its attempt is this process's own."""
        pod = _unseen(status)
        if pod:
            self._own[task] = pod
        else:
            self.forget(task)

    def forget(self, task: Key) -> None:
        """Drop what is known of a task."""
        self._own.pop(task, None)


def _unseen(status: AgentTaskStatus) -> str:
    attempt = open_attempt(status)
    return attempt.pod_name if attempt and not attempt.pod_uid else ""
