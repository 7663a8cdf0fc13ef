"""The ground that every API model stands on, and the types that several of them share.

A model is read far more often than written: each watch event of a task is parsed once. So models are
frozen, keep sequences as tuples, ignore fields of newer versions, and use no validator written in Python
where a bound says the same. The same bounds become the CRDs' schemas (``schema.py``), so the API server
refuses at apply what the operator could not use, and the operator still refuses what an older schema let in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

VALIDATIONS: Final = "x-kubernetes-validations"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_MAP_KEYS: Final = "x-kubernetes-list-map-keys"


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule of a CRD: what must hold, what the refused person reads, and which field it is about.

    ``field_path`` is relative to the schema that carries the rule, as ``.retry.limit``; empty means the
    carrier itself. ``reason`` is one of the API's FieldValueInvalid, FieldValueForbidden,
    FieldValueRequired and FieldValueDuplicate.
    """

    rule: str
    message: str
    field_path: str = ""
    reason: str = "FieldValueInvalid"

    def as_schema(self) -> dict[str, str]:
        """Return the entry for ``x-kubernetes-validations``."""
        entry = {"rule": self.rule, "message": self.message, "reason": self.reason}
        return {**entry, "fieldPath": self.field_path} if self.field_path else entry


def validated(*rules: Rule) -> dict[str, Any]:
    """Return ``json_schema_extra`` of a field that carries ``rules``."""
    return {VALIDATIONS: [rule.as_schema() for rule in rules]}


def keyed_by(key: str) -> dict[str, Any]:
    """Return ``json_schema_extra`` of a list whose entries are told apart by their field ``key``."""
    return {LIST_TYPE: "map", LIST_MAP_KEYS: [key]}


def unchanged(field: str) -> str:
    """Return the CEL expression "``field`` is as it was", absent or present.

    Written out, since an optional (``self.?x``) has no size that the API server could estimate a cost from.
    """
    new, old = f"self.{field}", f"oldSelf.{field}"
    return f"has({new}) == has({old}) && (!has({new}) || {new} == {old})"


ATOMIC: Final[dict[str, Any]] = {LIST_TYPE: "atomic"}
"""``json_schema_extra`` of a list that is always written as a whole."""


class Model(BaseModel):
    """An immutable part of an object, snake_case here and camelCase in the API."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )

    rules: ClassVar[tuple[Rule, ...]] = ()

    def manifest(self) -> dict[str, Any]:
        """Return the JSON object that the API takes: camelCase, moments as text, absent fields left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the class's CEL rules to its schema."""
        reference = handler(core_schema)
        if cls.rules:
            handler.resolve_ref_schema(reference)[VALIDATIONS] = [rule.as_schema() for rule in cls.rules]
        return reference


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


LABEL_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SUBDOMAIN_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
COMMIT_PATTERN: Final = r"^[0-9a-f]{40}([0-9a-f]{24})?$"
WORD_PATTERN: Final = r"^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$"
QUANTITY_PATTERN: Final = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?$"
DAY: Final = 86_400
MAX_DURATION: Final = 30 * DAY
"""Two of these still fit into a Pod's activeDeadlineSeconds (2147483647)."""
MAX_DEPENDENCIES: Final = 256
MAX_OBJECT_NAME: Final = 253

Moment = Annotated[AwareDatetime, PlainSerializer(_rfc3339, return_type=str, when_used="json")]
"""A point in time, always with its zone; RFC 3339 with ``Z`` in the API."""

DnsLabel = Annotated[str, Field(min_length=1, max_length=63, pattern=LABEL_PATTERN)]
ObjectName = Annotated[str, Field(min_length=1, max_length=MAX_OBJECT_NAME, pattern=SUBDOMAIN_PATTERN)]
Uid = Annotated[str, Field(max_length=128)]
Word = Annotated[str, Field(max_length=128, pattern=WORD_PATTERN)]
Message = Annotated[str, Field(max_length=1024)]
Branch = Annotated[str, Field(max_length=640)]
Commit = Annotated[str, Field(max_length=64, pattern=COMMIT_PATTERN)]
Counter = Annotated[int, Field(ge=0, le=1_000_000)]
Generation = Annotated[int, Field(ge=-1, le=2**53)]
Timeout = Annotated[int, Field(ge=1, le=MAX_DURATION)]
Wait = Annotated[int, Field(ge=0, le=MAX_DURATION)]
Quantity = Annotated[
    str,
    BeforeValidator(_number_as_text),
    Field(min_length=1, max_length=32, pattern=QUANTITY_PATTERN),
    WithJsonSchema({INT_OR_STRING: True, "minimum": 0, "maxLength": 32, "pattern": QUANTITY_PATTERN}),
]
"""A Kubernetes quantity that isn't negative, kept as text: ``"500m"``, ``"1Gi"``, ``2``."""

LabelValue = Annotated[str, Field(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]
Labels = Annotated[Mapping[str, LabelValue], Field(max_length=32)]
