"""How an attempt ends by the agent's or its surroundings' doing, one row for each way."""

import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bernstein_agent.contract import Effort, Envelope, Reason, ResultClass, Usage, digest_of
from tests.integration.agent.bench import POD, Bench, envelope, repository, script
from tests.integration.agent.gitserver import GitServer, Remote, free_port

ENDINGS = {
    "does its work": (["say Done."], ResultClass.SUCCESS, Reason.COMPLETED, "the agent ended well"),
    "is lazy": (["lazy", "fail"], ResultClass.SUCCESS, Reason.COMPLETED, "the agent ended well"),
    "fails": (
        ["print KeyError: 'x'", "fail 3"],
        ResultClass.AGENT,
        Reason.NON_ZERO_EXIT,
        "the agent exited with code 3: KeyError: 'x'",
    ),
    "gives up": (
        ["abandon out_of_scope: needs a product decision", "fail"],
        ResultClass.ABANDONED,
        Reason.ABANDONED,
        "out_of_scope: needs a product decision",
    ),
    "hits a rate limit": (
        ["rate-limit 30"],
        ResultClass.CAPACITY,
        Reason.RATE_LIMITED,
        "a provider's rate limit ended the agent; it asks to wait 30 s",
    ),
    "misses a file": (
        ["expect lexer.py"],
        ResultClass.AGENT,
        Reason.NON_ZERO_EXIT,
        "the agent exited with code 1: expected lexer.py to be there",
    ),
    "finds another content": (
        ["write lexer.py: one", "expect lexer.py: two"],
        ResultClass.AGENT,
        Reason.NON_ZERO_EXIT,
        "the agent exited with code 1: expected lexer.py to hold 'two'",
    ),
    "eats memory and stays alive": (
        ["eat 16"],
        ResultClass.SUCCESS,
        Reason.COMPLETED,
        "the agent ended well",
    ),
    "fails in another attempt only": (
        ["on attempt 2+: fail", "on attempts 1,3: print here"],
        ResultClass.SUCCESS,
        Reason.COMPLETED,
        "the agent ended well",
    ),
}


@pytest.mark.parametrize(("steps", "result_class", "reason", "message"), ENDINGS.values(), ids=ENDINGS)
def test_a_scripted_agent(
    bench: Bench, steps: list[str], result_class: ResultClass, reason: Reason, message: str
) -> None:
    ended = bench.run(envelope(script(*steps)))
    result = ended.result
    assert (result.result_class, result.reason, result.message) == (result_class, reason, message)
    assert ended.exit_code == (0 if result_class is ResultClass.SUCCESS else 1)


def ordered(order: Envelope, *, model: str, effort: Effort) -> Envelope:
    """Return the envelope with another model and another effort."""
    return replace(order, payload=replace(order.payload, model=model, effort=effort))


TOLD = {
    "fail 3 class=capacity reason=ProviderOverloaded retry-after=90 message=come back: later": (
        ResultClass.CAPACITY,
        Reason.PROVIDER_OVERLOADED,
        "come back: later",
        90,
        1,
    ),
    "fail reason=CredentialsRefused": (
        ResultClass.CONTRACT,
        Reason.CREDENTIALS_REFUSED,
        "the script failed: CredentialsRefused",
        None,
        78,
    ),
    "fail class=oom": (ResultClass.OOM, Reason.NON_ZERO_EXIT, "the script failed: NonZeroExit", None, 1),
    "rate-limit 30": (
        ResultClass.CAPACITY,
        Reason.RATE_LIMITED,
        "a provider's rate limit ended the agent; it asks to wait 30 s",
        30,
        1,
    ),
}


@pytest.mark.parametrize(("directive", "expected"), TOLD.items(), ids=TOLD)
def test_an_agent_that_says_what_its_failure_is(
    bench: Bench, directive: str, expected: tuple[ResultClass, str, str, int | None, int]
) -> None:
    ended = bench.run(envelope(script(directive)))
    result = ended.result
    found = (result.result_class, result.reason, result.message, result.retry_after_seconds, ended.exit_code)
    assert found == expected


