"""The reference of the commands is made from them; the committed page is the one that they make."""

import re
from pathlib import Path

import click
import pytest

from docs.cli_reference import PAGE, commands, page
from kubectl_bernstein.answers import remedies
from kubectl_bernstein.cli import cli
from tests.support.documents import ROOT, documents


def test_the_committed_page_is_what_the_commands_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_command_has_its_section_and_every_option_its_help() -> None:
    text = page()
    for name, command in commands(cli):
        assert f"## {name}\n" in text
        assert command.help
        assert all(one.help for one in command.params if isinstance(one, click.Option))


@pytest.mark.parametrize(
    "path", [*documents(), Path(remedies.__file__)], ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_command_that_is_named_exists(path: Path) -> None:
    named = re.findall(r"kubectl bernstein ([a-z]+)", path.read_text(encoding="utf-8"))
    assert {*named} <= {*cli.commands}


def test_commands_of_a_group_are_named_with_it() -> None:
    assert {"abandonments list", "abandonments stats", "why"} <= dict(commands(cli)).keys()
