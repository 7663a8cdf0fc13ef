"""Walks the committed CRDs, so that a test can ask of *every* field what it asks.

Paths are written as the API server writes them, with ``[]`` for each entry of a list: ``spec.tasks[].name``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CRDS = Path(__file__).parents[2] / "crds"
VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True)
class SchemaNode:
    """One node of a kind's schema; ``path`` is empty for the root."""

    kind: str
    path: str
    schema: dict[str, Any]

    @property
    def is_leaf(self) -> bool:
        """Whether a manifest holds a value here and not a group of further fields."""
        inner = self.schema.get("items", self.schema)
        return "properties" not in inner and not self.path.endswith("[]")


def definitions(folder: Path = CRDS) -> list[dict[str, Any]]:
    """Return the CustomResourceDefinitions of the folder."""
    return [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))]


def nodes(definition: dict[str, Any]) -> Iterator[SchemaNode]:
    """Yield the root of a kind's schema and everything below its spec and status."""
    kind = definition["spec"]["names"]["kind"]
    root = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    yield SchemaNode(kind, "", root)
    parts = ((part, root["properties"].get(part)) for part in ("spec", "status"))
    for part, schema in parts:
        if schema:
            yield from _below(SchemaNode(kind, part, schema))


def leaves() -> Iterator[SchemaNode]:
    """Yield every field of every kind that holds a value."""
    for definition in definitions():
        yield from (node for node in nodes(definition) if node.is_leaf)


def rules() -> Iterator[tuple[SchemaNode, dict[str, str]]]:
    """Yield every CEL rule of every kind with the node that carries it."""
    for definition in definitions():
        for node in nodes(definition):
            for rule in node.schema.get(VALIDATIONS, ()):
                yield node, rule


def _below(node: SchemaNode) -> Iterator[SchemaNode]:
    yield node
    for name, child in node.schema.get("properties", {}).items():
        yield from _below(SchemaNode(node.kind, f"{node.path}.{name}", child))
    if "items" in node.schema:
        yield from _below(SchemaNode(node.kind, f"{node.path}[]", node.schema["items"]))
