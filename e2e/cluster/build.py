"""Builds the cluster's tools from their pinned Go modules, each one once a machine.

A cold build of everything takes most of an hour on two cores and more than ten gigabytes, most of it for
compiled packages that nobody needs afterwards. So: the disk is checked before anything starts, the Go caches
live in one folder of our own that a finished build deletes and an interrupted one finds again, a binary
appears in its place at once or not at all, and a lock keeps a second caller waiting instead of building.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.cluster.cache import cache_folder, exclusive
from e2e.cluster.catalogue import TOOLS, Tool, tool
from e2e.cluster.errors import ClusterError
from e2e.cluster.process import dies_with_parent
from e2e.cluster.progress import say

KEEP_CACHE_VARIABLE = "BERNSTEIN_KEEP_BUILD_CACHE"
_HEARTBEAT_SECONDS = 30.0
_MEGABYTE = 1024 * 1024


def build(names: Sequence[str] = ()) -> list[Path]:
    """Build the named tools (all without a name) that are missing; return their paths in building order.

    Raises ClusterError for an unknown tool, a missing Go, too little disk or a failed build.
    """
    wanted = in_order(names)
    if _missing(wanted):
        lock = cache_folder() / "build.lock"
        # Whoever builds everything begins with what we may be waiting for: go on as soon as that is there.
        with exclusive(lock, purpose="building the cluster's tools", unless=lambda: not _missing(wanted)):
            _build_missing(_missing(wanted))
    return [item.path for item in wanted]


def in_order(names: Sequence[str]) -> list[Tool]:
    """The tools of these names in the order in which they are needed; all tools for no name."""
    chosen = {tool(name).name for name in names} or {item.name for item in TOOLS}
    return [item for item in TOOLS if item.name in chosen]


def check_disk(tools: Sequence[Tool], *, free_mb: int, folder: Path) -> None:
    """Raise ClusterError, naming needed and free space, when the builds of `tools` may not fit."""
    needed_mb = sum(item.disk_mb for item in tools)
    if free_mb < needed_mb:
        names = ", ".join(item.name for item in tools)
        raise ClusterError(f"building {names} needs {needed_mb} MB below {folder}, free are {free_mb} MB")


def link_flags(item: Tool) -> str:
    """The linker flags: stripped, and for Kubernetes the version that the API server reports."""
    if item.folder != "kubernetes":
        return "-s -w"
    major, minor, _ = item.version.removeprefix("v").split(".")
    stamps = {"gitVersion": item.version, "gitMajor": major, "gitMinor": minor}
    return "-s -w " + " ".join(
        f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items()
    )


def _missing(tools: Sequence[Tool]) -> list[Tool]:
    return [item for item in tools if not item.path.exists()]


def _build_missing(tools: Sequence[Tool]) -> None:
    if not tools:
        return
    if shutil.which("go") is None:
        raise ClusterError("building the cluster's tools needs Go (https://go.dev/dl) on the PATH")
    scratch = cache_folder() / "build"
    scratch.mkdir(parents=True, exist_ok=True)
    check_disk(tools, free_mb=shutil.disk_usage(scratch).free // _MEGABYTE, folder=scratch)
    for number, item in enumerate(tools, start=1):
        _build_one(item, scratch, position=f"{number} of {len(tools)}")
    if os.environ.get(KEEP_CACHE_VARIABLE) != "1":
        shutil.rmtree(scratch)


def _build_one(item: Tool, scratch: Path, *, position: str) -> None:
    say(f"building {item.name} {item.version} ({position})")
    begin = time.monotonic()
    item.path.parent.mkdir(parents=True, exist_ok=True)
    partial = item.path.with_suffix(".partial")
    command = ["go", "build", "-trimpath", "-ldflags", link_flags(item), "-o", str(partial), item.package]
    process = subprocess.Popen(
        dies_with_parent(command),
        cwd=item.module,
        env=_go_environment(os.environ, scratch),
        stdout=subprocess.DEVNULL,
    )
    while _runs(process):
        say(f"still building {item.name} ({position}), {time.monotonic() - begin:.0f} s so far")
    if process.returncode:
        raise ClusterError(f"go build of {item.name} ended with {process.returncode}; its output is above")
    partial.replace(item.path)
    say(f"built {item.name} in {time.monotonic() - begin:.0f} s ({position})")


def _runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_HEARTBEAT_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _go_environment(environment: Mapping[str, str], scratch: Path) -> dict[str, str]:
    # GOTMPDIR too: the temporary folder is often a small memory file system.
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    own = {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-buildvcs=false -modcacherw -mod=readonly",
        "GOWORK": "off",
        "GOCACHE": str(scratch / "cache"),
        "GOMODCACHE": str(scratch / "modules"),
        "GOTMPDIR": str(temporary),
    }
    return {**environment, **own}