@pytest.mark.parametrize(
    ("effort", "result_class"),
    [(Effort.HIGH, ResultClass.AGENT), (Effort.MAX, ResultClass.SUCCESS)],
    ids=["below the top", "at the top"],
)
def test_a_script_that_succeeds_only_at_the_top_of_the_ladder(
    bench: Bench, effort: Effort, result_class: ResultClass
) -> None:
    order = envelope(script("when effort!=max: fail 3", "when model=large-2 effort=max: say Done."))
    result = bench.run(ordered(order, model="large-2", effort=effort)).result
    assert result.result_class is result_class
    assert result.summary == ("Done." if result_class is ResultClass.SUCCESS else "")


def test_what_an_agent_spends_is_in_the_result_however_it_ends(bench: Bench) -> None:
    steps = ("spend input=100 output=20 usd=0.5", "spend input=50 cached=7 usd=0.000001 over=1", "fail")
    expected = Usage(input_tokens=150, output_tokens=20, cached_tokens=7, cost_micros=500_001)
    assert bench.run(envelope(script(*steps))).result.usage == expected


def test_reports_that_are_no_amounts_are_refused_and_the_attempt_goes_on(bench: Bench) -> None:
    bad = [
        '{"type":"usage","costUsd":"nan"}',
        '{"type":"usage","costUsd":-1}',
        '{"type":"usage","inputTokens":-5}',
        '{"type":"usage","inputTokens":1e400}',
        '{"type":"usage","costUsd":NaN}',
        '{"type":"failure","class":"success","reason":"Fine","message":"x"}',
        '{"type":"failure","class":"agent","reason":"not camel","message":"x"}',
        '{"type":"rate_limit","retryAfterSeconds":-1}',
    ]
    ended = bench.run(envelope(script("spend input=1 usd=1", *(f"print {line}" for line in bad))))
    assert ended.result.usage == Usage(input_tokens=1, cost_micros=1_000_000)
    assert ended.log.count("a report of the agent was refused") == len(bad)


@pytest.mark.parametrize(
    ("args", "result_class", "reason"),
    [
        (("true",), ResultClass.SUCCESS, Reason.COMPLETED),
        (("false",), ResultClass.AGENT, Reason.NON_ZERO_EXIT),
        (("no-such-program",), ResultClass.CONTRACT, Reason.COMMAND_NOT_FOUND),
        (("/etc/passwd",), ResultClass.CONTRACT, Reason.COMMAND_NOT_FOUND),
        (("sh", "-c", "kill -KILL $$"), ResultClass.TRANSIENT, Reason.KILLED),
        (("sh", "-c", "kill -SEGV $$"), ResultClass.AGENT, Reason.NON_ZERO_EXIT),
        (("grep", "-q", "# Your task: Build the parser"), ResultClass.SUCCESS, Reason.COMPLETED),
        (
            ("grep", "-q", "# Your task: Build the parser", "{prompt_file}"),
            ResultClass.SUCCESS,
            Reason.COMPLETED,
        ),
        (("sh", "-c", 'grep -q "A parser" "$BERNSTEIN_PROMPT_FILE"'), ResultClass.SUCCESS, Reason.COMPLETED),
        (("sh", "-c", 'test -z "$(ls -A)"'), ResultClass.SUCCESS, Reason.COMPLETED),
    ],
    ids=[
        "ends well",
        "fails",
        "is not there",
        "is no program",
        "is killed",
        "crashes",
        "reads the prompt on its standard input",
        "gets the prompt's path as an argument",
        "gets the prompt's path in its environment",
        "starts in an empty directory where there is no repository",
    ],
)
def test_a_command(bench: Bench, args: tuple[str, ...], result_class: ResultClass, reason: Reason) -> None:
    result = bench.run(envelope(args=args)).result
    assert (result.result_class, result.reason) == (result_class, reason)


