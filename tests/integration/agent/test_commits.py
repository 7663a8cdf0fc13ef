"""What becomes of an agent's commits: pushed, merged for a dependent, refused, or missed."""

from pathlib import Path

import pytest

from bernstein_agent.contract import DependencyRef, PreviousAttempt, Reason, ResultClass
from tests.integration.agent.bench import Bench, Ended, envelope, repository, script
from tests.integration.agent.gitserver import Remote

BRANCH = "bernstein/demo/build"
RESCUE = "bernstein/demo/build.rescue-1"
COMMITS = ("write src/parser.py: print('parsed')", "commit Add the parser")


def outcome(ended: Ended) -> tuple[ResultClass, str, int]:
    """Return class, reason and the container's exit code."""
    return ended.result.result_class, ended.result.reason, ended.exit_code


def test_a_commit_is_pushed_to_the_tasks_branch(bench: Bench, remote: Remote) -> None:
    base = remote.branches()["main"]
    ended = bench.run(envelope(script(*COMMITS, "say The parser is there."), repo=repository(remote.url)))

    assert outcome(ended) == (ResultClass.SUCCESS, Reason.COMPLETED, 0)
    result = ended.result
    assert remote.branches() == {"main": base, BRANCH: result.head_after}
    assert (result.head_before, result.branch, result.rescue_branch) == (base, BRANCH, None)
    assert (result.summary, result.exit_code) == ("The parser is there.", 0)
    assert remote.show(BRANCH, "src/parser.py") == "print('parsed')"
    assert (
        remote.log(BRANCH, "%s by %an <%ae>")[0] == "Add the parser by Bernstein Agent <agent@bernstein.run>"
    )


def test_a_workspace_may_be_named_relative_to_where_the_runner_starts(
    bench: Bench, remote: Remote, tmp_path: Path
) -> None:
    flags = ("--workspace", str((tmp_path / "volume").relative_to("/")))
    ended = bench.run(envelope(script(*COMMITS), repo=repository(remote.url)), flags=flags)
    assert outcome(ended) == (ResultClass.SUCCESS, Reason.COMPLETED, 0)
    assert (tmp_path / "volume" / "repo" / "src" / "parser.py").exists()


@pytest.mark.parametrize(
    "ref",
    ["main", "refs/heads/main", "v1", "refs/tags/v1", "HEAD", "refs/pull/7/head"],
    ids=str,
)
def test_a_ref_may_be_anything_that_leads_to_a_commit(bench: Bench, remote: Remote, ref: str) -> None:
    base = remote.branches()["main"]
    for name in ("refs/tags/v1", "refs/pull/7/head"):
        remote.point(name, base)
    ended = bench.run(envelope(script(*COMMITS), repo=repository(remote.url, ref=ref)))
    assert (outcome(ended)[0], ended.result.head_before) == (ResultClass.SUCCESS, base)


def test_a_commit_is_a_ref_too(bench: Bench, remote: Remote) -> None:
    base = remote.branches()["main"]
    remote.commit({"later.txt": "later"})
    ended = bench.run(envelope(script(*COMMITS), repo=repository(remote.url, ref=base)))
    assert ended.result.head_before == base


def test_a_retry_starts_from_the_base_that_the_first_attempt_resolved(bench: Bench, remote: Remote) -> None:
    base = remote.branches()["main"]
    remote.commit({"later.txt": "later"})
    ended = bench.run(envelope(script(*COMMITS), repo=repository(remote.url, base_commit=base)))
    assert ended.result.head_before == base
    assert "later.txt" not in remote.files(BRANCH)


def test_a_dependent_sees_the_work_of_its_dependencies(bench: Bench, remote: Remote) -> None:
    lexer = remote.commit({"lexer.py": "lex\n"}, branch="bernstein/demo/lexer")
    tests = remote.commit({"tests.py": "test\n"}, branch="bernstein/demo/tests")
    order = envelope(
        script("expect lexer.py: lex", "expect tests.py: test", *COMMITS),
        repo=repository(remote.url),
        dependencies=(
            DependencyRef(name="lexer", commit=lexer, branch="bernstein/demo/lexer"),
            DependencyRef(name="tests", commit=tests, branch="bernstein/demo/tests"),
        ),
    )
    ended = bench.run(order)

    assert outcome(ended) == (ResultClass.SUCCESS, Reason.COMPLETED, 0)
    assert remote.contains(BRANCH, lexer)
    assert remote.contains(BRANCH, tests)
    assert remote.log(BRANCH)[0] == "Add the parser"
    assert ended.result.head_before == remote.branches()["main"]


