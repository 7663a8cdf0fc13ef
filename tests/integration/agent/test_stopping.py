"""Agents that don't end by themselves: timeouts, Pods asked to stop, and what is left running or unsaved."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from bernstein_agent.contract import Reason, ResultClass
from tests.integration.agent.bench import Bench, envelope, repository, script
from tests.integration.agent.gitserver import Remote, free_port, serving

BRANCH = "bernstein/demo/build"
RESCUE = "bernstein/demo/build.rescue-1"


def running_with(marker: str) -> list[str]:
    """Return the command lines of living processes that have ``marker`` in their arguments."""
    found = []
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = cmdline.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            found.append(line)
    return found


@pytest.mark.parametrize(
    "hang", ["hang", "hang ignoring SIGTERM"], ids=["ends on SIGTERM", "ignores SIGTERM"]
)
def test_an_agent_past_its_timeout_is_stopped_and_its_work_saved(
    bench: Bench, remote: Remote, hang: str
) -> None:
    order = envelope(
        script("write done.py: 1", "commit Half of it", "write open.py: 2", hang),
        repo=repository(remote.url),
        timeout_seconds=2,
    )
    ended = bench.run(order)

    result = ended.result
    assert (result.result_class, result.reason) == (ResultClass.DEADLINE, Reason.DEADLINE_EXCEEDED)
    assert ended.exit_code == 1
    assert (result.message, result.rescue_branch) == ("stopped on its deadline after 2 s", RESCUE)
    assert {"done.py", "open.py"} <= remote.files(RESCUE)
    assert remote.log(RESCUE)[:2] == ["Unfinished work of build, attempt 1", "Half of it"]
    assert result.head_after == remote.log(RESCUE, "%H")[1]
    assert BRANCH not in remote.branches()


def test_a_clone_that_never_ends_is_a_deadline_when_the_attempt_is_over(
    bench: Bench, silent_server: str
) -> None:
    ended = bench.run(envelope(script("lazy"), repo=repository(silent_server), timeout_seconds=1))
    assert (ended.result.result_class, ended.result.exit_code) == (ResultClass.DEADLINE, None)


def test_a_git_server_that_never_answers_is_transient(bench: Bench, silent_server: str) -> None:
    order = envelope(script("lazy"), repo=repository(silent_server))
    ended = bench.run(order, flags=("--git-timeout-seconds", "1"))
    assert (ended.result.result_class, ended.result.reason) == (ResultClass.TRANSIENT, Reason.GIT_UNAVAILABLE)
    assert ended.result.message == "git gave no answer within 1 s"


@pytest.mark.parametrize(
    "hang", ["hang", "hang ignoring SIGTERM"], ids=["ends on SIGTERM", "ignores SIGTERM"]
)
def test_a_pod_that_is_stopped_saves_its_work_first(bench: Bench, remote: Remote, hang: str) -> None:
    order = envelope(script("write open.py: 2", hang), repo=repository(remote.url))
    with bench.running(order) as attempt:
        attempt.saw("hanging")
        ended = attempt.stopped_by_kubelet()
    result = ended.result
    assert (result.result_class, result.reason, ended.exit_code) == (
        ResultClass.DISRUPTION,
        Reason.TERMINATED,
        1,
    )
    assert result.rescue_branch == RESCUE
    assert remote.show(RESCUE, "open.py") == "2"


def test_a_pod_that_is_stopped_while_it_clones_ends_at_once(bench: Bench, silent_server: str) -> None:
    with bench.running(envelope(script("lazy"), repo=repository(silent_server))) as attempt:
        attempt.saw("cloning")
        ended = attempt.stopped_by_kubelet()
    assert (ended.result.result_class, ended.result.exit_code) == (ResultClass.DISRUPTION, None)


def test_a_stopped_pod_says_so_when_its_work_could_not_be_saved(bench: Bench, remote: Remote) -> None:
    remote.hook("pre-receive", "echo no; exit 1")
    with bench.running(envelope(script("write open.py: 2", "hang"), repo=repository(remote.url))) as attempt:
        attempt.saw("hanging")
        result = attempt.stopped_by_kubelet().result
    assert result.rescue_branch is None
    assert "its unfinished work could not be saved" in result.message


def test_a_stopped_pod_leaves_its_result_even_if_nothing_ends_by_itself(bench: Bench, remote: Remote) -> None:
    remote.hook("pre-receive", "sleep 60")
    order = envelope(script("write open.py: 2", "hang ignoring SIGTERM"), repo=repository(remote.url))
    with bench.running(order) as attempt:
        attempt.saw("hanging")
        result = attempt.stopped_by_kubelet().result
    assert (result.reason, result.rescue_branch) == (Reason.TERMINATED, None)
    assert "its unfinished work could not be saved in time" in result.message


def test_a_pod_that_is_stopped_while_it_pushes_gets_its_work_done(bench: Bench, remote: Remote) -> None:
    remote.hook("pre-receive", "sleep 2")
    order = envelope(script("write a.py: 1", "commit A"), repo=repository(remote.url))
    with bench.running(order) as attempt:
        attempt.saw("pushing")
        ended = attempt.stopped_by_kubelet()
    assert (ended.result.result_class, ended.exit_code) == (ResultClass.SUCCESS, 0)
    assert remote.branches()[BRANCH] == ended.result.head_after


def test_a_server_that_is_away_for_a_moment_does_not_cost_the_work(bench: Bench, tmp_path: Path) -> None:
    root, port = tmp_path / "served", free_port()
    root.mkdir()
    with ExitStack() as attempts:
        with serving(root, port=port) as server:
            remote = server.create("x")
            order = envelope(script("sleep 1", "write a.py: 1", "commit A"), repo=repository(remote.url))
            attempt = attempts.enter_context(bench.running(order))
            attempt.saw("starting the agent")
        attempt.saw("the push failed; trying again")
        with serving(root, port=port):
            ended = attempt.ended()
    assert ended.result.result_class is ResultClass.SUCCESS
    assert remote.branches()[BRANCH] == ended.result.head_after


def test_a_failed_agents_work_is_saved_without_what_gitignore_excludes(bench: Bench, remote: Remote) -> None:
    remote.commit({".gitignore": "*.log\nbuild/\n"})
    steps = (
        "write kept.py: 1",
        "write build/big.o: x",
        "write debug.log: x",
        "append README.md: more",
        "fail 3",
    )
    ended = bench.run(envelope(script(*steps), repo=repository(remote.url)))
    assert (ended.result.reason, ended.result.exit_code) == (Reason.NON_ZERO_EXIT, 3)
    assert remote.files(RESCUE) == {".gitignore", "README.md", "kept.py"}
    assert remote.show(RESCUE, "README.md") == "A repository.\nmore"


def test_the_same_failure_reads_the_same_in_every_attempt(bench: Bench, remote: Remote) -> None:
    steps = ("write a.py: 1", "print KeyError", "fail 3")
    results = [
        bench.run(
            envelope(
                script(*steps),
                repo=repository(remote.url, rescue_branch=f"bernstein/demo/build.rescue-{attempt}"),
                attempt=attempt,
            )
        ).result
        for attempt in (1, 2)
    ]
    assert results[0].message == results[1].message == "the agent exited with code 3: KeyError"
    assert {one.rescue_branch for one in results} <= set(remote.branches())


def test_commits_of_a_failed_agent_are_saved_even_if_nothing_else_is_left(
    bench: Bench, remote: Remote
) -> None:
    ended = bench.run(envelope(script("write a.py: 1", "commit A", "fail"), repo=repository(remote.url)))
    assert ended.result.head_after == remote.branches()[RESCUE]
    assert BRANCH not in remote.branches()


def test_a_lazy_agents_uncommitted_work_is_saved(bench: Bench, remote: Remote) -> None:
    ended = bench.run(envelope(script("write a.py: 1"), repo=repository(remote.url)))
    assert (ended.result.reason, ended.result.rescue_branch) == (Reason.NO_COMMIT, RESCUE)
    assert remote.files(RESCUE) == {"README.md", "a.py"}


def test_work_is_saved_beside_the_lock_of_a_git_command_that_was_killed(bench: Bench, remote: Remote) -> None:
    order = envelope(
        args=("sh", "-c", "echo 1 > a.py; touch .git/index.lock; exit 1"), repo=repository(remote.url)
    )
    assert bench.run(order).result.rescue_branch == RESCUE
    assert "a.py" in remote.files(RESCUE)


def test_work_in_the_middle_of_a_merge_is_saved(bench: Bench, remote: Remote) -> None:
    remote.commit({"README.md": "theirs\n"}, branch="theirs")
    steps = "echo ours > README.md; git commit -qam ours; git merge origin/theirs; exit 1"
    ended = bench.run(envelope(args=("sh", "-c", steps), repo=repository(remote.url)))
    assert ended.result.rescue_branch == RESCUE
    assert "<<<<<<<" in remote.show(RESCUE, "README.md")


def test_nothing_that_an_agent_started_outlives_it(bench: Bench, remote: Remote) -> None:
    marker = f"31{remote.url.rpartition(':')[2].partition('/')[0]}"
    background = f"sleep {marker} & setsid sleep {marker} & (setsid sh -c 'sleep {marker}; true' &) ; exit 0"
    with bench.running(envelope(args=("sh", "-c", background))) as attempt:
        ended = attempt.ended()
    assert ended.exit_code == 0
    assert running_with(f"sleep {marker}") == []


def test_nothing_that_a_stopped_agent_started_outlives_it(bench: Bench, remote: Remote) -> None:
    marker = f"32{remote.url.rpartition(':')[2].partition('/')[0]}"
    stubborn = f"trap '' TERM; setsid sleep {marker} & sleep {marker} & echo ready; wait; wait"
    with bench.running(envelope(args=("sh", "-c", stubborn))) as attempt:
        attempt.saw("ready")
        assert attempt.stopped_by_kubelet().result.reason == Reason.TERMINATED
    assert running_with(f"sleep {marker}") == []


def test_orphans_are_reaped_while_the_agent_runs(bench: Bench) -> None:
    orphan_then_look = """
(sh -c 'exit 0' &) ; sleep 2.5
for stat in /proc/[0-9]*/stat; do
  read -r line < "$stat" 2>/dev/null || continue
  rest=${line##*) }
  set -- $rest
  if [ "$1" = Z ] && [ "$2" = "$PPID" ]; then echo "zombie: $line"; exit 1; fi
done
"""
    assert bench.run(envelope(args=("sh", "-c", orphan_then_look))).exit_code == 0
