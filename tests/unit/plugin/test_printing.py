"""What arrives in a pipe and on a terminal."""

import io
import json

import pytest

from kubectl_bernstein.printing import show
from kubectl_bernstein.views.view import Forest, Line, Node, Prose, Rows, Table, View

LONG = "x" * 300


class Terminal(io.StringIO):
    """A stream that says that people watch."""

    def isatty(self) -> bool:
        return True


def printed(shown: Table | Rows | Forest | Prose, *, as_json: bool = False) -> str:
    out = io.StringIO()
    show(View({"key": "wert ä"}, shown), as_json=as_json, out=out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        pytest.param(
            Table(("TASK", "PHASE"), (("a", "Failed"), ("long-name", "")), "none"),
            "TASK       PHASE\na          Failed\nlong-name\n",
            id="a table",
        ),
        pytest.param(Table(("TASK",), (), "There is none."), "There is none.\n", id="an empty table"),
        pytest.param(
            Rows((("a", "b c"), ("", "two\nlines\tof [bold]")), "none"),
            "a\tb c\n\ttwo lines of [bold]\n",
            id="rows with tabs",
        ),
        pytest.param(Rows((), "There is none."), "There is none.\n", id="no rows"),
        pytest.param(
            Forest("r", (Node("c", ("c", "Failed"), "a"), Node("a", ("a",)), Node("b", ("b",)))),
            "r\n├── a\n│   └── c  Failed\n└── b\n",
            id="a forest, in any order",
        ),
        pytest.param(
            Prose((Line("a [bold] :smile:"), Line("b", 2), Line(""), Line("c"))),
            "a [bold] :smile:\n    b\n\nc\n",
            id="prose, word for word",
        ),
        pytest.param(Prose((Line(LONG),)), f"{LONG}\n", id="a long line stays one"),
        pytest.param(Table(("A", "B"), ((LONG, "b"),), ""), f"A{' ' * 301}B\n{LONG}  b\n", id="a wide table"),
    ],
)
def test_what_arrives_in_a_pipe(shown: Table | Rows | Forest | Prose, text: str) -> None:
    assert printed(shown) == text


def test_json_is_the_data() -> None:
    assert json.loads(printed(Prose(()), as_json=True)) == {"key": "wert ä"}


def test_a_terminal_gets_colours_and_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    rows = (("a", "Failed"), (LONG, "Running"))
    show(View({}, Table(("TASK", "PHASE"), rows, "")), as_json=False, out=out)
    assert "\x1b[31mFailed" in out.getvalue()
    assert len(out.getvalue().splitlines()) > 8