def test_a_program_sees_its_profile_and_the_facts_and_nothing_of_the_machinery(bench: Bench) -> None:
    env = {
        "MODEL_REGION": "eu",
        "BERNSTEIN_INTERNAL": "x",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "HOME": "/elsewhere",
        "BERNSTEIN_POD_NAME": POD,
    }
    order = ordered(envelope(args=("env",)), model="large-2", effort=Effort.HIGH)
    with bench.running(order, env=env) as attempt:
        log = attempt.ended().log
        workspace = attempt.workspace
    seen = dict(re.findall(r"^([A-Z_]+)=(.*)$", log, re.MULTILINE))
    assert seen == {
        "PATH": f"{workspace}/.runner/bin:{bench.env['PATH']}",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "HOME": f"{workspace}/home",
        "MODEL_REGION": "eu",
        "BERNSTEIN_PROMPT_FILE": f"{workspace}/prompt.md",
        "BERNSTEIN_LETTER_FILE": f"{workspace}/.runner/letter.json",
        "BERNSTEIN_NOTICES_FILE": f"{workspace}/.runner/notices.txt",
        "BERNSTEIN_MODEL": "large-2",
        "BERNSTEIN_EFFORT": "high",
        "BERNSTEIN_RUN": "demo",
        "BERNSTEIN_TASK": "build",
        "BERNSTEIN_ROLE": "backend",
        "BERNSTEIN_ATTEMPT": "1",
        **{name: seen[name] for name in ("PWD", "LC_CTYPE") if name in seen},
    }


def test_the_tail_of_the_output_stands_in_for_a_summary(bench: Bench) -> None:
    ended = bench.run(envelope(args=("sh", "-c", "seq 1 5000; echo last words >&2")))
    assert ended.result.summary.endswith("5000\nlast words") or ended.result.summary.endswith("5000")
    assert len(ended.message.encode()) <= 4096
    assert "\n1\n" in ended.log


def test_a_program_that_never_reads_its_prompt_and_prints_without_end_of_line_ends(bench: Bench) -> None:
    ended = bench.run(envelope("x" * 60_000, args=("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' y")))
    assert ended.exit_code == 0
    assert ended.log.count("y") >= 3_000_000


UNREACHABLE = {
    "a repository that is not there": ("{server}/missing.git", Reason.REPOSITORY_NOT_FOUND, 78),
    "a directory that is no repository": ("file:///etc", Reason.REPOSITORY_NOT_FOUND, 78),
    "an unknown protocol": ("gopher://example.com/x.git", Reason.REPOSITORY_NOT_FOUND, 78),
    "a server that is down": ("git://127.0.0.1:{closed}/x.git", Reason.GIT_UNAVAILABLE, 1),
    "a host without a name": ("git://host.invalid/x.git", Reason.GIT_UNAVAILABLE, 1),
}


@pytest.mark.parametrize(("url", "reason", "exit_code"), UNREACHABLE.values(), ids=UNREACHABLE)
def test_a_repository_out_of_reach(
    bench: Bench, git_server: GitServer, url: str, reason: Reason, exit_code: int
) -> None:
    address = url.format(server=git_server.url, closed=free_port())
    ended = bench.run(envelope(script("lazy"), repo=repository(address)))
    assert (ended.result.reason, ended.exit_code) == (reason, exit_code)


@pytest.mark.parametrize("answer", [401, 403], ids=["asks for credentials", "refuses them"])
def test_a_server_that_refuses_credentials_never_shows_them(
    bench: Bench, refusing_server: dict[int, str], answer: int
) -> None:
    url = refusing_server[answer].replace("://", "://bot:hunter2hunter2@")
    ended = bench.run(envelope(script("lazy"), repo=repository(url)))
    assert (ended.result.result_class, ended.result.reason) == (ResultClass.CONTRACT, Reason.ACCESS_DENIED)
    assert ended.exit_code == 77
    assert "hunter2" not in ended.message + ended.log
    assert "127.0.0.1" in ended.message


def test_secrets_in_the_environment_are_taken_out_of_log_and_result(bench: Bench) -> None:
    args = ("sh", "-c", "echo the key is $PROVIDER_API_KEY; exit 1")
    ended = bench.run(envelope(args=args), env={"PROVIDER_API_KEY": "sk-12345678"})
    assert ended.result.summary == "the key is ***"
    assert "sk-12345678" not in ended.message + ended.log


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"ref": "no-such-branch"}, "ref no-such-branch is not in the repository"),
        ({"base_commit": "1" * 40}, f"the base commit {'1' * 40} is not in the repository"),
    ],
    ids=["ref", "base commit"],
)
def test_a_start_that_is_not_in_the_repository(
    bench: Bench, remote: Remote, changes: dict[str, str], what: str
) -> None:
    ended = bench.run(envelope(script("lazy"), repo=repository(remote.url, **changes)))
    assert (ended.result.reason, ended.result.message, ended.exit_code) == (Reason.REF_NOT_FOUND, what, 78)


