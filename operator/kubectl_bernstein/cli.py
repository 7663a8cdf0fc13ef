"""The commands: each reads once, asks a pure function, and prints or writes what that says."""

import os
import sys
from typing import Final

import click

from bernstein_agent.contract import AbandonReason
from bernstein_operator import __version__
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.pod import AGENT_CONTAINER, RUNNER_CONTAINER
from kubectl_bernstein import clock, orders
from kubectl_bernstein.abandonments import abandonments
from kubectl_bernstein.cluster import Cluster
from kubectl_bernstein.completion import SHELLS, VARIABLE, script
from kubectl_bernstein.errors import CommandError
from kubectl_bernstein.naming import find_run, find_target, find_task, pod_of
from kubectl_bernstein.orders import Order
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.session import Session, common, connected
from kubectl_bernstein.views.budget import budget_view
from kubectl_bernstein.views.order import order_view
from kubectl_bernstein.views.queue import queue_view
from kubectl_bernstein.views.status import runs_view
from kubectl_bernstein.views.tasks import tasks_view
from kubectl_bernstein.views.tree import tree_view
from kubectl_bernstein.views.why import why_view

PROGRAM: Final = "kubectl bernstein"
REASONS: Final = tuple(map(str, AbandonReason))
CONTAINERS: Final = (AGENT_CONTAINER, RUNNER_CONTAINER)
_INTERRUPTED: Final = 130


