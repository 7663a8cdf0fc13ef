"""What admission weighs against a run's budget: needs, what is granted, and what has been spent.

Frozen values between the books that are kept of a run's money and the rules that decide about it.
"""

from dataclasses import dataclass
from typing import Final

from bernstein_operator.api.choices import ScopeSize
from bernstein_operator.api.money import Money

NOTHING: Final = Money()
DEFAULT_ESTIMATE: Final = Money(1_000_000)


@dataclass(frozen=True, slots=True)
class OperatorBudget:
    """What the operator's own settings say of any run's budget.

    Attributes:
        max_cost: comes before all other sources; 0 means unlimited, None that it isn't set.
        max_run_cost: the most that any run may cost, whatever else is said.
        default: for runs of which nobody else says anything.
        estimate: what an attempt is taken to cost before any of its scope has ended.
        required: whether a run without a budget starts nothing.
    """

    max_cost: Money | None = None
    max_run_cost: Money | None = None
    default: Money | None = None
    estimate: Money = DEFAULT_ESTIMATE
    required: bool = False


NO_SETTINGS: Final = OperatorBudget()


@dataclass(frozen=True, slots=True)
class Need:
    """What a waiting task would take of its run's budget; equal for all that get the same answer.

    Attributes:
        scope: attempts of the same scope are the measure.
        essential: whether it may start in the critical band.
        metered: whether it costs anything at all.
        left_usd: what is left of the task's own budget; None where that is unbounded.
        left_tokens: the same in tokens.
    """

    scope: ScopeSize = ScopeSize.MEDIUM
    essential: bool = True
    metered: bool = True
    left_usd: Money | None = None
    left_tokens: int | None = None


NO_NEED: Final = Need()


@dataclass(frozen=True, slots=True)
class Allotment:
    """What an attempt is given at its admission.

    Attributes:
        reservation_usd: what it is taken to cost.
        reservation_tokens: what it is taken to use; 0 where nothing is known.
        cap_usd: what it may spend at most; None where that is unbounded.
        cap_tokens: the same in tokens.
    """

    reservation_usd: Money = NOTHING
    reservation_tokens: int = 0
    cap_usd: Money | None = None
    cap_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """What the ended attempts of one scope have cost in all; those that cost nothing are left out."""

    count: int = 0
    micros: int = 0
    tokens: int = 0


NO_SAMPLE: Final = Sample()


@dataclass(frozen=True, slots=True)
class Spend:
    """What a run's attempts have spent, and what live ones may yet; money in micro-dollars.

    Attributes:
        spent: by all attempts, those of deleted tasks too.
        carried: the part of it that deleted tasks have spent.
        estimated: the part of it that nobody reported.
        in_flight: the part of it that live attempts have reported and their tasks don't tell yet.
        reserved: what live attempts may yet cost beyond what they have reported.
        tokens: like ``spent``, in tokens; so are ``carried_tokens``, ``in_flight_tokens`` and
            ``reserved_tokens``.
        live: how many attempts hold a reservation, begun or about to.
        samples: by scope.
    """

    spent: int = 0
    carried: int = 0
    estimated: int = 0
    in_flight: int = 0
    reserved: int = 0
    tokens: int = 0
    carried_tokens: int = 0
    in_flight_tokens: int = 0
    reserved_tokens: int = 0
    live: int = 0
    samples: tuple[tuple[ScopeSize, Sample], ...] = ()

    def sample(self, scope: ScopeSize) -> Sample:
        """Return what the ended attempts of a scope have cost."""
        return dict(self.samples).get(scope, NO_SAMPLE)


NO_SPEND: Final = Spend()
