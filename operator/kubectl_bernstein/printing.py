"""How a view gets onto the screen, or into a pipe.

In a terminal rich wraps and colours; in a pipe every row is one line, however long, without colour and
without blanks at its end, so that grep and awk can work on it as on kubectl's own tables.
"""

import json
from collections.abc import Mapping
from typing import Final, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text
from rich.tree import Tree

from bernstein_operator.api.vocabulary import TaskPhase
from kubectl_bernstein.views.view import Forest, Node, Prose, Rows, Table, View

_PIPE_WIDTH: Final = 10_000
_INDENT: Final = 2
_STYLES: Final[Mapping[str, str]] = {
    TaskPhase.RUNNING: "cyan",
    TaskPhase.SUCCEEDED: "green",
    TaskPhase.FAILED: "red",
    TaskPhase.ABANDONED: "red",
    TaskPhase.QUARANTINED: "yellow",
    TaskPhase.AWAITING_INPUT: "yellow",
    TaskPhase.BLOCKED_BY_FAILURE: "magenta",
    TaskPhase.BLOCKED_BY_ABANDON: "magenta",
    TaskPhase.CANCELLED: "dim",
}
"""Words that are coloured where a cell is nothing else; runs share them with tasks."""


def show(view: View, *, as_json: bool, out: TextIO) -> None:
    """Write ``view`` to ``out``."""
    if as_json:
        out.write(json.dumps(view.data, indent=2, ensure_ascii=False) + "\n")
        return
    if isinstance(view.shown, Rows) and view.shown.rows:
        out.writelines(f"{_tabbed(row)}\n" for row in view.shown.rows)
        return
    console = Console(file=out, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    with console.capture() as captured:
        for part in _parts(view):
            console.print(part)
    lines = captured.get().splitlines()
    out.write("".join(f"{line.rstrip()}\n" for line in lines))


def _parts(view: View) -> list[RenderableType]:
    match view.shown:
        case Table(rows=()) | Rows() as rows:
            return [rows.empty]
        case Table() as table:
            return [_table(table)]
        case Forest() as forest:
            return [_forest(forest)]
        case Prose(lines):
            return [Padding(Text(line.text), (0, 0, 0, line.indent * _INDENT)) for line in lines]


def _tabbed(row: tuple[str, ...]) -> str:
    """Return a row as one line: a cell's own line breaks and tabs become blanks."""
    return "\t".join(" ".join(cell.split()) for cell in row)


def _table(table: Table) -> RichTable:
    drawn = RichTable(box=None, pad_edge=False, padding=(0, _INDENT, 0, 0), header_style="")
    for head in table.heads:
        drawn.add_column(head, overflow="fold")
    for row in table.rows:
        drawn.add_row(*(_cell(cell) for cell in row))
    return drawn


def _forest(forest: Forest) -> Tree:
    root = Tree(Text(forest.title))
    trees = {node.name: Tree(_label(node)) for node in forest.nodes}
    for node in forest.nodes:
        above = trees.get(node.parent, root) if node.parent is not None else root
        above.children.append(trees[node.name])
    return root


def _label(node: Node) -> Text:
    return Text("  ").join(_cell(cell) for cell in node.cells)


def _cell(text: str) -> Text:
    return Text(text, style=_STYLES.get(text, ""))
