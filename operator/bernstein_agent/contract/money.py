"""US dollars as whole micro-dollars.

Amounts are added up and compared with limits, which binary fractions get wrong, so an amount is an integer
inside and decimal text at the border. What isn't a plain amount is refused rather than guessed.
"""

import re
from decimal import Decimal
from typing import Final

MICROS_PER_DOLLAR: Final = 1_000_000
DOLLARS_PATTERN: Final = r"^[0-9]{1,9}(\.[0-9]{1,6})?$"
_AMOUNT: Final = re.compile(DOLLARS_PATTERN, re.ASCII)
_SHOWN: Final = 40


def parse_dollars(value: object) -> int:
    """Return micro-dollars from text such as ``"12.50"`` or from a whole number of dollars.

    Raises:
        ValueError: negative, nan, inf, a binary float, more than six places, above 999999999, other text.
    """
    text = str(value)
    exact = isinstance(value, int | str) and not isinstance(value, bool)
    if not exact or not _AMOUNT.fullmatch(text):
        raise ValueError(f"{text[:_SHOWN]!r} is no amount of dollars (text like '12.50', at most six places)")
    return int(Decimal(text) * MICROS_PER_DOLLAR)


def dollars_text(micros: int) -> str:
    """Return an amount as shortest decimal text: 1250000 micro-dollars as ``"1.25"``.

    Raises:
        ValueError: the amount is negative.
    """
    if micros < 0:
        raise ValueError(f"an amount can't be negative: {micros} micro-dollars")
    whole, rest = divmod(micros, MICROS_PER_DOLLAR)
    places = f"{rest:06d}".rstrip("0")
    return f"{whole}.{places}" if places else str(whole)
