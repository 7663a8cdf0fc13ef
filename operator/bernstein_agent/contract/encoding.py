"""From dataclasses to JSON: camelCase names, absent instead of null.

A field's JSON name is its own in camelCase unless its metadata gives another; the metadata may also give a
function that turns its value into JSON. The schema test reads the names from here too.
"""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"

_NAME: Final = "json_name"
_ENCODE: Final = "json_encode"


def spelled(name: str, encode: Callable[[int], str] | None = None) -> Mapping[str, object]:
    """Return metadata of a field that is called ``name`` in JSON."""
    return {_NAME: name, _ENCODE: encode}


def json_name(field: "dataclasses.Field[object]") -> str:
    """Return what a dataclass's field is called in JSON."""
    head, *rest = field.name.split("_")
    return str(field.metadata.get(_NAME) or head + "".join(part.capitalize() for part in rest))


def encode(value: object) -> Json:
    """Return ``value`` as JSON types; fields that are None are left out.

    Raises:
        TypeError: a type that the contract doesn't use.
    """
    if dataclasses.is_dataclass(value):
        return {json_name(field): _of(value, field) for field in _set_fields(value)}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, str):
        # Text from a program's output may hold lone surrogates, which no JSON in UTF-8 can.
        return str(value).encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return value
    raise TypeError(f"no JSON for {type(value).__name__}")


def _set_fields(value: object) -> "list[dataclasses.Field[object]]":
    fields = dataclasses.fields(value)  # type: ignore[arg-type]
    return [field for field in fields if getattr(value, field.name) is not None]


def _of(value: object, field: "dataclasses.Field[object]") -> Json:
    convert = field.metadata.get(_ENCODE)
    inner = getattr(value, field.name)
    return encode(convert(inner) if convert else inner)
