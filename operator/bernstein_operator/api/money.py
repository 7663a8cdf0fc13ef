"""US dollars as whole micro-dollars.

Sums of binary fractions miss the limits that they are compared with (eight times 0.1 is under 0.8), so an
amount is an integer inside and a ``Decimal`` only at the border. The border refuses what isn't a plain
amount instead of guessing: the next source of a limit is then tried, and a report is thrown away. What an
amount looks like is the contract's to say, since agents report in the same form.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from bernstein_agent.contract.money import DOLLARS_PATTERN, MICROS_PER_DOLLAR, parse_dollars

MAX_DOLLARS: Final = 999_999_999


class MoneyError(ValueError):
    """A value that is no amount of dollars: negative, not finite, too fine, too large, or text."""


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """An amount of US dollars, never negative, exact to a millionth."""

    micros: int = 0

    def __post_init__(self) -> None:
        if self.micros < 0:
            raise MoneyError(f"an amount of dollars can't be negative: {self.micros} micro-dollars")

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read an amount in dollars as the API writes it: ``5``, ``"12.50"``, ``Decimal("0.000001")``.

        Raises:
            MoneyError: negative, nan, inf, a binary float, more than six places, above 999999999, text.
        """
        try:
            return cls(parse_dollars(format(value, "f") if isinstance(value, Decimal) else value))
        except ValueError as error:
            raise MoneyError(str(error)) from None

    @property
    def dollars(self) -> Decimal:
        """The amount as an exact decimal number of dollars."""
        return Decimal(self.micros) / MICROS_PER_DOLLAR

    def __add__(self, other: "Money") -> "Money":
        """Return the exact sum."""
        return Money(self.micros + other.micros)

    def __str__(self) -> str:
        """Return dollars with two to six places: ``0.10``, ``12.50``, ``0.000001``."""
        whole, part = divmod(self.micros, MICROS_PER_DOLLAR)
        return f"{whole}.{f'{part:06d}'.rstrip('0').ljust(2, '0')}"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let models read ``5`` and ``"12.50"`` and write text."""
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls.parse(value),
            serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="json"),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Bound both forms: the number by its size, the text by its pattern."""
        return {
            "x-kubernetes-int-or-string": True,
            "minimum": 0,
            "maximum": MAX_DOLLARS,
            "maxLength": 16,
            "pattern": DOLLARS_PATTERN,
        }
