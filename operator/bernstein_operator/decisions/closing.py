"""Where a task goes from the end of an attempt."""

from dataclasses import asdict, replace
from typing import Final

from bernstein_agent.contract import AbandonReason, ResultClass
from bernstein_operator.api.choices import AfterDeadline, LimitKind, OnExhausted
from bernstein_operator.api.task_status import Abandonment, AgentTaskStatus
from bernstein_operator.api.vocabulary import (
    FINAL_PHASES,
    SETTLED_PHASES,
    AttemptReason,
    TaskPhase,
    TaskReason,
)
from bernstein_operator.decisions.abandoning import abandonment
from bernstein_operator.decisions.asking import asks
from bernstein_operator.decisions.attempt import (
    close,
    find_end,
    open_attempt,
)
from bernstein_operator.decisions.budget_stop import believed
from bernstein_operator.decisions.charging import charged
from bernstein_operator.decisions.course import Course, Question, settled
from bernstein_operator.decisions.effects import untraceable, weighed
from bernstein_operator.decisions.escalation import climbed
from bernstein_operator.decisions.granting import granted
from bernstein_operator.decisions.metering import heard
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.retry import (
    RULES,
    Counters,
    GiveUp,
    Retry,
    alike_in_a_row,
    next_step,
)
from bernstein_operator.decisions.task_budget import with_suggestion

_NOT_THE_TASKS_END: Final = (AttemptReason.RUN_GONE, AttemptReason.QUARANTINED)
"""Stopped attempts after which the task goes on: its run is back, or a person let it out of quarantine."""
_GIVEN_UP_FOR: Final = {
    ResultClass.DEADLINE: AbandonReason.TIME_BUDGET_EXHAUSTED,
    ResultClass.BUDGET: AbandonReason.BUDGET_EXCEEDED,
    ResultClass.TASK_BUDGET: AbandonReason.BUDGET_EXCEEDED,
}
"""Why a task without further attempts is given up, by its last one's class; for any other, ENV_BROKEN."""
_EXHAUSTED: Final = {
    TaskReason.RETRIES_EXHAUSTED: "No retry is left; an answer gives it as many as at first.",
    TaskReason.DISRUPTIONS_EXHAUSTED: "Its Pod was lost too often; an answer lets it try again.",
    TaskReason.SAME_FAILURE: "It fails in the same way each time; an answer lets it try again.",
    TaskReason.TASK_BUDGET_EXHAUSTED: "Its budget is used up; a bigger one and an answer let it go on.",
}
"""What a person is told who is asked instead of the task being failed."""
_BY_OPERATOR: Final = "operator"
_BY_AGENT: Final = "agent"


def closed(course: Course, question: Question) -> Course:
    """Return what becomes of a task whose attempt has ended; the course itself where none has."""
    attempt = open_attempt(course.status)
    if not attempt:
        return course
    seen, reading = question.sighting(attempt.pod_name), question.snapshot.reading
    end = find_end(
        attempt,
        seen,
        posted=reading.result if reading else None,
        bounds=question.bounds(course.status),
        has_repository=question.has_repository,
        allow_no_change=question.effective.allow_no_change,
        now=question.now,
    )
    if not end and question.snapshot.inherited and course.status.phase not in SETTLED_PHASES:
        end = untraceable(attempt, seen, effects=question.effective.effects, now=question.now)
    if not end:
        return course
    outcome = weighed(end, attempt, effects=question.effective.effects)
    known = heard(course.status, question)
    outcome = believed(outcome, known, run=question.snapshot.run, task=question.effective)
    status = charged(close(known, outcome, end.pod), outcome, question)
    status = with_suggestion(status, question.effective, question.profile)
    beaten = question.cancelled and end.outcome.result_class is ResultClass.DEADLINE
    if beaten or status.phase in SETTLED_PHASES:
        # A cancel that was seen before the deadline's end was is obeyed in its stead.
        return replace(course, status=status)
    return after(status, outcome, question)


def after(status: AgentTaskStatus, outcome: Outcome, question: Question) -> Course:
    """Return where a task goes from the end of an attempt, which ``status`` has on record."""
    if outcome.result_class is ResultClass.CANCELLED and outcome.reason in _NOT_THE_TASKS_END:
        return Course(status.model_copy(update={"phase": TaskPhase.PENDING}))
    ends = RULES[outcome.result_class].ends
    return _ended(status, ends, outcome, question) if ends else _failed(status, outcome, question)