def test_a_dependency_is_merged_by_commit_even_if_its_branch_is_gone(bench: Bench, remote: Remote) -> None:
    lexer = remote.commit({"lexer.py": "lex\n"}, branch="lexer")
    remote.delete("lexer")
    order = envelope(
        script("expect lexer.py: lex", *COMMITS),
        repo=repository(remote.url),
        dependencies=[DependencyRef(name="lexer", commit=lexer, branch="lexer")],
    )
    assert outcome(bench.run(order))[0] is ResultClass.SUCCESS


def test_the_same_base_and_dependencies_give_the_same_start(bench: Bench, remote: Remote) -> None:
    lexer = remote.commit({"lexer.py": "lex\n"}, branch="lexer")
    order = envelope(
        args=("git", "log", "-1", "--format=%H %P %cI"),
        repo=repository(remote.url),
        dependencies=[DependencyRef(name="lexer", commit=lexer, branch="lexer")],
    )
    first, second = bench.run(order), bench.run(order)
    assert first.result.summary == second.result.summary
    assert first.result.summary.split()[1:] == [remote.branches()["main"], lexer, "2026-01-02T03:04:05+00:00"]


def test_dependencies_that_do_not_merge_are_named_with_their_files(bench: Bench, remote: Remote) -> None:
    first = remote.commit({"api.py": "one\n", "b.py": "same\n"}, branch="one")
    second = remote.commit({"api.py": "two\n"}, branch="two")
    order = envelope(
        script(*COMMITS),
        repo=repository(remote.url),
        dependencies=[
            DependencyRef(name="one", commit=first, branch="one"),
            DependencyRef(name="two", commit=second, branch="two"),
        ],
    )
    ended = bench.run(order)
    assert outcome(ended) == (ResultClass.BUSINESS, Reason.MERGE_CONFLICT, 1)
    assert ended.result.message == f"dependency two ({second[:12]}) does not merge: api.py"
    assert BRANCH not in remote.branches()


def test_a_dependency_without_common_history_does_not_merge(bench: Bench, remote: Remote) -> None:
    stranger = remote.orphan({"x": "x"}, branch="stranger")
    order = envelope(
        script(*COMMITS),
        repo=repository(remote.url),
        dependencies=[DependencyRef(name="x", commit=stranger, branch="stranger")],
    )
    ended = bench.run(order)
    assert outcome(ended) == (ResultClass.BUSINESS, Reason.MERGE_CONFLICT, 1)
    assert "unrelated histories" in ended.result.message


def test_an_agent_that_ends_well_without_a_commit_has_not_done_its_work(bench: Bench, remote: Remote) -> None:
    ended = bench.run(envelope(script("lazy"), repo=repository(remote.url)))
    assert outcome(ended) == (ResultClass.BUSINESS, Reason.NO_COMMIT, 1)
    assert ended.result.head_after == ended.result.head_before
    assert set(remote.branches()) == {"main"}


def test_merged_dependencies_are_no_commit_of_the_agents_own(bench: Bench, remote: Remote) -> None:
    lexer = remote.commit({"lexer.py": "lex\n"}, branch="lexer")
    order = envelope(
        script("lazy"),
        repo=repository(remote.url),
        dependencies=[DependencyRef(name="lexer", commit=lexer, branch="lexer")],
    )
    ended = bench.run(order)
    assert outcome(ended)[:2] == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert ended.result.rescue_branch is None


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ("git reset -q --hard HEAD^", Reason.NO_COMMIT),
        ("git checkout -q --detach && git commit -q --allow-empty -m own", Reason.COMPLETED),
        ("git checkout -q -b elsewhere && git commit -q --allow-empty -m own", Reason.COMPLETED),
        ("git commit -q --amend --allow-empty -m rewritten", Reason.COMPLETED),
        ("rm -rf .git", Reason.HEAD_UNKNOWN),
        ("rm .git/HEAD", Reason.HEAD_UNKNOWN),
    ],
    ids=["moved back", "detached", "another local branch", "amended", "no clone left", "HEAD destroyed"],
)
def test_what_counts_is_the_commits_that_head_leads_to(
    bench: Bench, remote: Remote, moves: str, expected: Reason
) -> None:
    remote.commit({"second.txt": "2"})
    ended = bench.run(envelope(args=("sh", "-c", moves), repo=repository(remote.url)))
    assert ended.result.reason == expected
    assert (BRANCH in remote.branches()) == (expected is Reason.COMPLETED)


