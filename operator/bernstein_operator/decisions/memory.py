"""How much memory an agent container gets, and how much more after it was killed for too little.

Kubernetes writes amounts as text with a suffix. They are computed in whole bytes, so that a maximum is met
exactly and the same failure always leads to the same amount.
"""

from fractions import Fraction
from typing import Final

from bernstein_operator.api.profile import AgentProfileSpec, MemoryGrowth, Resources
from bernstein_operator.decisions.quantity import BINARY, DECIMAL, exact

DEFAULT_LIMIT: Final = "1Gi"
"""Where a profile says nothing of memory."""
LARGEST: Final = 2**63 - 1
"""Kubernetes holds no amount above it."""


def in_bytes(quantity: str) -> int:
    """Return a quantity as Kubernetes rounds it: up to whole bytes, at most 2^63 - 1.

    Raises:
        ValueError: it isn't a quantity; the API's models let none in that isn't.
    """
    return min(_up(exact(quantity)), LARGEST)


def as_quantity(amount: int) -> str:
    """Return whole bytes in the largest unit that holds them exactly."""
    units = {**DECIMAL, **BINARY}
    fitting = [(factor, unit) for unit, factor in units.items() if amount and amount % factor == 0]
    if not fitting:
        return str(amount)
    factor, unit = max(fitting)
    return f"{amount // factor}{unit}"


def memory_limit(resources: Resources) -> str:
    """Return the memory limit of an agent container: a request without a limit is its own limit."""
    limits, requests = resources.limits or {}, resources.requests or {}
    return limits.get("memory") or requests.get("memory") or DEFAULT_LIMIT


def raised(limit: str | None, profile: AgentProfileSpec) -> str | None:
    """Return ``limit`` where it is more than the profile's own, else None: the profile's will do."""
    own = memory_limit(profile.pod.resources)
    return limit if limit and in_bytes(limit) > in_bytes(own) else None


def grown(limit: str, growth: MemoryGrowth) -> str:
    """Return what follows ``limit`` after a kill: so many percent of it, up to the maximum, never less."""
    before, most = in_bytes(limit), in_bytes(growth.max)
    more = min(_up(Fraction(before * growth.percent, 100)), most)
    return as_quantity(more) if more > before else limit


def _up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)
