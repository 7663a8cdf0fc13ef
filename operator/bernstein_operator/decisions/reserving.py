"""Whether what is left of a run's budget is enough for one more attempt, and what that attempt is given.

To look at what is left and to book what will be spent is one step here: whoever is granted a slot has its
share taken out of the till before the next one is asked. So however many tasks become ready at once, what was
spent and what is reserved together stay within the cap.
"""

from dataclasses import dataclass, replace
from typing import Final

from bernstein_operator.api.choices import BudgetBand
from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import DEFAULT_ESTIMATE, NO_SPEND, Allotment, Need, Spend
from bernstein_operator.api.vocabulary import AdmittedReason

LEAST: Final = Money(10_000)
"""With less than this left, 0.01, an attempt could do nothing."""


@dataclass(frozen=True, slots=True)
class Funds:
    """A run's money at one moment.

    Attributes:
        cap_usd: None is unlimited.
        cap_tokens: None is unlimited.
        band: the highest that was reached.
        spend: what was spent and is reserved.
        estimate: what an attempt is taken to cost before any of its scope has ended.
    """

    cap_usd: Money | None = None
    cap_tokens: int | None = None
    band: BudgetBand = BudgetBand.NONE
    spend: Spend = NO_SPEND
    estimate: Money = DEFAULT_ESTIMATE

    @property
    def left(self) -> int | None:
        """Micro-dollars that are neither spent nor reserved; None where there is no cap."""
        committed = self.spend.spent + self.spend.reserved
        return None if self.cap_usd is None else max(0, self.cap_usd.micros - committed)

    @property
    def left_tokens(self) -> int | None:
        """The same in tokens."""
        committed = self.spend.tokens + self.spend.reserved_tokens
        return None if self.cap_tokens is None else max(0, self.cap_tokens - committed)

    def less(self, given: Allotment) -> "Funds":
        """Return what is left once an attempt was given its share."""
        spend = replace(
            self.spend,
            reserved=self.spend.reserved + given.reservation_usd.micros,
            reserved_tokens=self.spend.reserved_tokens + given.reservation_tokens,
            live=self.spend.live + 1,
        )
        return replace(self, spend=spend)


UNLIMITED_FUNDS: Final = Funds()


def allot(need: Need, funds: Funds) -> Allotment | AdmittedReason:
    """Return what an attempt of that need is given now, or what it waits for. No side effects.

    With nothing live the first one is given whatever is left, however little it is of what it should need:
    otherwise a run could never spend its last dollar, nor come to its end.
    """
    held = funds.band is BudgetBand.STOP or (funds.band is BudgetBand.CRITICAL and not need.essential)
    if held:
        return AdmittedReason.BUDGET_CRITICAL
    wanted = _wanted(need, funds)
    if _fits(wanted, funds):
        return wanted
    clamped = _clamped(wanted, funds)
    return clamped if funds.spend.live == 0 and clamped else AdmittedReason.BUDGET_RESERVED


def _wanted(need: Need, funds: Funds) -> Allotment:
    """Return what an attempt should have: what is left of its task's budget, else what is usual."""
    left, own = funds.left, need.left_usd
    cap_usd = own if own is not None or left is None else Money(left)
    cap_tokens = need.left_tokens if need.left_tokens is not None else funds.left_tokens
    if not need.metered:
        return Allotment(cap_usd=own, cap_tokens=need.left_tokens)
    return Allotment(_usual(need, funds), _usual_tokens(need, funds), cap_usd, cap_tokens)


def _usual(need: Need, funds: Funds) -> Money:
    sample = funds.spend.sample(need.scope)
    if need.left_usd is not None:
        return need.left_usd
    mean = sample.micros // sample.count if sample.count else 0
    return Money(mean) if mean else funds.estimate


def _usual_tokens(need: Need, funds: Funds) -> int:
    """Return the same in tokens; where nothing is known, none are set aside."""
    if funds.cap_tokens is None:
        return 0
    sample = funds.spend.sample(need.scope)
    if need.left_tokens is not None:
        return need.left_tokens
    return sample.tokens // sample.count if sample.count else 0


def _fits(wanted: Allotment, funds: Funds) -> bool:
    left, left_tokens = funds.left, funds.left_tokens
    money = left is None or wanted.reservation_usd.micros <= left
    return money and (left_tokens is None or wanted.reservation_tokens <= left_tokens)


def _clamped(wanted: Allotment, funds: Funds) -> Allotment | None:
    """Return what is left, as all that an attempt may have; None where that is too little to be of use."""
    left, left_tokens = funds.left, funds.left_tokens
    if left is not None and wanted.reservation_usd.micros > left:
        if left < LEAST.micros:
            return None
        wanted = replace(wanted, reservation_usd=Money(left), cap_usd=Money(left))
    if left_tokens is not None and wanted.reservation_tokens > left_tokens:
        if not left_tokens:
            return None
        wanted = replace(wanted, reservation_tokens=left_tokens, cap_tokens=left_tokens)
    return wanted


class Till:
    """One pass over the tasks that wait: who is given what of a run's money."""

    def __init__(self, funds: Funds) -> None:
        self._funds = funds
        self.given: dict[str, Allotment] = {}

    def refusal(self, need: Need) -> AdmittedReason | None:
        """Return what a task of that need waits for now, None where there is enough for it."""
        answer = allot(need, self._funds)
        return answer if isinstance(answer, AdmittedReason) else None

    def give(self, task: str, need: Need) -> None:
        """Take a task's share out."""
        answer = allot(need, self._funds)
        if isinstance(answer, Allotment):
            self.given[task] = answer
            self._funds = self._funds.less(answer)
