"""Whether an agent that left no commit is told so and goes on: once in its task's life.

Its runner announces it and waits. What is stored first is that the one continuation is used up, so that
neither a restart nor a second attempt can make two of it.
"""

from dataclasses import replace

from bernstein_operator.api.choices import Effects
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.task_status import AgentTaskStatus, Continuation
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.course import Course, Question


def may_continue(status: AgentTaskStatus, task: EffectiveTask, run: RunObject | None) -> bool:
    """Whether a commit is wanted of a task, and it has its one continuation left."""
    repository = run.spec.repository if run and run.spec else None
    return bool(repository) and task.effects is not Effects.NONE and not status.continuation


def announced(course: Course, question: Question) -> Course:
    """Return the course with the continuation on record that its agent's runner has announced."""
    attempt, reading = open_attempt(course.status), question.snapshot.reading
    if not (attempt and reading) or reading.continues is None or not allowed(course.status, question):
        return course
    granted = Continuation(attempt=attempt.number, time=question.now, session_id=reading.continues)
    return replace(course, status=course.status.model_copy(update={"continuation": granted}))


def allowed(status: AgentTaskStatus, question: Question) -> bool:
    """Whether the open attempt may go on with a continuation that isn't on record yet."""
    attempt = open_attempt(status)
    seen = question.sighting(attempt.pod_name) if attempt else None
    ending = not seen or seen.pod.ended or seen.pod.stop_class or seen.pod.metadata.deletion_timestamp
    if ending or question.cancelled or status.phase is not TaskPhase.RUNNING:
        return False
    return may_continue(status, question.effective, question.snapshot.run)