REFUSED = {
    "no JSON": ("{", Reason.INVALID_ENVELOPE, 65),
    "a version of the future": (
        replace(envelope(script("lazy")), contract_version="2.0").to_json(),
        Reason.INVALID_ENVELOPE,
        65,
    ),
    "a script with a mistake": (envelope(script("wirte x: y")).to_json(), Reason.INVALID_SCRIPT, 78),
    "a prompt without a script": (envelope("Do it.").to_json(), Reason.INVALID_SCRIPT, 78),
    "an adapter that this runner hasn't": (envelope(adapter="psychic").to_json(), Reason.UNKNOWN_ADAPTER, 78),
    "a command without a program": (envelope(adapter="command").to_json(), Reason.COMMAND_NOT_FOUND, 78),
}


@pytest.mark.parametrize(("document", "reason", "exit_code"), REFUSED.values(), ids=REFUSED)
def test_orders_that_no_retry_can_heal(bench: Bench, document: str, reason: Reason, exit_code: int) -> None:
    ended = bench.run(document, env={"BERNSTEIN_POD_NAME": POD})
    assert (ended.result.result_class, ended.result.reason) == (ResultClass.CONTRACT, reason)
    assert (ended.result.subject.id, ended.result.subject.attempt) == (POD, 1)
    assert ended.result.digest == digest_of(document)
    assert ended.exit_code == exit_code


def test_an_envelope_for_another_pod_is_refused(bench: Bench) -> None:
    ended = bench.run(envelope(script("lazy")), env={"BERNSTEIN_POD_NAME": "other-000000-a7"})
    assert (ended.result.subject.id, ended.result.subject.attempt) == ("other-000000-a7", 7)
    assert (
        ended.result.message
        == f"the envelope is refused: subject.id: '{POD}' is not this Pod, 'other-000000-a7'"
    )
    assert ended.exit_code == 65


def test_no_envelope_at_all(bench: Bench) -> None:
    ended = bench.run(envelope(script("lazy")), flags=("--envelope", "/nowhere/envelope.json"))
    assert (ended.result.reason, ended.exit_code) == (Reason.INVALID_ENVELOPE, 66)


def test_a_deadline_that_has_passed_starts_nothing(bench: Bench) -> None:
    late = replace(envelope(script("print started")), deadline=datetime(2020, 1, 1, tzinfo=UTC))
    ended = bench.run(late)
    assert (ended.result.result_class, ended.result.message) == (
        ResultClass.DEADLINE,
        "its deadline passed before it began",
    )
    assert "started" not in ended.log


def test_an_image_without_git_is_told_so(bench: Bench, remote: Remote, tmp_path: Path) -> None:
    order = envelope(script("lazy"), repo=repository(remote.url))
    ended = bench.run(order, env={"PATH": str(tmp_path)})
    assert (ended.result.reason, ended.result.message) == (Reason.GIT_MISSING, "the agent's image has no git")
    assert ended.exit_code == 69


def test_a_termination_log_that_cannot_be_written_does_not_change_the_exit_code(bench: Bench) -> None:
    ended = bench.run(envelope(script("say done")), flags=("--termination-log", "/nowhere/message"))
    assert (ended.exit_code, ended.message) == (0, "")
    assert "the result can't be written" in ended.log


def test_the_result_is_about_this_pod_and_this_envelope(bench: Bench) -> None:
    order = envelope(script("say done"), attempt=4)
    result = bench.run(order).result
    assert (result.subject.id, result.subject.attempt) == (POD, 4)
    assert result.digest == digest_of(order.to_json())


def test_the_interpreter_is_a_plain_one(bench: Bench) -> None:
    look = "import sys, importlib.util as u; print(sys.prefix == sys.base_prefix, u.find_spec('kopf'))"
    ended = bench.run(envelope(args=(str(bench.python), "-c", look)))
    assert ended.result.summary == "True None"
    assert Path(sys.prefix) != Path(sys.base_prefix)
