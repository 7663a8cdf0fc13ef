"""What a live agent is told in answer to its report: all that is wanted of it at that moment.

The answer follows from what is stored and seen, and a repeat says the same. So a lost one costs a few
seconds, and an agent that is asked twice to end has been asked once.
"""

from collections.abc import Iterator
from datetime import datetime

from bernstein_agent.contract import Continuation, Instruction, Notice
from bernstein_operator.api.budget import BudgetStatus
from bernstein_operator.api.choices import BudgetBand, LimitKind
from bernstein_operator.api.snapshot import TaskSnapshot
from bernstein_operator.api.task_status import Attempt, Usage
from bernstein_operator.api.vocabulary import SETTLED_PHASES
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.continuing import refused
from bernstein_operator.decisions.course import Question
from bernstein_operator.decisions.usage import rise

_FINISH = "Bring the work into a state that can be committed, commit it, sum up in a few lines, and end."
_NONE_SPENT = Usage()


def instruct(snapshot: TaskSnapshot, *, now: datetime) -> Instruction:
    """Say what is wanted of a task's open attempt. No side effects."""
    task, run = snapshot.task, snapshot.run
    attempt = open_attempt(task.status)
    effective = task.effective(run.spec.task_defaults if run and run.spec else None)
    if not (attempt and effective):
        return Instruction(stop=attempt is None)
    question = Question(snapshot, effective, now)
    return Instruction(
        finish=finish_text(question),
        stop=_stopped(attempt, question),
        warnings=tuple(_warnings(attempt, question)),
        tokens=_fewer_tokens(attempt, question),
        cost_micros=_less_money(attempt, question),
        continuation=_continuation(attempt, question),
    )


def finish_text(question: Question) -> str | None:
    """Return why the agent is to end by itself soon, in words for its prompt; None where it isn't."""
    budget = _budget(question)
    if budget and (budget.should_stop or budget.band is BudgetBand.STOP):
        return f"The budget of your run is used up. {_FINISH}"
    if budget and budget.band is BudgetBand.CRITICAL and not question.effective.essential:
        return f"The budget of your run is nearly used up, and others come first. {_FINISH}"
    return None


def _stopped(attempt: Attempt, question: Question) -> bool:
    seen = question.sighting(attempt.pod_name)
    told = bool(seen and (seen.pod.stop_class or seen.pod.metadata.deletion_timestamp))
    return told or question.cancelled or question.snapshot.task.status.phase in SETTLED_PHASES


def _warnings(attempt: Attempt, question: Question) -> Iterator[Notice]:
    """Yield what the task's status says that its agent should hear once."""
    known = question.snapshot.task.status.deadline
    for one in known.warned if known else ():
        # Whoever can hear it has started.
        if one.attempt == attempt.number and one.limit is not LimitKind.START_TIMEOUT:
            at = f"{one.at:%Y-%m-%dT%H:%M:%SZ}"
            text = f"{one.limit} is over at {at}. You are stopped then: commit before."
            yield Notice(id=f"{one.limit}-{at}", text=text)
    budget = _budget(question)
    for reached in budget.reached if budget else ():
        text = f"The budget of your run has reached its band {reached.band}."
        yield Notice(id=f"budget-{reached.band}-{reached.time:%Y-%m-%dT%H:%M:%SZ}", text=text)


def _fewer_tokens(attempt: Attempt, question: Question) -> int | None:
    """Return what is left of the task's tokens, where that has become less than the attempt was given."""
    whole, spent = question.effective.budget.tokens, _spent_before(attempt, question)
    if whole is None:
        return None
    left = max(whole - spent.input_tokens - spent.output_tokens, 0)
    return left if attempt.cap_tokens is None or left < attempt.cap_tokens else None


def _less_money(attempt: Attempt, question: Question) -> int | None:
    """Return the same of its money, in micro-dollars."""
    whole, spent = question.effective.budget.usd, _spent_before(attempt, question)
    if whole is None:
        return None
    left = max(whole.micros - spent.cost_usd.micros, 0)
    return left if attempt.cap_usd is None or left < attempt.cap_usd.micros else None


def _spent_before(attempt: Attempt, question: Question) -> Usage:
    """Return what the task's other attempts have spent."""
    whole, own = question.snapshot.task.status.usage or _NONE_SPENT, attempt.usage or _NONE_SPENT
    return rise(own, whole) or _NONE_SPENT


def _continuation(attempt: Attempt, question: Question) -> Continuation | None:
    reading, status = question.snapshot.reading, question.snapshot.task.status
    if not reading or reading.continues is None:
        return None
    if status.continuation and status.continuation.attempt == attempt.number:
        return Continuation.ALLOWED
    return Continuation.REFUSED if refused(status, question) else Continuation.PENDING


def _budget(question: Question) -> BudgetStatus | None:
    run = question.snapshot.run
    return run.status.budget if run else None
