"""How much memory an agent container gets, and how much more after it was killed for too little.

Kubernetes writes amounts as text with a suffix. They are computed in whole bytes, so that a maximum is met
exactly and the same failure always leads to the same amount.
"""

import re
from fractions import Fraction
from typing import Final

from bernstein_operator.api.profile import AgentProfileSpec, MemoryGrowth, Resources

DEFAULT_LIMIT: Final = "1Gi"
"""Where a profile says nothing of memory."""
LARGEST: Final = 2**63 - 1
"""Kubernetes holds no amount above it."""
_FORM: Final = re.compile(r"([0-9.]+)(?:([KMGTPE]i|[numkMGTPE])|[eE]([-+]?[0-9]+))?")
_BINARY: Final = {f"{prefix}i": 1024**power for power, prefix in enumerate("KMGTPE", start=1)}
_DECIMAL: Final = {prefix: 1000**power for power, prefix in enumerate("kMGTPE", start=1)}
_SMALL: Final = {"m": Fraction(1, 10**3), "u": Fraction(1, 10**6), "n": Fraction(1, 10**9)}
_LONGEST_EXPONENT: Final = 60
"""More digits than any amount can have; what is above must not be computed with."""


def in_bytes(quantity: str) -> int:
    """Return a quantity as Kubernetes rounds it: up to whole bytes, at most 2^63 - 1.

    Raises:
        ValueError: it isn't a quantity; the API's models let none in that isn't.
    """
    form = _FORM.fullmatch(quantity)
    if not form:
        raise ValueError(f"{quantity!r} is no quantity")
    number, suffix, exponent = form.groups()
    power = max(-_LONGEST_EXPONENT, min(int(exponent or 0), _LONGEST_EXPONENT))
    factor = {**_BINARY, **_DECIMAL, **_SMALL}.get(suffix, 1) if suffix else Fraction(10) ** power
    return min(_up(Fraction(number) * factor), LARGEST)


def as_quantity(amount: int) -> str:
    """Return whole bytes in the largest unit that holds them exactly."""
    units = {**_DECIMAL, **_BINARY}
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
