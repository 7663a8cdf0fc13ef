"""Writes ``docs/reference/cli.md`` from the commands themselves: ``python docs/cli_reference.py``.

What ``--help`` says and what the page says is one text. The test ``tests/unit/docs/test_cli_reference.py``
compares the committed page with a fresh one.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from kubectl_bernstein.cli import PROGRAM, cli
from kubectl_bernstein.session import COMMON

PAGE: Final = Path(__file__).parent / "reference" / "cli.md"
_HEAD: Final = """# kubectl bernstein

<!-- Made by `make docs` from operator/kubectl_bernstein; change that instead. -->

A plugin of kubectl for what takes more than one object to answer. It reads with your own credentials, as
kubectl does, and writes what kubectl would write; `kubectl get`, `annotate` and `patch` stay as good.

```
pip install '.[plugin]'        # in a checkout: puts kubectl-bernstein on the PATH, where kubectl finds it
kubectl bernstein status
```

Any failure is one line on stderr and exit code 1. In a pipe a table's row is one line without colour. An
order (`cancel`, `pause`, `drain` and so on) may be repeated: it then changes nothing and says so; only
`retry` is new each time. What orders do is in [commands](../concepts/commands.md). RUN and TASK are names of
objects; TASK may also be the name that `dependsOn` uses, where only one run has it.

Kubernetes' own role `view` is enough for what shows, `edit` for orders: the chart adds its kinds to both.
"""


def page() -> str:
    """Return the whole page."""
    own = (line for name, one in commands(cli) for line in _command(name, one))
    return "\n".join((_HEAD, *_commons(), *own))


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its words; of a group what is in it."""
    for name, command in group.commands.items():
        words = f"{before} {name}".strip()
        if isinstance(command, click.Group):
            yield from commands(command, words)
        else:
            yield words, command


def _commons() -> Iterator[str]:
    yield "## Options of every command\n"
    yield "Before or behind the command's name; `logs` and `completion` know no output format.\n"
    yield from _table(one for one in _options(cli) if one.name in COMMON)


def _command(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"{PROGRAM} {name}")
    usage = (" ".join(piece.split()) for piece in command.collect_usage_pieces(context))
    yield f"## {name}\n"
    yield f"```\n{context.command_path} {' '.join(usage)}\n```\n"
    for paragraph in (command.help or "").split("\n\n"):
        yield f"{' '.join(paragraph.split())}\n"
    own = [one for one in _options(command) if one.name not in COMMON]
    if own:
        yield from _table(own)


def _options(command: click.Command) -> Iterator[click.Option]:
    return (one for one in command.params if isinstance(one, click.Option))


def _table(options: Iterable[click.Option]) -> Iterator[str]:
    yield "| option | meaning |\n|---|---|"
    for option in options:
        names, meaning = option.get_help_record(click.Context(cli)) or ("", "")
        yield f"| `{names.replace('|', chr(92) + '|')}` | {meaning} |"
    yield ""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
