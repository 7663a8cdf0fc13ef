"""How adapters start programs, go on with their sessions, and read what they say."""

import json
from pathlib import Path

import pytest

from bernstein_agent.adapters import adapter_for
from bernstein_agent.adapters.base import Job, Session, Signal, Spent, Worked, session
from bernstein_agent.adapters.command import CommandAdapter
from bernstein_agent.adapters.script import ScriptAdapter
from bernstein_agent.contract import Command, ContractError, Usage
from bernstein_agent.failure import AttemptError
from tests.unit.agent.examples import payload

PROMPT = Path("/workspace/prompt.md")
JOB = Job(payload(), PROMPT)
AGENT = ("agent", "--prompt", "{prompt_file}")


def test_a_program_gets_its_prompt_as_a_file_where_it_asks_for_it() -> None:
    assert CommandAdapter(Command(args=AGENT)).launch(JOB) == ("agent", "--prompt", str(PROMPT))


@pytest.mark.parametrize(
    ("resume_args", "told", "expected"),
    [
        ((), "s-1", None),
        (("agent", "--continue"), None, ("agent", "--continue")),
        (("agent", "--continue"), "s-1", ("agent", "--continue")),
        (("agent", "--resume={session_id}"), "s-1", ("agent", "--resume=s-1")),
        (("agent", "--resume", "{session_id}"), None, None),
        (("agent", "{prompt_file}"), None, ("agent", str(PROMPT))),
        (("agent", "{session_id}"), "{prompt_file}", ("agent", "{prompt_file}")),
    ],
    ids=[
        "nothing to go on with",
        "one that needs no name",
        "one that needs no name and has one",
        "one that needs a name and has it",
        "one that needs a name and has none",
        "the prompt as a file",
        "a name is filled in as it is",
    ],
)
def test_how_a_program_goes_on(
    resume_args: tuple[str, ...], told: str | None, expected: tuple[str, ...] | None
) -> None:
    adapter = CommandAdapter(Command(args=AGENT, resume_args=resume_args))
    assert adapter.resume(JOB, told) == expected


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        ("session_id", '{"session_id": "s-1"}', Session("s-1")),
        ("result.session", '{"result": {"session": "s-1"}}', Session("s-1")),
        ("result.session", '{"result": ["session"]}', None),
        ("result.session", '{"result": null}', None),
        ("session_id", '{"session_id": 7}', None),
        ("session_id", '{"session_id": ""}', None),
        ("session_id", '{"session_id": "a\\nb"}', None),
        ("session_id", '{"session_id": "\\ud800"}', None),
        ("session_id", json.dumps({"session_id": "é" * 128}), Session("é" * 128)),
        ("session_id", json.dumps({"session_id": "é" * 129}), None),
        ("session_id", '{"other": "s-1"}', None),
        ("session_id", '{"session_id": ', None),
        ("session_id", 'session_id: "s-1"', None),
        ("session_id", "{" * 100_000, None),
        (None, '{"session_id": "s-1"}', None),
    ],
    ids=[
        "a field",
        "a field of a field",
        "a list on the way",
        "nothing on the way",
        "a number",
        "an empty name",
        "two lines",
        "half a character",
        "256 bytes",
        "258 bytes",
        "another field",
        "a line that was cut",
        "no JSON",
        "nonsense without end",
        "a program that tells none",
    ],
)
def test_where_a_program_tells_its_session(path: str | None, line: str, expected: Session | None) -> None:
    assert CommandAdapter(Command(args=AGENT, session_id_path=path)).read(line) == expected


def test_a_session_is_told_once_and_every_other_line_is_text() -> None:
    adapter = CommandAdapter(Command(args=AGENT, session_id_path="id"))
    lines = ('{"id": "a", "n": 1}', '{"id": "a", "n": 2}', '{"id": "b"}')
    assert [adapter.read(line) for line in lines] == [Session("a"), None, Session("b")]


@pytest.mark.parametrize("name", ["", "a\tb", "a\0b", 7, None], ids=repr)
def test_what_is_no_name_of_a_session(name: object) -> None:
    assert session(name) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"type":"session","id":"s-1"}', Session("s-1")),
        ('{"type":"session"}', None),
        ('{"type":"work","steps":3,"toolCalls":7}', Worked(3, 7)),
        ('{"type":"work","steps":3}', Worked(3, 0)),
        ('{"type":"usage","inputTokens":5,"costUsd":"0"}', Spent(Usage(input_tokens=5))),
        ('{"type":"usage","inputTokens":5}', Spent(Usage(input_tokens=5, cost_unknown=True))),
        ('{"type":"summary","text":7}', None),
        ('{"type":["usage"]}', None),
        ('{"type":"weather"}', None),
    ],
    ids=[
        "session",
        "session without a name",
        "work",
        "work without calls",
        "usage",
        "usage without a cost",
        "summary that is none",
        "a type that is none",
        "another type",
    ],
)
def test_what_the_scripted_agent_reports(line: str, expected: Signal | None) -> None:
    assert ScriptAdapter().read(line) == expected


def test_work_that_cannot_be_is_refused() -> None:
    with pytest.raises(ContractError, match="steps"):
        ScriptAdapter().read('{"type":"work","steps":-1}')


def test_the_scripted_agent_goes_on_with_the_session_that_it_told() -> None:
    command = ScriptAdapter().resume(JOB, "s-1")
    assert command
    assert command[-3:] == ("script-agent", "--resume", "s-1")
    assert ScriptAdapter().resume(JOB, None) is None


def test_an_adapter_is_found_by_its_name() -> None:
    assert isinstance(adapter_for(payload(adapter="script")), ScriptAdapter)
    with pytest.raises(AttemptError, match="no adapter 'telepathy'; it has command, script"):
        adapter_for(payload(adapter="telepathy"))
