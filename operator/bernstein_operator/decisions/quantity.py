"""Kubernetes quantities as exact numbers.

``kubernetes.utils.parse_quantity`` takes NaN, signs and exponents of any size, and decisions don't import the
client. A threshold must be met exactly, so nothing here is rounded.
"""

import re
from fractions import Fraction
from typing import Final

BINARY: Final = {f"{prefix}i": 1024**power for power, prefix in enumerate("KMGTPE", start=1)}
DECIMAL: Final = {prefix: 1000**power for power, prefix in enumerate("kMGTPE", start=1)}
_SMALL: Final = {"m": Fraction(1, 10**3), "u": Fraction(1, 10**6), "n": Fraction(1, 10**9)}
_FACTORS: Final = {**BINARY, **DECIMAL, **_SMALL}
_FORM: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(?:([KMGTPE]i|[numkMGTPE])|[eE]([-+]?[0-9]+))?")
_LONGEST_EXPONENT: Final = 60
"""More digits than any amount can have; what is above must not be computed with."""


def exact(quantity: str) -> Fraction:
    """Return a quantity's number: "250m" is 1/4, "1Ki" 1024, "3n" 3/1000000000.

    Raises:
        ValueError: it isn't a quantity, or has a sign; the API's models let none in that is so.
    """
    form = _FORM.fullmatch(quantity)
    if not form:
        raise ValueError(f"{quantity!r} is no quantity")
    number, suffix, exponent = form.groups()
    power = max(-_LONGEST_EXPONENT, min(int(exponent or 0), _LONGEST_EXPONENT))
    return Fraction(number) * (_FACTORS[suffix] if suffix else Fraction(10) ** power)
