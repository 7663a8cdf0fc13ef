"""The generator: what it makes of a model, what it refuses, and that the committed files are its work."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from bernstein_operator.api.base import Model, Quantity, Rule, keyed_by
from bernstein_operator.api.money import Money
from bernstein_operator.api.schema import SchemaError, documents, structural
from tests.support.crd_fields import CRDS, definitions, nodes, rules

Text = Annotated[str, Field(max_length=9)]


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Inner(Model):
    """Something inside."""

    name: Text
    """What it is called."""


class Keyed(Model):
    entries: Annotated[tuple[Inner, ...], Field(max_length=3, json_schema_extra=keyed_by("name"))] = ()


class Ruled(Model):
    size: Text
    rules = (Rule(rule="self.size != ''", message="no size", field_path=".size"),)


class Recursive(Model):
    again: "Recursive | None" = None


def field(kind: Any, default: object = ...) -> dict[str, Any]:
    """Return the schema of a model's only field, called ``value``."""
    model = create_model("Holder", __base__=Model, value=(kind, default))
    schema: dict[str, Any] = structural(model, root="spec")["properties"]["value"]
    return schema


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        pytest.param(Text, ..., {"type": "string", "maxLength": 9}, id="bounded text"),
        pytest.param(
            Text | None, None, {"type": "string", "maxLength": 9}, id="optional is absent, not null"
        ),
        pytest.param(bool, False, {"type": "boolean"}, id="a false default says nothing"),
        pytest.param(Text, "x", {"type": "string", "maxLength": 9, "default": "x"}, id="a default that acts"),
        pytest.param(
            Size, Size.SMALL, {"type": "string", "enum": ["small", "large"], "default": "small"}, id="enum"
        ),
        pytest.param(
            Annotated[dict[str, Text], Field(max_length=2)],
            ...,
            {
                "type": "object",
                "maxProperties": 2,
                "additionalProperties": {"type": "string", "maxLength": 9},
            },
            id="map",
        ),
    ],
)
def test_a_field_becomes_structural(kind: object, default: object, expected: Mapping[str, object]) -> None:
    assert field(kind, default) == expected


@pytest.mark.parametrize("kind", [pytest.param(Money, id="money"), pytest.param(Quantity, id="quantity")])
def test_amounts_are_numbers_or_text(kind: object) -> None:
    schema = field(kind)
    assert schema["x-kubernetes-int-or-string"] is True
    assert "type" not in schema


def test_references_are_put_in_place() -> None:
    assert structural(Keyed, root="spec")["properties"]["entries"] == {
        "type": "array",
        "maxItems": 3,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "description": "Something inside.",
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"description": "What it is called.", "type": "string", "maxLength": 9}},
        },
    }


def test_rules_stand_on_their_model() -> None:
    assert structural(Ruled, root="spec")["x-kubernetes-validations"] == [
        {"rule": "self.size != ''", "message": "no size", "reason": "FieldValueInvalid", "fieldPath": ".size"}
    ]


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        pytest.param(str, "spec.value: no bound: maxLength", id="endless text"),
        pytest.param(int, "spec.value: no bound: minimum, maximum", id="endless number"),
        pytest.param(tuple[Text, ...], "spec.value: no bound: maxItems", id="endless list"),
        pytest.param(dict[str, Text], "spec.value: no bound: maxProperties", id="endless map"),
        pytest.param(float, "spec.value: a binary fraction", id="binary fraction"),
        pytest.param(Decimal, "spec.value: a union", id="decimal"),
        pytest.param(Text | bool, "spec.value: a union", id="union"),
        pytest.param(Any, "spec.value: no type", id="anything"),
        pytest.param(Literal["x"], "spec.value: not allowed in a structural schema: const", id="constant"),
        pytest.param(
            tuple[Text, Text], "spec.value: not allowed in a structural schema: prefixItems", id="pair"
        ),
        pytest.param(
            Annotated[int, Field(gt=0, le=9)],
            "spec.value: not allowed in a structural schema: exclusiveMinimum",
            id="exclusive bound",
        ),
        pytest.param(Recursive, "spec.value.again: Recursive contains itself", id="recursion"),
    ],
)
def test_what_can_not_become_structural_is_refused_with_its_path(kind: object, error: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        field(kind)
    assert str(refusal.value).startswith(error)


def test_the_place_of_a_fault_in_a_list_is_named() -> None:
    holder: type[BaseModel] = create_model(
        "Holder", value=(Annotated[tuple[str, ...], Field(max_length=1)], ...)
    )
    with pytest.raises(SchemaError, match=r"spec\.value\[\]: no bound"):
        structural(holder, root="spec")


def test_the_committed_crds_are_what_the_models_say() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in Path(CRDS).glob("*.yaml")}
    assert committed == dict(documents()), "run `make crds`"


def test_every_field_is_described() -> None:
    silent = [
        f"{node.kind}.{node.path}"
        for definition in definitions()
        for node in nodes(definition)
        if node.path and not node.path.endswith("[]") and not node.schema.get("description")
    ]
    assert silent == []


def test_every_rule_names_its_field_and_says_what_is_wrong() -> None:
    for node, rule in rules():
        assert rule["message"]
        assert rule["reason"].startswith("FieldValue")
        assert node.path or rule.get("fieldPath"), f"{rule['message']} names no field"
