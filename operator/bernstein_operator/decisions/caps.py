"""Which of the sources of a run's budget counts.

The order is the documents': the operator's own variable, run_config.json, the run's spec, bernstein.yaml, the
operator's default. The first that says more than 0 sets the cap; only the variable can say, by 0 or less,
that there is none. The operator's maximum for a run stands above them all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bernstein_operator.api.choices import CapSource
from bernstein_operator.api.money import Money
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.spending import OperatorBudget


@dataclass(frozen=True, slots=True)
class Cap:
    """What a run may cost, and who said so.

    Attributes:
        usd: None is unlimited.
        source: who said so.
        overrides: whether that is more than the run's own spec allows.
    """

    usd: Money | None = None
    source: CapSource = CapSource.UNLIMITED
    overrides: bool = False


UNLIMITED: Final = Cap()


def cap_of(spec: Money | None, config: RunConfig, operator: OperatorBudget) -> Cap:
    """Return a run's cap; ``spec`` is its spec.budget.usd."""
    usd, source = next(_said(spec, config, operator))
    most = operator.max_run_cost
    if most and most.micros and (usd is None or usd > most):
        usd, source = most, CapSource.MAXIMUM
    own = spec if spec and spec.micros else None
    return Cap(usd, source, overrides=own is not None and (usd is None or usd > own))


def _said(
    spec: Money | None, config: RunConfig, operator: OperatorBudget
) -> Iterator[tuple[Money | None, CapSource]]:
    """Yield every source that says something, the strongest first; the last one always says something."""
    first = operator.max_cost
    if first is not None:
        yield (first, CapSource.ENVIRONMENT) if first.micros else (None, CapSource.UNLIMITED)
    others = {
        CapSource.RUN_CONFIG: config.run_config_usd,
        CapSource.SPEC: spec,
        CapSource.SEED: config.seed_usd,
        CapSource.DEFAULT: operator.default,
    }
    yield from ((usd, source) for source, usd in others.items() if usd and usd.micros)
    yield None, CapSource.UNLIMITED
