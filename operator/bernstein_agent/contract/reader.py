"""Reading JSON from the other side: every value is checked, and every refusal names its field.

The standard library has no validation, and the runner may use nothing else. This is the small part of it
that the contract needs: texts, whole numbers, objects and lists, each required or not.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Self, TypeVar

from bernstein_agent.contract.errors import ContractError
from bernstein_agent.contract.money import parse_dollars

T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)

MAX_COUNT: Final = 2**53
"""Every JSON reader keeps whole numbers exact up to here."""

_SHOWN: Final = 60


class Reader:
    """One JSON object and the path that leads to it. A field that is null counts as absent."""

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, dict):
            raise ContractError(path, "an object was expected")
        self._fields: Mapping[str, object] = value
        self._path = path

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a document.

        Raises:
            ContractError: it isn't JSON, or not an object.
        """
        try:
            return cls(json.loads(text, parse_constant=_refuse_constant))
        except ContractError:
            raise
        except (ValueError, RecursionError) as error:
            raise ContractError("", f"not JSON: {error}") from None

    def path(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self._path}.{name}" if self._path else name

    def fail(self, name: str, problem: str) -> ContractError:
        """Return the error that says what is wrong with a field."""
        return ContractError(self.path(name), problem)

    def get(self, name: str) -> object:
        """Return a field as it is, None where it is absent."""
        return self._fields.get(name)

    def optional(self, name: str, read: Callable[[str], T]) -> T | None:
        """Return what ``read`` makes of a field, None where it is absent."""
        return None if self.get(name) is None else read(name)

    def text(self, name: str, *, pattern: str = "", limit: int = MAX_COUNT, empty: bool = False) -> str:
        """Return a required text: not empty unless ``empty``, at most ``limit`` bytes of UTF-8."""
        value = self._required(name)
        if not isinstance(value, str):
            raise self.fail(name, "text was expected")
        if not value and not empty:
            raise self.fail(name, "must not be empty")
        if self._size(name, value) > limit:
            raise self.fail(name, f"more than {limit} bytes")
        if pattern and not re.fullmatch(pattern, value, re.ASCII):
            raise self.fail(name, f"{value[:_SHOWN]!r} does not match {pattern}")
        return value

    def word(self, name: str, vocabulary: type[Word]) -> Word:
        """Return a required word of a closed set."""
        text = self.text(name)
        for word in vocabulary:
            if word == text:
                return word
        raise self.fail(name, f"{text[:_SHOWN]!r} is none of {', '.join(vocabulary)}")

    def integer(self, name: str, *, least: int = 0, most: int = MAX_COUNT) -> int:
        """Return a required whole number."""
        value = self._required(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(name, "a whole number was expected")
        if not least <= value <= most:
            raise self.fail(name, f"{str(value)[:_SHOWN]} is not between {least} and {most}")
        return value

    def flag(self, name: str) -> bool:
        """Return an optional true or false; absent is false."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.fail(name, "true or false was expected")
        return bool(value)

    def dollars(self, name: str) -> int:
        """Return a required amount in micro-dollars."""
        try:
            return parse_dollars(self._required(name))
        except ValueError as error:
            if isinstance(error, ContractError):
                raise
            raise self.fail(name, str(error)) from None

    def moment(self, name: str) -> datetime:
        """Return a required RFC 3339 moment, in UTC."""
        text = self.text(name)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise self.fail(name, f"{text[:_SHOWN]!r} is no RFC 3339 moment") from None
        if moment.tzinfo is None:
            raise self.fail(name, f"{text[:_SHOWN]!r} has no time zone")
        return moment.astimezone(UTC)

    def child(self, name: str) -> "Reader":
        """Return a reader of a required object."""
        return Reader(self._required(name), self.path(name))

    def children(self, name: str) -> "list[Reader]":
        """Return readers of a list of objects; absent is empty."""
        return [Reader(item, f"{self.path(name)}[{index}]") for index, item in enumerate(self._list(name))]

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts without NUL characters; absent is empty."""
        found = self._list(name)
        for index, item in enumerate(found):
            if not isinstance(item, str) or "\0" in item:
                raise self.fail(f"{name}[{index}]", "text without NUL was expected")
        return tuple(str(item) for item in found)

    def _size(self, name: str, value: str) -> int:
        try:
            return len(value.encode())
        except UnicodeEncodeError:
            raise self.fail(name, "half of a surrogate pair is no Unicode text") from None

    def _list(self, name: str) -> list[object]:
        value = self.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fail(name, "a list was expected")
        return value

    def _required(self, name: str) -> object:
        value = self.get(name)
        if value is None:
            raise self.fail(name, "is missing")
        return value


def read_version(reader: Reader, supported_major: int) -> str:
    """Return the document's contractVersion, refusing every major version but ``supported_major``."""
    version = reader.text("contractVersion", pattern=r"^[0-9]{1,6}\.[0-9]{1,6}$")
    if int(version.partition(".")[0]) != supported_major:
        raise reader.fail("contractVersion", f"version {version} is not understood, only {supported_major}.x")
    return version


def _refuse_constant(name: str) -> object:
    raise ContractError("", f"not JSON: {name}")
