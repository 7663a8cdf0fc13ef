"""What a command has to show, before anybody decides how: as JSON, and as one of five shapes for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads; ``empty`` is said where there is no row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows for cut and awk, a tab between two cells; ``empty`` is said where there is no row."""

    rows: tuple[tuple[str, ...], ...]
    empty: str


@dataclass(frozen=True, slots=True)
class Node:
    """A line of a forest: its cells, and the node that it hangs from (None: a root)."""

    name: str
    cells: tuple[str, ...]
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees under a title; a parent stands before or after its children."""

    title: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of prose, so many steps to the right."""

    text: str
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Prose:
    """Lines, one below the other; an empty one separates."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What a command shows: ``data`` as JSON, ``shown`` to people."""

    data: Json
    shown: Table | Rows | Forest | Prose
