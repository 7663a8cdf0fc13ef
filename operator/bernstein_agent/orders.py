"""The pure rule for what an agent's program has to do at a moment: go on, finish, or be stopped.

Three have a say: the limits in the envelope, which the runner keeps by itself; the operator, which answers to
reports; and the clock, since a run whose operator hears nothing has nobody who keeps its limits.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from bernstein_agent.contract import Budget, Instruction, Reason, ResultClass, dollars_text
from bernstein_agent.failure import Verdict
from bernstein_agent.finish import Limit, should_finish_gracefully, used_up
from bernstein_agent.tally import Tally, headroom

UNHEARD_SECONDS: Final = 600.0
"""Without an accepted report for so long, the agent is asked to finish."""

FINAL_TURN_SECONDS: Final = 120.0
"""How long a final turn may take."""

_FINISH: Final = (
    "Commit the work that is done, begin nothing new, and say in a few sentences what is done and what isn't."
)


_FAILURES: Final = frozenset({ResultClass.BUSINESS, ResultClass.AGENT})


class Cause(StrEnum):
    """Why a program is asked to finish."""

    LOW = "Your budget is nearly used up."
    OPERATOR = "You are asked to finish."
    UNHEARD = "The operator can't be reached."


@dataclass(frozen=True, slots=True)
class Order:
    """What a program has to do: to be stopped, or to take its final turn.

    Attributes:
        verdict: what its end counts as, unless a final turn brings it to a good one.
        cause: why it gets its final turn; None where it is stopped at once.
        why: more to say about the cause.
        percent: how much was left of its budget, where that is the cause.
    """

    verdict: Verdict
    cause: Cause | None = None
    why: str = ""
    percent: int | None = None

    @property
    def prompt(self) -> str:
        """What the final turn is told."""
        return f"{self._reason} This is your final turn. {_FINISH}"

    @property
    def notice(self) -> str:
        """What a program is told that can't be given another turn."""
        return f"{self._reason} {_FINISH}"

    @property
    def _reason(self) -> str:
        return f"{self.cause} {self.why}".rstrip()


def order_of(budget: Budget, tally: Tally, *, wanted: Instruction, unheard: bool) -> Order | None:
    """Return the order of the moment, None where the program may go on.

    ``wanted`` is the operator's last word; ``unheard`` whether it has heard nothing for too long. What stops
    comes first, since it leaves nothing for a final turn.
    """
    if limit := used_up(budget, tally):
        return Order(_exhausted(limit, budget))
    if wanted.stop:
        return Order(_STOPPED)
    if should_finish_gracefully(budget, tally):
        return Order(_unfinished(budget, tally), Cause.LOW, percent=headroom(budget, tally))
    if wanted.finish:
        text = f"the operator asked the agent to finish: {wanted.finish}"
        return Order(_budget(text), Cause.OPERATOR, wanted.finish)
    return Order(_UNHEARD, Cause.UNHEARD) if unheard else None


def settled(verdict: Verdict, *, budget: Budget, tally: Tally, final: Order | None) -> Verdict:
    """Return what an attempt's end counts as, once its limits are taken into account.

    An agent that was hurried for others' sake didn't fail by leaving no commit. And one that failed with
    nothing left of its task's own budget can't be tried again, whatever it failed of.
    """
    if (
        final
        and final.verdict.result_class is not ResultClass.TASK_BUDGET
        and verdict.reason == Reason.NO_COMMIT
    ):
        return final.verdict
    life_long = replace(budget, steps=None, tool_calls=None)
    if budget.own and verdict.result_class in _FAILURES and (limit := used_up(life_long, tally)):
        spent = _exhausted(limit, budget)
        return replace(spent, message=f"{spent.message}; {verdict.message}")
    return verdict


def _exhausted(limit: Limit, budget: Budget) -> Verdict:
    """Return what it means that nothing is left of a limit; steps and calls are always the task's own."""
    own = budget.own or limit in (Limit.STEPS, Limit.TOOL_CALLS)
    text = f"nothing is left of the {'task' if own else 'run'}'s budget of {_amount(limit, budget)}"
    return _task_budget(text) if own else _budget(text)


def _amount(limit: Limit, budget: Budget) -> str:
    match limit:
        case Limit.TOKENS:
            return f"{budget.tokens or 0:,} {limit}"
        case Limit.DOLLARS:
            return f"${dollars_text(budget.cost_micros or 0)}"
        case Limit.STEPS:
            return f"{budget.steps} {limit}"
        case Limit.TOOL_CALLS:
            return f"{budget.tool_calls} {limit}"


def _unfinished(budget: Budget, tally: Tally) -> Verdict:
    """Return what a final turn counts as that didn't end by itself in time."""
    own = budget.own or (budget.steps is not None and tally.steps >= budget.steps)
    text = "the agent's final turn didn't end in time"
    return _task_budget(text) if own else _budget(text)


def _task_budget(text: str) -> Verdict:
    return Verdict(ResultClass.TASK_BUDGET, Reason.TASK_BUDGET_EXHAUSTED, text)


def _budget(text: str) -> Verdict:
    return Verdict(ResultClass.BUDGET, Reason.BUDGET_EXHAUSTED, text)


_STOPPED: Final = Verdict(
    ResultClass.DISRUPTION, Reason.TERMINATED, "the operator stopped the agent before it was done"
)
"""As when the Pod is asked to stop: what it counts as, the operator knows."""

_UNHEARD: Final = Verdict(
    ResultClass.TRANSIENT,
    Reason.REPORTS_REFUSED,
    f"the operator accepted no report for {UNHEARD_SECONDS:g} s",
)
