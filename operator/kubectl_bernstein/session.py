"""What every command takes besides its own: where the cluster is, and how the answer is to look.

The options may stand before and behind the command's name, as kubectl's own; the later ones count.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Self, TypeAlias

import click

from kubectl_bernstein.cluster import Cluster
from kubectl_bernstein.printing import show
from kubectl_bernstein.views.view import View

COMMON: Final = ("namespace", "kube_context", "kubeconfig", "output")
"""Names of the options that every command takes."""
_Callback: TypeAlias = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Session:
    """One call of the program, with the common options that were given."""

    given: Mapping[str, str]

    @classmethod
    def current(cls) -> Self:
        """Return the session of the command that runs."""
        return cls(click.get_current_context().obj or {})

    def cluster(self) -> Cluster:
        """Read the kubeconfig; CommandError where it can't be used."""
        kubeconfig, context = self.given.get("kubeconfig"), self.given.get("kube_context")
        return Cluster(kubeconfig=kubeconfig, context=context, namespace=self.given.get("namespace"))

    def show(self, view: View) -> None:
        """Print a view as the user wants it."""
        show(view, as_json=bool(self.given.get("output")), out=sys.stdout)


def connected(command: _Callback) -> _Callback:
    """Give a command the options that say where the cluster is."""
    return _with(_PLACE, command)


def common(command: _Callback) -> _Callback:
    """The same and how the answer is to look."""
    return _with((*_PLACE, *_LOOK), command)


def _with(options: tuple[Callable[[_Callback], _Callback], ...], command: _Callback) -> _Callback:
    for option in reversed(options):
        command = option(command)
    return command


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None and parameter.name:
        # A new mapping: the group's own context must not learn what one of its commands was given.
        context.obj = {**(context.obj or {}), parameter.name: value}


_option = partial(click.option, expose_value=False, callback=_keep)

_PLACE: Final = (
    _option("-n", "--namespace", metavar="NAME", help="Namespace (default: the context's)."),
    _option("--context", "kube_context", metavar="NAME", help="Context of the kubeconfig."),
    _option("--kubeconfig", metavar="FILE", help="File to reach the cluster with (default: $KUBECONFIG)."),
)
_LOOK: Final = (
    _option("-o", "--output", type=click.Choice(["json"]), help="json: for programs."),
    _option("--json", "output", flag_value="json", help="The same as --output json."),
)