def test_leftovers_beside_a_commit_are_only_noted(bench: Bench, remote: Remote) -> None:
    ended = bench.run(envelope(script(*COMMITS, "write notes.txt: x"), repo=repository(remote.url)))
    assert outcome(ended) == (ResultClass.SUCCESS, Reason.COMPLETED, 0)
    assert "1 uncommitted files were left behind" in ended.result.message
    assert set(remote.branches()) == {"main", BRANCH}


def test_a_retry_moves_the_branch_of_the_attempt_before(bench: Bench, remote: Remote) -> None:
    before = remote.commit({"half.py": "half\n"}, branch=BRANCH)
    ended = bench.run(
        envelope(
            script(*COMMITS),
            repo=repository(remote.url),
            attempt=2,
            previous=PreviousAttempt(result_class=ResultClass.AGENT, message="broke", branch=BRANCH),
        )
    )
    assert outcome(ended) == (ResultClass.SUCCESS, Reason.COMPLETED, 0)
    assert not remote.contains(BRANCH, before)


def test_a_branch_that_is_not_where_the_operator_knew_it_is_left_alone(bench: Bench, remote: Remote) -> None:
    theirs = remote.commit({"theirs.py": "theirs\n"}, branch=BRANCH)
    repo = repository(remote.url, expected_branch_head=remote.branches()["main"])
    ended = bench.run(envelope(script(*COMMITS), repo=repo))
    assert outcome(ended) == (ResultClass.TRANSIENT, Reason.PUSH_CONFLICT, 1)
    assert remote.branches()[BRANCH] == theirs
    assert "src/parser.py" in remote.files(RESCUE)
    assert (ended.result.branch, ended.result.rescue_branch) == (None, RESCUE)


def test_a_branch_that_somebody_makes_meanwhile_is_left_alone(bench: Bench, remote: Remote) -> None:
    with bench.running(envelope(script(*COMMITS, "sleep 3"), repo=repository(remote.url))) as attempt:
        attempt.saw("starting the agent")
        theirs = remote.commit({"theirs.py": "theirs\n"}, branch=BRANCH)
        ended = attempt.ended()
    assert outcome(ended) == (ResultClass.TRANSIENT, Reason.PUSH_CONFLICT, 1)
    assert remote.branches()[BRANCH] == theirs
    assert "src/parser.py" in remote.files(RESCUE)


def test_a_branch_in_the_way_of_the_tasks_name_is_a_contract_error(bench: Bench, remote: Remote) -> None:
    remote.commit({"x": "x"}, branch="bernstein/demo")
    ended = bench.run(envelope(script(*COMMITS), repo=repository(remote.url)))
    assert outcome(ended) == (ResultClass.CONTRACT, Reason.BRANCH_IMPOSSIBLE, 78)


def test_commits_that_the_server_refuses_are_told_in_its_own_words(bench: Bench, remote: Remote) -> None:
    remote.hook("pre-receive", 'echo "file too large: src/parser.py"; exit 1')
    ended = bench.run(envelope(script(*COMMITS), repo=repository(remote.url)))
    assert outcome(ended) == (ResultClass.BUSINESS, Reason.PUSH_REJECTED, 1)
    assert "file too large: src/parser.py" in ended.result.message


def test_hooks_that_an_agent_leaves_are_not_run_by_the_runner(bench: Bench, remote: Remote) -> None:
    install = "echo 'touch ../ran' > .git/hooks/$h; chmod +x .git/hooks/$h"
    hooks = f"for h in pre-push pre-commit post-checkout; do {install}; done"
    with bench.running(
        envelope(args=("sh", "-c", f"{hooks}; touch dirty; exit 3"), repo=repository(remote.url))
    ) as run:
        ended = run.ended()
        assert not (run.workspace / "ran").exists()
    assert ended.result.rescue_branch == RESCUE
