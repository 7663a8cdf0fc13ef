"""The reference of the commands is made from them; the committed page is the one that they make."""

from docs.cli_reference import PAGE, page
from kubectl_bernstein.cli import cli


def test_the_committed_page_is_what_the_commands_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_command_has_its_section_and_every_option_its_help() -> None:
    text = page()
    for name, command in cli.commands.items():
        assert f"## {name}\n" in text
        assert command.help
        assert all(getattr(one, "help", "an argument") for one in command.params)
