"""How limits are written outside the API: in variables, flags, and the files of the Bernstein program.

There a budget may be ``5``, ``5.00`` or ``"$5"``. It is read as an exact decimal, never as a binary fraction,
and what isn't a number is refused: a typo must neither lift a limit nor set another one.
"""

from decimal import Decimal, InvalidOperation
from typing import Final

from bernstein_agent.contract.money import MICROS_PER_DOLLAR
from bernstein_operator.api.money import MAX_DOLLARS, Money, MoneyError

_SHOWN: Final = 40
_PLAIN: Final = (str, int, float, Decimal)


def number(value: object) -> Decimal:
    """Return an int, a ``Decimal`` or text as an exact number.

    Raises:
        ValueError: nan, inf, a truth value, text that is no number, a list or mapping.
    """
    try:
        found = Decimal(str(value).strip()) if isinstance(value, _PLAIN) else Decimal("NaN")
    except InvalidOperation:
        found = Decimal("NaN")
    if isinstance(value, bool) or not found.is_finite():
        raise ValueError(f"{shown(value)} is no number")
    return found


def shown(value: object) -> str:
    """Return a value as a message names it; only the kind of what isn't plain, since that may be endless."""
    return repr(str(value)[:_SHOWN]) if isinstance(value, _PLAIN) else f"a {type(value).__name__}"


def limit(value: object) -> Money:
    """Return a budget in dollars, with or without a dollar sign before it; 0 for 0 and for less.

    What 0 means is the source's to say.

    Raises:
        MoneyError: nan, inf, text, more than six places, above 999999999.
    """
    text = value.strip().removeprefix("$") if isinstance(value, str) else value
    try:
        dollars = number(text)
    except ValueError as error:
        raise MoneyError(f"{shown(value)} is no amount of dollars") from error
    if dollars <= 0:
        return Money()
    # Multiplied only where it is small enough to be.
    micros = dollars * MICROS_PER_DOLLAR if dollars <= MAX_DOLLARS else Decimal("NaN")
    if micros != micros.to_integral_value():
        raise MoneyError(f"{shown(value)} is above {MAX_DOLLARS} dollars or has more than six places")
    return Money(int(micros))