def _ended(status: AgentTaskStatus, phase: TaskPhase, outcome: Outcome, question: Question) -> Course:
    """Return the course of a task whose attempt's class is an end."""
    known: dict[str, object] = {"rate_limits": 0, "same_failures": 0}
    if phase is TaskPhase.AWAITING_INPUT:
        asked = outcome.result.question if outcome.result else None
        told = status.model_copy(update=known)
        return asks(told, TaskReason.INPUT_REQUIRED, asked or outcome.message, question)
    if phase is TaskPhase.ABANDONED:
        known["abandonment"] = _agents_word(outcome, question)
    reason, text = outcome.reason, outcome.message
    if phase is TaskPhase.FAILED:
        reason, text = TaskReason.CONTRACT_BROKEN, _told(outcome)
    at = outcome.ended_at if phase in FINAL_PHASES else question.now
    return settled(status.model_copy(update=known), phase, reason, text, at)


def _failed(status: AgentTaskStatus, outcome: Outcome, question: Question) -> Course:
    """Return the course of a task whose attempt may be followed by another one."""
    step = next_step(
        status.attempt,
        outcome.result_class,
        before=Counters.of(status),
        policy=question.effective.retry,
        task_uid=question.snapshot.task.meta.uid,
        now=question.now,
        alike=alike_in_a_row(status),
        asked_to_wait=outcome.result.retry_after_seconds if outcome.result else None,
    )
    counted = status.model_copy(update=asdict(step.counters))
    if isinstance(step, GiveUp):
        return _exhausted(counted, step, outcome, question)
    if outcome.limit in (LimitKind.DEADLINE, LimitKind.RUN_DEADLINE):
        return _missed(counted, step, outcome, question)
    return _again(counted, step, outcome, question)


def _missed(status: AgentTaskStatus, step: Retry, outcome: Outcome, question: Question) -> Course:
    """Return where a task goes whose attempt ran into a moment: on with a fresh grant, or nowhere."""
    hard = outcome.limit is LimitKind.RUN_DEADLINE
    if hard or question.effective.retry.after_deadline is AfterDeadline.NONE:
        reason = TaskReason.DEADLINE_EXCEEDED
        return settled(status, TaskPhase.FAILED, reason, outcome.message, question.now)
    grant = granted(status, question)
    return _again(status.model_copy(update={"deadline": grant}), step, outcome, question)


def _again(status: AgentTaskStatus, step: Retry, outcome: Outcome, question: Question) -> Course:
    climb = RULES[outcome.result_class].climb
    changes = {
        "phase": TaskPhase.PENDING,
        "next_attempt_time": step.at if step.at > question.now else None,
        "escalation": climbed(status.escalation, climb, question.effective, question.profile),
    }
    return Course(status.model_copy(update=changes))


def _exhausted(status: AgentTaskStatus, step: GiveUp, outcome: Outcome, question: Question) -> Course:
    text, now = _told(outcome), question.now
    match _on_exhausted(outcome, question):
        case OnExhausted.FAIL:
            return settled(status, TaskPhase.FAILED, step.reason, text, now)
        case OnExhausted.AWAIT_INPUT:
            return asks(status, step.reason, f"{_EXHAUSTED[step.reason]} {text}", question)
        case OnExhausted.ABANDON:
            return _given_up(status, step, outcome, question)


def _on_exhausted(outcome: Outcome, question: Question) -> OnExhausted:
    task = question.effective
    spent = outcome.result_class is ResultClass.TASK_BUDGET
    return task.budget.on_exhausted if spent else task.retry.on_exhausted


def _given_up(status: AgentTaskStatus, step: GiveUp, outcome: Outcome, question: Question) -> Course:
    text, now = _told(outcome), question.now
    reason = _GIVEN_UP_FOR.get(outcome.result_class, AbandonReason.ENV_BROKEN)
    detail = ": ".join(part for part in (outcome.result_class, outcome.reason, outcome.message) if part)
    given_up = abandonment(reason, detail, actor=_BY_OPERATOR, now=now)
    known = status.model_copy(update={"abandonment": given_up})
    return settled(known, TaskPhase.ABANDONED, step.reason, text, now)


def _agents_word(outcome: Outcome, question: Question) -> Abandonment:
    """Return why the agent gave the task up; a runner that knows no reasons says it in its message."""
    said = outcome.result.abandonment if outcome.result else None
    reason = said.reason if said else AbandonReason.OTHER
    detail = said.detail if said else outcome.message
    return abandonment(reason, detail, actor=_BY_AGENT, now=question.now)


def _told(outcome: Outcome) -> str:
    return f"{outcome.result_class}: {outcome.message or outcome.reason}"
