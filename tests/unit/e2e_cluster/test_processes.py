"""Real processes: they are ended when they are ours, and only then."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from e2e.cluster.api import wait_until
from e2e.cluster.daemons import Daemons, identify
from e2e.cluster.errors import ClusterError
from e2e.cluster.process import Children, run

FOR_EVER = ["sleep", "1000"]
STARTS_A_CHILD = """\
import sys
from pathlib import Path
from e2e.cluster.process import Children
children = Children(Path(sys.argv[1]))
children.start("sleeper", ["sleep", "1000"])
print(children.pid("sleeper"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def daemons(tmp_path: Path) -> Iterator[Daemons]:
    """Detached processes that end with the test."""
    daemons = Daemons(records=tmp_path / "records", logs=tmp_path / "logs")
    yield daemons
    for name in daemons.names():
        daemons.stop(name)


def test_a_daemon_runs_until_it_is_stopped(daemons: Daemons) -> None:
    daemons.start("sleeper", FOR_EVER)
    assert daemons.running("sleeper")
    daemons.stop("sleeper")
    assert not daemons.running("sleeper")
    assert daemons.names() == []


def test_a_daemon_that_ended_is_not_running_and_leaves_its_last_words(daemons: Daemons) -> None:
    daemons.start("talker", ["sh", "-c", "echo last words; exit 3"])
    wait_until(lambda: not daemons.running("talker"), what="the end", seconds=20)
    assert daemons.tail("talker") == "last words"


@pytest.mark.parametrize(
    "difference",
    [
        pytest.param({"start_ticks": 1}, id="a pid that was given out again"),
        pytest.param({"boot": "another"}, id="a record from before a reboot"),
    ],
)
def test_the_process_of_somebody_else_is_never_signalled(
    daemons: Daemons, difference: dict[str, int]
) -> None:
    with subprocess.Popen(FOR_EVER) as foreign:
        try:
            identity = identify(foreign.pid)
            assert identity is not None
            daemons.records.mkdir()
            record = asdict(replace(identity, **difference))  # type: ignore[arg-type]
            (daemons.records / "sleeper.json").write_text(json.dumps(record))
            daemons.stop("sleeper")
            assert foreign.poll() is None
        finally:
            foreign.kill()


def test_children_die_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_A_CHILD, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert identify(child) is not None
        parent.kill()
    wait_until(lambda: identify(child) is None, what="the child's end", seconds=20)


def test_a_child_that_ends_is_reported_with_its_last_words(tmp_path: Path) -> None:
    children = Children(tmp_path)
    children.start("talker", ["sh", "-c", "echo last words; exit 3"])
    with pytest.raises(ClusterError, match=r"talker ended with 3:\nlast words"):
        wait_until(lambda: False, what="nothing", seconds=20, alive=children.check)
    children.kill_all()


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(ClusterError, match=r"sh -c echo why >&2; exit 4 ended with 4: why"):
        run("sh", "-c", "echo why >&2; exit 4")
