"""What is to become of a task: the one place where its phase is decided.

Read from top to bottom: an attempt that is over is closed, a cancel is obeyed, a task without an attempt
waits, asks or starts, an attempt that goes on is confirmed or stopped, limits that are near are told, and the
conditions say so. Level-triggered: only what is there counts, never which event brought it, so a lost event
or a restart changes nothing.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from bernstein_operator.api.conditions import find
from bernstein_operator.api.snapshot import TaskSnapshot
from bernstein_operator.api.task import TaskDefaults
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import (
    ENDED_RUN_PHASES,
    SETTLED_PHASES,
    ConditionStatus,
    ConditionType,
    TaskPhase,
)
from bernstein_operator.decisions.asking import awaiting
from bernstein_operator.decisions.attempt import close, open_attempt, with_late_spend
from bernstein_operator.decisions.closing import after, closed
from bernstein_operator.decisions.commands import obey
from bernstein_operator.decisions.conditions import Standing, Wanted, merge, task_conditions
from bernstein_operator.decisions.continuing import announced
from bernstein_operator.decisions.course import Course, Question
from bernstein_operator.decisions.going import going_on
from bernstein_operator.decisions.ledger import in_order
from bernstein_operator.decisions.metering import metered
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.phases import illegal_move
from bernstein_operator.decisions.plan import TaskDecision, earliest
from bernstein_operator.decisions.remarks import remarks
from bernstein_operator.decisions.starting import waiting
from bernstein_operator.decisions.stopping import clear_away
from bernstein_operator.decisions.waiting import invalid_gate
from bernstein_operator.decisions.warning import near_limits, watch

_VERDICTS: Final = (
    ConditionType.COMPLETE,
    ConditionType.FAILED,
    ConditionType.INPUT_REQUIRED,
    ConditionType.ADMITTED,
)
"""Conditions that say why a task stands where it stands; it has one of them, or none yet."""


def decide(snapshot: TaskSnapshot, *, now: datetime) -> TaskDecision:
    """Say what is to become of a task. No side effects."""
    task = snapshot.task
    if task.meta.deletion_timestamp:
        # Its Pods are owned by it: garbage collection takes them.
        return TaskDecision(status=task.status, actions=in_order((), task.status, snapshot))
    effective = task.effective(_defaults(snapshot))
    if effective is None or not task.status_readable:
        return TaskDecision(status=_unreadable(snapshot, now=now))
    question = Question(snapshot, effective, now)
    course = obey(closed(Course(task.status), question), question)
    course = watch(announced(_moved(course, question), question), question)
    course = metered(course, question)
    course = replace(course, status=with_late_spend(course.status, snapshot.sightings))
    rest = clear_away(course.status, snapshot, now=now)
    wrong = illegal_move(task.status, course.status)
    if wrong:
        return TaskDecision(status=task.status, illegal=wrong)
    return TaskDecision(
        status=_with_conditions(course, question),
        actions=in_order((*course.actions, *rest.actions), course.status, snapshot),
        candidate=course.candidate,
        wake=earliest((*course.wake, *rest.moments)),
    )


def _moved(course: Course, question: Question) -> Course:
    if open_attempt(course.status):
        return going_on(course, question)
    asking = course.status.phase is TaskPhase.AWAITING_INPUT
    return awaiting(course, question) if asking else waiting(course, question)


def decide_refused(snapshot: TaskSnapshot, outcome: Outcome, *, now: datetime) -> AgentTaskStatus:
    """Return the status of a task whose open attempt ended as ``outcome`` says without ever having a Pod."""
    effective = snapshot.task.effective(_defaults(snapshot))
    status = close(snapshot.task.status, outcome, None)
    if effective is None:
        return status
    question = Question(snapshot, effective, now)
    # A cancel may have come in between: what was ended by it stays so.
    course = Course(status) if status.phase in SETTLED_PHASES else after(status, outcome, question)
    return _with_conditions(course, question)


def _defaults(snapshot: TaskSnapshot) -> TaskDefaults | None:
    run = snapshot.run
    return run.spec.task_defaults if run and run.spec else None


# --- what the conditions say ------------------------------------------------------------------------------


def _with_conditions(course: Course, question: Question) -> AgentTaskStatus:
    stored, status = question.snapshot.task.status, course.status
    standing = course.standing or _said_before(status)
    if not standing:
        return status
    wanted = task_conditions(status.phase, standing, run_ended=_run_ended(question.snapshot))
    wanted += [*remarks(status), *near_limits(status, question)]
    return _stamped(status, wanted, stored, question)


def _run_ended(snapshot: TaskSnapshot) -> bool:
    return bool(snapshot.run and snapshot.run.status.phase in ENDED_RUN_PHASES)


def _said_before(status: AgentTaskStatus) -> Standing | None:
    """Return what the conditions say already, for a task about which there is no news."""
    for kind in _VERDICTS:
        found = find(status.conditions, kind)
        if found:
            admitted = kind is ConditionType.ADMITTED and found.status == ConditionStatus.TRUE
            return Standing(found.reason, found.message, admitted=admitted)
    return None


def _stamped(
    status: AgentTaskStatus, wanted: list[Wanted], stored: AgentTaskStatus, question: Question
) -> AgentTaskStatus:
    generation = question.snapshot.task.meta.generation
    conditions = merge(stored.conditions, wanted, generation=generation, now=question.now)
    return status.model_copy(update={"conditions": conditions, "observed_generation": generation})


def _unreadable(snapshot: TaskSnapshot, *, now: datetime) -> AgentTaskStatus:
    """Return the status of a task whose spec or status can't be read; all else of it is left alone."""
    task, gate = snapshot.task, invalid_gate(snapshot)
    if not gate or task.status.phase != TaskPhase.PENDING:
        return task.status
    standing = Standing(gate.reason, gate.message)
    wanted = task_conditions(task.status.phase, standing, run_ended=_run_ended(snapshot))
    conditions = merge(task.status.conditions, wanted, generation=task.meta.generation, now=now)
    changes = {"conditions": conditions, "observed_generation": task.meta.generation}
    return task.status.model_copy(update=changes)
