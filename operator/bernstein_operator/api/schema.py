"""CRDs from the pydantic models: ``python -m bernstein_operator.api.schema --output crds``.

The API server takes "structural" schemas only: no references, no unions, a type on every node. Pydantic
writes all of these, so each is rewritten where there is one right way and refused, with its path, where
there isn't. A value without a bound is refused too: the cost of a CEL rule is estimated from bounds, and
an object must fit into etcd.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel

from bernstein_operator.api.base import INT_OR_STRING, VALIDATIONS
from bernstein_operator.api.kinds import KINDS, UNSEEN, Column, Kind
from bernstein_operator.api.names import GROUP, VERSION

JsonObject = dict[str, Any]

CATEGORY: Final = "bernstein"
_HEADER: Final = "# Made by `make crds` from the models in operator/bernstein_operator/api; change those.\n"
_DROPPED: Final = frozenset({"title", "$defs", "default", "anyOf", "$ref"})
_KEPT: Final[tuple[str, ...]] = (
    *("description", "type", INT_OR_STRING, "format", "enum", "pattern", "minimum", "maximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "maxProperties"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "required"),
    *("properties", "items", "additionalProperties", VALIDATIONS),
)
"""Every keyword that may come out, in the order in which a reader wants them."""
_MAP: Final = "map"
_BOUNDS: Final[Mapping[str, tuple[str, ...]]] = {
    "integer": ("minimum", "maximum"),
    "string": ("maxLength",),
    "array": ("maxItems",),
    _MAP: ("maxProperties",),
    INT_OR_STRING: ("minimum", "maxLength", "pattern"),
}


class SchemaError(Exception):
    """A model that can't become a structural, bounded schema; the text begins with the field's path."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a model the walk is: definitions at hand, path for error texts, references being inlined."""

    definitions: Mapping[str, JsonObject]
    path: str
    with_defaults: bool
    open_references: tuple[str, ...] = ()

    def below(self, step: str) -> "_Place":
        return replace(self, path=f"{self.path}{step}")

    def inside(self, reference: str) -> "_Place":
        if reference in self.open_references:
            raise self.error(f"{reference} contains itself, and a CRD has no references")
        return replace(self, open_references=(*self.open_references, reference))

    def error(self, text: str) -> SchemaError:
        return SchemaError(f"{self.path}: {text}")


def structural(model: type[BaseModel], *, root: str, with_defaults: bool = True) -> JsonObject:
    """Return the structural schema of ``model``; ``root`` is its name in error texts.

    ``with_defaults`` writes the models' own scalar defaults into the schema, so that a stored object shows
    them. Empty, false and null ones mean the same as an absent field and are never written.

    Raises:
        SchemaError: recursion, a union, a node without type, an unknown keyword, or a missing bound.
    """
    schema = model.model_json_schema(by_alias=True)
    place = _Place(definitions=schema.get("$defs", {}), path=root, with_defaults=with_defaults)
    return _node(schema, place)


def _node(raw: JsonObject, place: _Place) -> JsonObject:
    node, place = _resolved(raw, place)
    unknown = node.keys() - {*_KEPT} - _DROPPED
    if unknown:
        raise place.error(f"not allowed in a structural schema: {', '.join(sorted(unknown))}")
    result = {key: node[key] for key in _KEPT if key in node}
    _require_type_and_bounds(result, place)
    if place.with_defaults and node.get("default") and not isinstance(node["default"], dict | list):
        result["default"] = node["default"]
    return {**result, **_children(result, place)}


def _resolved(raw: JsonObject, place: _Place) -> tuple[JsonObject, _Place]:
    """Put referenced and optional schemas in place; what stands beside a reference wins over its target."""
    node = dict(raw)
    while "$ref" in node or "anyOf" in node:
        if "$ref" in node:
            name = node.pop("$ref").rpartition("/")[2]
            place = place.inside(name)
            node = {**place.definitions[name], **node}
        else:
            node = {**_only_alternative(node.pop("anyOf"), place), **node}
    return node, place


def _only_alternative(alternatives: list[JsonObject], place: _Place) -> JsonObject:
    """An optional field is one that may be absent: null is no value of its own in a manifest."""
    values = [alternative for alternative in alternatives if alternative.get("type") != "null"]
    if len(values) != 1:
        raise place.error("a union of several types")
    return values[0]


def _require_type_and_bounds(node: JsonObject, place: _Place) -> None:
    kind = _kind(node)
    if kind is None:
        raise place.error("no type")
    if kind == "number":
        raise place.error("a binary fraction; use Money, Quantity or a whole number")
    if "enum" in node or "format" in node:
        return
    missing = [bound for bound in _BOUNDS.get(kind, ()) if bound not in node]
    if missing:
        raise place.error(f"no bound: {', '.join(missing)}")


def _kind(node: JsonObject) -> str | None:
    if node.get(INT_OR_STRING):
        return INT_OR_STRING
    return _MAP if "additionalProperties" in node else node.get("type")


def _children(node: JsonObject, place: _Place) -> JsonObject:
    children: JsonObject = {}
    if "properties" in node:
        children["properties"] = {
            name: _node(child, place.below(f".{name}")) for name, child in node["properties"].items()
        }
    if "items" in node:
        children["items"] = _node(node["items"], place.below("[]"))
    if "additionalProperties" in node:
        children["additionalProperties"] = _node(node["additionalProperties"], place.below("{}"))
    return children


def crd(kind: Kind) -> JsonObject:
    """Return the CustomResourceDefinition of ``kind``."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": [kind.short_name],
                "categories": [CATEGORY],
            },
            "versions": [_version(kind)],
        },
    }


def _version(kind: Kind) -> JsonObject:
    version: JsonObject = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
    }
    if kind.status:
        version["subresources"] = {"status": {}}
    if kind.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in kind.selectable_fields]
    return {**version, "schema": {"openAPIV3Schema": _root(kind)}}


def _column(column: Column) -> JsonObject:
    described: JsonObject = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**described, "priority": column.priority} if column.priority else described


def _root(kind: Kind) -> JsonObject:
    properties: JsonObject = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": structural(kind.spec, root="spec"),
    }
    if kind.status:
        properties["status"] = {
            **structural(kind.status, root="status", with_defaults=False),
            **({"default": dict(UNSEEN)} if kind.has_phase else {}),
        }
    root: JsonObject = {
        "type": "object",
        "description": kind.description,
        "required": ["spec"],
        "properties": properties,
    }
    return {**root, VALIDATIONS: [rule.as_schema() for rule in kind.rules]} if kind.rules else root


def documents() -> Iterator[tuple[str, str]]:
    """Yield file name and text of each CRD; the same text for the same models."""
    for kind in KINDS:
        text = yaml.safe_dump(crd(kind), sort_keys=False, width=100, allow_unicode=True)
        yield f"{kind.plural}.yaml", _HEADER + text


def main() -> None:
    """Write the CRDs into the folder that ``--output`` names."""
    parser = argparse.ArgumentParser(description="Write the CustomResourceDefinitions.")
    parser.add_argument("--output", type=Path, required=True, help="folder for the YAML files")
    output: Path = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    for name, text in documents():
        (output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