@click.group(invoke_without_command=True)
@click.version_option(__version__, message="%(version)s")
@common
def cli() -> None:
    """Runs of AI coding agents: how they stand, why, and what to tell them."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command()
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Runs of all namespaces.")
@common
def status(*, everywhere: bool) -> None:
    """Show the runs at a glance.

    LIVE is how many agents are at work of how many may be, DONE how many tasks have succeeded of all. SPENT
    is what they have cost in US dollars, BUDGET what they may; empty where nothing limits that.
    """
    session = Session.current()
    found = session.cluster().runs(everywhere=everywhere)
    session.show(runs_view(found, everywhere=everywhere, now=clock.now()))


@cli.command()
@click.argument("run", required=False)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Tasks of all namespaces.")
@common
def tasks(run: str | None, *, everywhere: bool) -> None:
    """Show the tasks of RUN, or of all runs.

    What a run says for all its tasks is applied. RETRIES is how many failures have counted of how many may.
    """
    if run and everywhere:
        raise CommandError("RUN names a run of one namespace: it can't go with --all-namespaces")
    session = Session.current()
    scene = session.cluster().scene(everywhere=everywhere)
    if run:
        scene = scene.within(find_run(scene, run))
    session.show(tasks_view(scene, everywhere=everywhere, now=clock.now()))


@cli.command()
@click.argument("run", required=False)
@common
def queue(run: str | None) -> None:
    """Show the tasks of RUN, or of all runs, that wait for nothing but a slot, in the order of their turns.

    Those that their role's ceiling lets pass stand at the end, without a position.
    """
    session = Session.current()
    scene = session.cluster().scene()
    if run:
        scene = scene.within(find_run(scene, run))
    session.show(queue_view(scene, now=clock.now()))


@cli.command()
@click.argument("run")
@common
def tree(run: str) -> None:
    """Show the dependency graph of RUN.

    Each task stands once, under the first of those it waits for, with its phase and the others.
    """
    session = Session.current()
    scene = session.cluster().scene()
    session.show(tree_view(scene, find_run(scene, run)))


@cli.command()
@click.argument("run")
@common
def budget(run: str) -> None:
    """Show what RUN may cost, has cost and may yet.

    And which of its tasks that went to, the dearest first.
    """
    session = Session.current()
    scene = session.cluster().scene()
    found = find_run(scene, run)
    session.show(budget_view(found, scene.tasks_of(found.meta.key), now=clock.now()))


@cli.command()
@click.argument("task")
@common
def why(task: str) -> None:
    """Say why TASK stands where it stands.

    And what would change it. What TASK waits for is followed through other tasks to where it begins.
    """
    session = Session.current()
    scene = session.cluster().scene()
    session.show(why_view(scene, find_task(scene, task), now=clock.now()))


@cli.command()
@click.argument("task")
@click.option("-f", "--follow", is_flag=True, help="Go on until the container ends.")
@click.option("--attempt", type=int, metavar="N", help="Which attempt (default: the latest).")
@click.option(
    "-c",
    "--container",
    type=click.Choice(CONTAINERS),
    default=CONTAINERS[0],
    show_default=True,
    help="Whose words.",
)
@connected
def logs(task: str, *, follow: bool, attempt: int | None, container: str) -> None:
    """Print what the agent of TASK has written."""
    cluster = Session.current().cluster()
    pod = pod_of(find_task(cluster.scene(), task), attempt)
    for piece in cluster.log(pod, container=container, follow=follow):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


@cli.command()
@click.argument("target", metavar="RUN|TASK")
@common
def cancel(target: str) -> None:
    """Cancel a run or a task, for good.

    Its live agents are stopped and nothing new starts. Where a run and a task have one name, say run/NAME
    or task/NAME.
    """
    cluster = Session.current().cluster()
    _carry_out(cluster, orders.cancel(find_target(cluster.scene(), target)))


@cli.command()
@click.argument("task")
@click.argument("reason", type=click.Choice(REASONS, case_sensitive=False))
@click.argument("detail", nargs=-1)
@common
def abandon(task: str, reason: str, detail: tuple[str, ...]) -> None:
    """Give TASK up, for good.

    Its agent is stopped, what depends on it is blocked, and a row of the ledger says who gave it up and why.
    The more precise the reason, the more its counts tell; DETAIL is free text.
    """
    cluster = Session.current().cluster()
    found = find_task(cluster.scene(), task)
    _carry_out(cluster, orders.abandon(found, AbandonReason(reason), " ".join(detail).strip()))


@cli.command()
@click.argument("task")
@click.argument("why", nargs=-1, required=True)
@common
def quarantine(task: str, why: tuple[str, ...]) -> None:
    """Let TASK not go on before somebody has looked.

    Its agent is stopped, and what depends on it waits. It is left by retry, cancel or abandon; WHY is for
    whoever looks.
    """
    cluster = Session.current().cluster()
    _carry_out(cluster, orders.quarantine(find_task(cluster.scene(), task), " ".join(why).strip()))


@cli.command()
@click.argument("task")
@click.argument("words", nargs=-1, required=True)
@common
def answer(task: str, words: tuple[str, ...]) -> None:
    """Answer what TASK asks.

    Another attempt goes on with question and answer in its prompt. What a task asks is told by why.
    """
    cluster = Session.current().cluster()
    _carry_out(cluster, orders.answer(find_task(cluster.scene(), task), " ".join(words).strip()))


@cli.command()
@click.argument("target", metavar="RUN|TASK")
@common
def retry(target: str) -> None:
    """Give a task that failed, asks or is in quarantine a fresh start.

    Its counters begin anew, its attempts go on counting. Of a run that holds for each such task, and a Failed
    one is reopened. A blocked task is looked at again.
    """
    cluster = Session.current().cluster()
    scene = cluster.scene()
    found = find_target(scene, target)
    run = scene.run_of(found) if isinstance(found, TaskObject) else found
    _carry_out(cluster, orders.retry(found, run, now=clock.now()))


@cli.command()
@click.argument("run")
@common
def drain(run: str) -> None:
    """Let the live agents of RUN finish and end it.

    Nothing new starts; once nothing is live, the run is Cancelled.
    """
    cluster = Session.current().cluster()
    _carry_out(cluster, orders.drain(_run(cluster, run)))


@cli.command()
@click.argument("run")
@common
def pause(run: str) -> None:
    """Let nothing new start in RUN.

    Live agents go on, and so do their timeouts.
    """
    cluster = Session.current().cluster()
    _carry_out(cluster, orders.pause(_run(cluster, run)))


@cli.command()
@click.argument("run")
@common
def resume(run: str) -> None:
    """Let RUN go on after a pause."""
    cluster = Session.current().cluster()
    _carry_out(cluster, orders.resume(_run(cluster, run)))


@cli.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a completion script.

    It completes kubectl-bernstein. The same behind kubectl needs nothing but kubectl's own completion: that
    asks the program kubectl_complete-bernstein, which is installed beside this one.
    """
    click.echo(script(cli, shell))


cli.add_command(abandonments)


def _run(cluster: Cluster, word: str) -> RunObject:
    return find_run(Scene.of(runs=cluster.runs()), word)


def _carry_out(cluster: Cluster, order: Order) -> None:
    cluster.carry_out(order)
    Session.current().show(order_view(order))


def run(arguments: list[str] | None = None) -> int:
    """Do what the command line says; returns the exit code, 1 with one line on stderr for any failure."""
    try:
        code = cli.main(arguments, prog_name=PROGRAM, complete_var=VARIABLE, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _failed(error.format_message())
    except CommandError as error:
        return _failed(str(error))
    except click.Abort:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read has seen enough; Python must not try to flush once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return int(code or 0)


def _failed(message: str) -> int:
    click.echo(f"error: {message}", err=True)
    return 1
