"""Command line of the harness: `python -m e2e.cluster build|up|down|find|base-image`.

stdout carries results only (paths), stderr the progress, so that `KUBECONFIG=$(make cluster)` works.
"""

import argparse
import sys
from collections.abc import Sequence

from e2e.cluster import lookup
from e2e.cluster.build import build
from e2e.cluster.errors import ClusterError
from e2e.cluster.images import base_image
from e2e.cluster.local import FAKE_NODES
from e2e.cluster.progress import say


def main(arguments: Sequence[str]) -> int:
    """Run one command; 0, or 1 with the reason on stderr."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except ClusterError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; run it again to go on, or `make cluster-down`")
        return 130
    return 0


def _run(options: argparse.Namespace) -> None:
    match options.command:
        case "build":
            _print(*build(options.tools))
        case "up":
            _print(lookup.up(fake_nodes=options.fake_nodes).kubeconfig)
        case "find":
            _print(lookup.find().kubeconfig)
        case "base-image":
            image = base_image()
            _print(image.ref, image.archive)
        case _:
            lookup.down()


def _print(*results: object) -> None:
    for result in results:
        print(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m e2e.cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build", help="build the tools that are missing; print their paths")
    command.add_argument("tools", nargs="*", help="names of tools (default: all)")
    command = commands.add_parser("up", help="find or start a cluster; print its kubeconfig's path")
    command.add_argument("--fake-nodes", type=int, default=FAKE_NODES)
    commands.add_parser("find", help="print the kubeconfig's path of a running cluster")
    commands.add_parser("down", help="take away every cluster that this harness started")
    commands.add_parser("base-image", help="make the base image; print its name and its archive's path")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
