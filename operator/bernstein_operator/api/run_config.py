"""What a run's ConfigMap says of its limits, once its two files have been read.

The Bernstein program keeps its limits in ``bernstein.yaml`` and ``run_config.json``. Whoever has these files
puts them into a ConfigMap and need not say the same again in another form.
"""

from dataclasses import dataclass
from decimal import Decimal

from bernstein_operator.api.choices import CapSource
from bernstein_operator.api.money import Money


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What was read; None where nothing is said, or nothing that can be used.

    Attributes:
        run_config_usd: budget_usd of run_config.json.
        seed_usd: seed.budget_usd, budget_usd or budget of bernstein.yaml, the first that is said.
        max_agents: max_agents of bernstein.yaml.
        error_rate_high_percent: defaults.PARALLELISM.error_rate_high of bernstein.yaml, times 100.
        cpu_pause_threshold: defaults.PARALLELISM.cpu_pause_threshold: load average for each CPU, in percent.
        warnings: what can't be used, each with its source and key.
        unreadable: sources that can't be read at all: nobody knows whether they still say what they said.
    """

    run_config_usd: Money | None = None
    seed_usd: Money | None = None
    max_agents: int | None = None
    error_rate_high_percent: Decimal | None = None
    cpu_pause_threshold: Decimal | None = None
    warnings: tuple[str, ...] = ()
    unreadable: frozenset[CapSource] = frozenset()
