"""The commands about what was given up: they read the ledger, which outlives the tasks that it is about."""

from itertools import islice

import click

from kubectl_bernstein.ledger import Row, of_run, read
from kubectl_bernstein.naming import name_of_run
from kubectl_bernstein.session import Session, common
from kubectl_bernstein.views.abandonments import list_view, stats_view

_everywhere = click.option(
    "-A", "--all-namespaces", "everywhere", is_flag=True, help="Those of all namespaces."
)
_run = click.option("--run", metavar="RUN", help="Those of one run, also of one that was deleted.")


@click.group()
@common
def abandonments() -> None:
    """Look into the ledger of what was given up."""


@abandonments.command("list")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="So many at most."
)
@_everywhere
@_run
@common
def list_(*, limit: int, everywhere: bool, run: str | None) -> None:
    """Show what was given up, newest first.

    Each row is UTC time, namespace (with --all-namespaces), run, task, role, reason, adapter, attempts, actor
    and detail, with a tab between them. As JSON it is the ledger's own.
    """
    session = Session.current()
    rows = tuple(islice(_rows(session, everywhere=everywhere, run=run), limit))
    session.show(list_view(rows, everywhere=everywhere))


@abandonments.command()
@_everywhere
@_run
@common
def stats(*, everywhere: bool, run: str | None) -> None:
    """Count what was given up, by reason, role and adapter.

    A rate is what was abandoned among what was abandoned or has succeeded. Rows outlive their tasks; of tasks
    that succeeded those count that are still there.
    """
    session = Session.current()
    rows = tuple(_rows(session, everywhere=everywhere, run=run))
    scene = session.cluster().scene(everywhere=everywhere)
    session.show(stats_view(rows, scene.of_runs_named(name_of_run(run)) if run else scene))


def _rows(session: Session, *, everywhere: bool, run: str | None) -> tuple[Row, ...]:
    name = name_of_run(run) if run else None
    segments = session.cluster().ledger(everywhere=everywhere, run=name)
    rows = read(segments, lambda said: click.echo(f"warning: {said}", err=True))
    return tuple(of_run(rows, name)) if name else rows
