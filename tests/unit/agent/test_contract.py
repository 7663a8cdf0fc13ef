"""The contract: every version ever released is read, what breaks it is named, and the schemas agree."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from bernstein_agent.contract import (
    ABANDON_CATEGORIES,
    PROVIDER_FAULTS,
    AbandonCategory,
    Abandonment,
    AbandonReason,
    Actor,
    Budget,
    BudgetMode,
    Command,
    Continuation,
    ContractError,
    Effort,
    Envelope,
    Exchange,
    Grant,
    Instruction,
    Notice,
    PreviousAttempt,
    Prices,
    Reason,
    Report,
    Reporting,
    Repository,
    Result,
    ResultClass,
    ResultSubject,
    Subject,
    Usage,
    abandon_reason,
    digest_of,
    parse_envelope,
    parse_result,
    parse_usage,
)
from bernstein_agent.contract import envelope as envelope_module
from bernstein_agent.contract import report as report_module
from bernstein_agent.contract import result as result_module
from bernstein_agent.contract.encoding import json_name
from tests.unit.agent.examples import GOLDEN, SCHEMAS, Change, document, payload, result

LATEST = "1.2"
Document = Envelope | Result | Report | Instruction
PARSERS: dict[str, Callable[[str], Document]] = {
    "envelope": parse_envelope,
    "result": parse_result,
    "report": Report.parse,
    "instruction": Instruction.parse,
}
REGISTRY: Registry[Any] = Registry().with_resources(
    (contents["$id"], Resource.from_contents(contents))
    for contents in (json.loads(path.read_text()) for path in SCHEMAS.glob("*.json"))
)


SUBJECT = ResultSubject(id="build-3f2a91-a1", attempt=1)
SMALLEST: dict[str, Document] = {
    "envelope": Envelope(
        correlation_id="run-uid",
        command_id=SUBJECT.id,
        idempotency_key="task-uid:1",
        actor=Actor(identity="bernstein-operator", grant=Grant(profile="default")),
        subject=Subject(id=SUBJECT.id, version=1),
        tenant="team-a",
        payload=payload(repository=None),
    ),
    "result": result(),
    "report": Report(subject=SUBJECT),
    "instruction": Instruction(),
}


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text())
    return loaded


def accepted_by_schema(name: str, fields: object) -> bool:
    return jsonschema.Draft202012Validator(schema(name), registry=REGISTRY).is_valid(fields)


def within(part: object, whole: object) -> bool:
    """Return whether ``whole`` has all that ``part`` has, the version apart."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(
            name == "contractVersion" or within(value, whole.get(name)) for name, value in part.items()
        )
    return part == whole


@pytest.mark.parametrize("path", sorted(GOLDEN.iterdir()), ids=lambda path: path.stem)
def test_every_released_version_is_still_read_whole(path: Any) -> None:
    kind = path.stem.partition("-")[0]
    parsed = PARSERS[kind](path.read_text())
    golden = json.loads(path.read_text())
    assert within(golden, json.loads(parsed.to_json()))
    assert accepted_by_schema(path.stem, golden)


@pytest.mark.parametrize("kind", PARSERS)
def test_the_latest_version_is_written_as_it_is_read(kind: str) -> None:
    golden = document(f"{kind}-{LATEST}")
    assert json.loads(PARSERS[kind](json.dumps(golden)).to_json()) == golden


@pytest.mark.parametrize("kind", PARSERS)
def test_what_is_not_set_is_written_so_that_the_schema_takes_it(kind: str) -> None:
    written = json.loads(SMALLEST[kind].to_json())
    assert accepted_by_schema(f"{kind}-{LATEST}", written)
    assert PARSERS[kind](json.dumps(written)) == SMALLEST[kind]


def test_an_envelope_is_read_into_values() -> None:
    envelope = parse_envelope(json.dumps(document(f"envelope-{LATEST}")))
    assert envelope.deadline == datetime(2026, 12, 1, 12, tzinfo=UTC)
    assert envelope.budget == Budget(
        tool_calls=40, steps=30, mode=BudgetMode.HARD, own=True, tokens=200_000, cost_micros=2_500_000
    )
    assert envelope.payload.command == Command(
        args=("agent", "--prompt-file", "{prompt_file}"),
        resume_args=("agent", "--resume", "{session_id}", "--prompt-file", "{prompt_file}"),
        session_id_path="session.id",
    )
    assert envelope.payload.repository == Repository(
        url="https://git.example.com/team/menu.git",
        ref="main",
        base_commit="1" * 40,
        branch="bernstein/demo/parser",
        rescue_branch="bernstein/demo/parser.rescue-2",
        expected_branch_head="2" * 40,
    )
    assert envelope.payload.previous_attempt == PreviousAttempt(
        result_class=ResultClass.AGENT,
        message="the agent exited with code 3: KeyError: 'menu'",
        branch="bernstein/demo/parser",
        rescue_branch="bernstein/demo/parser.rescue-1",
    )

    assert (envelope.payload.model, envelope.payload.effort) == ("large-2", Effort.HIGH)
    assert envelope.payload.prices == Prices(
        input_micros=3_000_000, output_micros=15_000_000, cached_micros=300_000
    )
    assert (envelope.payload.allow_no_change, envelope.payload.commit_optional) == (True, True)
    assert envelope.payload.may_continue
    assert envelope.payload.reporting == Reporting(
        url="http://bernstein-operator.bernstein.svc:8081",
        token_file="/bernstein/token/token",
        interval_seconds=5,
    )
    assert envelope.payload.exchange == Exchange(question="Which café?", answer="The one at the corner.")


def test_an_abandonment_is_read_into_values() -> None:
    parsed = parse_result(json.dumps(document(f"result-{LATEST}")))
    detail = "the menu of the day has two prices\nand nobody says which one counts"
    assert parsed.abandonment == Abandonment(reason=AbandonReason.SPEC_UNDERDETERMINED, detail=detail)
    assert parsed.retry_after_seconds == 90
    assert (parsed.finish_percent, parsed.steps, parsed.tool_calls) == (20, 7, 12)
    assert (parsed.continued, parsed.question) == ("5a1d", "Which café?")
    assert parsed.usage.cost_unknown


def test_a_report_is_read_into_values() -> None:
    parsed = Report.parse(json.dumps(document(f"report-{LATEST}")))
    assert parsed.subject == ResultSubject(id="demo-parser-3f2a91-a2", attempt=2)
    assert parsed.usage == Usage(
        input_tokens=1200, output_tokens=340, cached_tokens=800, cost_micros=12_500, cost_unknown=False
    )
    assert (parsed.steps, parsed.tool_calls, parsed.continues) == (7, 12, "5a1d")
    assert parsed.result == parse_result(json.dumps(document(f"result-{LATEST}")))


def test_an_instruction_is_read_into_values() -> None:
    assert Instruction.parse(json.dumps(document(f"instruction-{LATEST}"))) == Instruction(
        finish="The run's budget is nearly used up.",
        stop=True,
        warnings=(Notice(id="2:timeout", text="60 s are left until the attempt's timeout."),),
        tokens=150_000,
        cost_micros=1_750_000,
        continuation=Continuation.ALLOWED,
    )


def test_equal_envelopes_are_equal_texts() -> None:
    one = parse_envelope((GOLDEN / f"envelope-{LATEST}.json").read_text())
    other = parse_envelope(json.dumps(dict(reversed(document(f"envelope-{LATEST}").items()))))
    assert one.to_json() == other.to_json()
    assert "\n" not in one.to_json()


OPTIONAL = ("deadline", "budget", "traceContext", "policyDecision", "classification")
OPTIONAL_IN_PAYLOAD = (
    "goal",
    "repository",
    "dependencies",
    "command",
    "model",
    "effort",
    "previousAttempt",
    "prices",
    "allowNoChange",
    "commitOptional",
    "mayContinue",
    "reporting",
    "exchange",
)


def test_what_is_optional_may_be_absent_or_null() -> None:
    absent, null = document(f"envelope-{LATEST}"), document(f"envelope-{LATEST}")
    for name in OPTIONAL:
        del absent[name]
        null[name] = None
    for name in OPTIONAL_IN_PAYLOAD:
        del absent["payload"][name]
        null["payload"][name] = None
    assert parse_envelope(json.dumps(absent)) == parse_envelope(json.dumps(null))
    assert accepted_by_schema(f"envelope-{LATEST}", absent)
    assert accepted_by_schema(f"envelope-{LATEST}", null)


TOLERATED: dict[str, tuple[str, Change]] = {
    "an envelope with a field of a later version": ("envelope", lambda d: d.update(later={"x": 1})),
    "a payload with one": ("envelope", lambda d: d["payload"].update(later=[1])),
    "an envelope of a later minor version": ("envelope", lambda d: d.update(contractVersion="1.7")),
    "a result with a field of a later version": ("result", lambda d: d.update(later={"x": 1})),
    "a result of a later minor version": ("result", lambda d: d.update(contractVersion="1.12")),
    "a result without usage": ("result", lambda d: d.pop("usage")),
    "a result without any head": ("result", lambda d: (d.pop("headBefore"), d.pop("headAfter"))),
    "a result without an abandonment": ("result", lambda d: d.update(abandonment=None)),
    "an abandonment without a detail": ("result", lambda d: d["abandonment"].pop("detail")),
    "an abandonment with a field of a later version": ("result", lambda d: d["abandonment"].update(x=1)),
    "a wait of thirty days": ("result", lambda d: d.update(retryAfterSeconds=2_592_000)),
    "a wait of no time": ("result", lambda d: d.update(retryAfterSeconds=0)),
    "a model's name of 128 characters": ("envelope", lambda d: d["payload"].update(model="é" * 128)),
    "limits without a mode": ("envelope", lambda d: (d["budget"].pop("mode"), d["budget"].pop("own"))),
    "a limit of no steps": ("envelope", lambda d: d["budget"].update(steps=0)),
    "an empty answer": ("envelope", lambda d: d["payload"]["exchange"].update(answer="")),
    "a finish with nothing left": ("result", lambda d: d.update(finishPercent=0)),
    "a session without a name": ("result", lambda d: d.update(continued="")),
    "a name of 256 characters": ("report", lambda d: d.update(continues="s" * 256)),
    "a report of nothing": (
        "report",
        lambda d: [d.pop(name) for name in ("usage", "steps", "toolCalls", "continues", "result")],
    ),
    "an instruction to nothing": (
        "instruction",
        lambda d: [
            d.pop(name) for name in ("finish", "stop", "warnings", "tokens", "costUsd", "continuation")
        ],
    ),
    "an instruction with a field of a later version": ("instruction", lambda d: d.update(later=1)),
    "dollars as a whole number": ("result", lambda d: d["usage"].update(costUsd=3)),
}


@pytest.mark.parametrize(("kind", "change"), TOLERATED.values(), ids=TOLERATED)
def test_what_a_reader_tolerates(kind: str, change: Change) -> None:
    fields = document(f"{kind}-{LATEST}", change)
    PARSERS[kind](json.dumps(fields))
    assert accepted_by_schema(f"{kind}-{LATEST}", fields)


REFUSED: dict[str, tuple[str, str, Change]] = {
    "unknown major": ("envelope", "contractVersion", lambda d: d.update(contractVersion="2.0")),
    "no version": ("envelope", "contractVersion", lambda d: d.pop("contractVersion")),
    "version that is none": ("envelope", "contractVersion", lambda d: d.update(contractVersion="one")),
    "foreign subject": ("envelope", "subject.type", lambda d: d["subject"].update(type="run")),
    "no actor": ("envelope", "actor", lambda d: d.pop("actor")),
    "grant without a profile": ("envelope", "actor.grant.profile", lambda d: d["actor"].update(grant={})),
    "another reply": ("envelope", "replyContract", lambda d: d.update(replyContract="attempt-result@2")),
    "payload that is a list": ("envelope", "payload", lambda d: d.update(payload=[])),
    "empty prompt": ("envelope", "payload.prompt", lambda d: d["payload"].update(prompt="")),
    "prompt that is a number": ("envelope", "payload.prompt", lambda d: d["payload"].update(prompt=7)),
    "attempt zero": ("envelope", "payload.attempt", lambda d: d["payload"].update(attempt=0)),
    "attempt that is true": ("envelope", "payload.attempt", lambda d: d["payload"].update(attempt=True)),
    "timeout in text": (
        "envelope",
        "payload.timeoutSeconds",
        lambda d: d["payload"].update(timeoutSeconds="9"),
    ),
    "timeout beyond bounds": (
        "envelope",
        "payload.timeoutSeconds",
        lambda d: d["payload"].update(timeoutSeconds=2**31),
    ),
    "url that is a flag": (
        "envelope",
        "payload.repository.url",
        lambda d: d["payload"]["repository"].update(url="--upload-pack=x"),
    ),
    "ref that is a flag": (
        "envelope",
        "payload.repository.ref",
        lambda d: d["payload"]["repository"].update(ref="-x"),
    ),
    "branch with two dots": (
        "envelope",
        "payload.repository.branch",
        lambda d: d["payload"]["repository"].update(branch="a..b"),
    ),
    "branch with a part that ends as a lock": (
        "envelope",
        "payload.repository.branch",
        lambda d: d["payload"]["repository"].update(branch="a.lock/b"),
    ),
    "branch with a line end": (
        "envelope",
        "payload.repository.branch",
        lambda d: d["payload"]["repository"].update(branch="a\nb"),
    ),
    "short commit": (
        "envelope",
        "payload.dependencies[0].commit",
        lambda d: d["payload"]["dependencies"][0].update(commit="abc"),
    ),
    "argument that is a number": (
        "envelope",
        "payload.command.args[1]",
        lambda d: d["payload"]["command"].update(args=["a", 1]),
    ),
    "argument with NUL": (
        "envelope",
        "payload.command.args[0]",
        lambda d: d["payload"]["command"].update(args=["a\0b"]),
    ),
    "author that breaks out": (
        "envelope",
        "payload.git.authorName",
        lambda d: d["payload"]["git"].update(authorName="a\nb"),
    ),
    "class that is none": (
        "envelope",
        "payload.previousAttempt.class",
        lambda d: d["payload"]["previousAttempt"].update({"class": "sad"}),
    ),
    "model with a longer name": ("envelope", "payload.model", lambda d: d["payload"].update(model="m" * 129)),
    "model with a line end": ("envelope", "payload.model", lambda d: d["payload"].update(model="m\nn")),
    "model without a name": ("envelope", "payload.model", lambda d: d["payload"].update(model="")),
    "effort that is none": ("envelope", "payload.effort", lambda d: d["payload"].update(effort="huge")),
    "negative budget": ("envelope", "budget.costUsd", lambda d: d["budget"].update(costUsd="-1")),
    "budget that is nan": ("envelope", "budget.costUsd", lambda d: d["budget"].update(costUsd="nan")),
    "budget with seven places": (
        "envelope",
        "budget.costUsd",
        lambda d: d["budget"].update(costUsd="0.0000001"),
    ),
    "negative tokens": ("envelope", "budget.tokens", lambda d: d["budget"].update(tokens=-1)),
    "result of another major": ("result", "contractVersion", lambda d: d.update(contractVersion="0.9")),
    "result without a class": ("result", "class", lambda d: d.pop("class")),
    "result without a subject": ("result", "subject", lambda d: d.pop("subject")),
    "reason of two words": ("result", "reason", lambda d: d.update(reason="No commit")),
    "exit code that is none": ("result", "exitCode", lambda d: d.update(exitCode=256)),
    "head that is a branch": ("result", "headAfter", lambda d: d.update(headAfter="main")),
    "negative spend": ("result", "usage.inputTokens", lambda d: d["usage"].update(inputTokens=-1)),
    "infinite spend": ("result", "usage.costUsd", lambda d: d["usage"].update(costUsd="inf")),
    "spend in a binary fraction": ("result", "usage.costUsd", lambda d: d["usage"].update(costUsd=0.1)),
    "abandonment without a reason": (
        "result",
        "abandonment.reason",
        lambda d: d["abandonment"].pop("reason"),
    ),
    "abandonment for a reason of its own": (
        "result",
        "abandonment.reason",
        lambda d: d["abandonment"].update(reason="bored"),
    ),
    "abandonment that is a word": (
        "result",
        "abandonment",
        lambda d: d.update(abandonment="other"),
    ),
    "wait beyond thirty days": (
        "result",
        "retryAfterSeconds",
        lambda d: d.update(retryAfterSeconds=2_592_001),
    ),
    "wait into the past": ("result", "retryAfterSeconds", lambda d: d.update(retryAfterSeconds=-1)),
    "mode that is none": ("envelope", "budget.mode", lambda d: d["budget"].update(mode="soft")),
    "negative steps": ("envelope", "budget.steps", lambda d: d["budget"].update(steps=-1)),
    "flag in text": ("envelope", "budget.own", lambda d: d["budget"].update(own="yes")),
    "argument to go on with that is a number": (
        "envelope",
        "payload.command.resumeArgs[0]",
        lambda d: d["payload"]["command"].update(resumeArgs=[1]),
    ),
    "price that is missing": (
        "envelope",
        "payload.prices.cachedUsd",
        lambda d: d["payload"]["prices"].pop("cachedUsd"),
    ),
    "negative price": (
        "envelope",
        "payload.prices.inputUsd",
        lambda d: d["payload"]["prices"].update(inputUsd="-3"),
    ),
    "endpoint that is no URL": (
        "envelope",
        "payload.reporting.url",
        lambda d: d["payload"]["reporting"].update(url="file:///etc/passwd"),
    ),
    "reports all the time": (
        "envelope",
        "payload.reporting.intervalSeconds",
        lambda d: d["payload"]["reporting"].update(intervalSeconds=0),
    ),
    "exchange without a question": (
        "envelope",
        "payload.exchange.question",
        lambda d: d["payload"]["exchange"].update(question=""),
    ),
    "finish with more than all left": ("result", "finishPercent", lambda d: d.update(finishPercent=101)),
    "question that is empty": ("result", "question", lambda d: d.update(question="")),
    "session of 257 characters": ("result", "continued", lambda d: d.update(continued="s" * 257)),
    "negative tool calls": ("result", "toolCalls", lambda d: d.update(toolCalls=-1)),
    "report without a subject": ("report", "subject", lambda d: d.pop("subject")),
    "report of another major": ("report", "contractVersion", lambda d: d.update(contractVersion="2.0")),
    "report of negative spend": ("report", "usage.costUsd", lambda d: d["usage"].update(costUsd="-1")),
    "report of infinite spend": ("report", "usage.costUsd", lambda d: d["usage"].update(costUsd="inf")),
    "report of spend that is a word": ("report", "usage", lambda d: d.update(usage="a lot")),
    "report with half a result": ("report", "result.class", lambda d: d["result"].pop("class")),
    "report of negative steps": ("report", "steps", lambda d: d.update(steps=-1)),
    "session of 257 characters that goes on": (
        "report",
        "continues",
        lambda d: d.update(continues="s" * 257),
    ),
    "instruction of another major": (
        "instruction",
        "contractVersion",
        lambda d: d.update(contractVersion="2.0"),
    ),
    "stop in text": ("instruction", "stop", lambda d: d.update(stop="now")),
    "warning without a text": ("instruction", "warnings[0].text", lambda d: d["warnings"][0].pop("text")),
    "warnings that are none": ("instruction", "warnings", lambda d: d.update(warnings="late")),
    "limit below nothing": ("instruction", "tokens", lambda d: d.update(tokens=-1)),
    "limit that is nan": ("instruction", "costUsd", lambda d: d.update(costUsd="nan")),
    "continuation that is none": ("instruction", "continuation", lambda d: d.update(continuation="maybe")),
    "digest of another kind": ("result", "digest", lambda d: d.update(digest="md5:0")),
}


@pytest.mark.parametrize(("kind", "path", "change"), REFUSED.values(), ids=REFUSED)
def test_what_breaks_the_contract_is_named_by_its_path(kind: str, path: str, change: Change) -> None:
    fields = document(f"{kind}-{LATEST}", change)
    with pytest.raises(ContractError) as refusal:
        PARSERS[kind](json.dumps(fields))
    assert refusal.value.path == path
    assert not accepted_by_schema(f"{kind}-{LATEST}", fields)


BEYOND_SCHEMAS: dict[str, tuple[str, Change]] = {
    "branch that ends in a line end": (
        "payload.repository.branch",
        lambda d: d["payload"]["repository"].update(branch="a\n"),
    ),
    "command for another Pod": ("commandId", lambda d: d.update(commandId="other")),
    "version of another attempt": ("subject.version", lambda d: d["subject"].update(version=3)),
    "key of another attempt": ("idempotencyKey", lambda d: d.update(idempotencyKey="uid:3")),
    "deadline without a zone": ("deadline", lambda d: d.update(deadline="2026-12-01T12:00:00")),
    "deadline that is no moment": ("deadline", lambda d: d.update(deadline="tomorrow")),
}


@pytest.mark.parametrize(("path", "change"), BEYOND_SCHEMAS.values(), ids=BEYOND_SCHEMAS)
def test_what_no_schema_can_say_is_checked_too(path: str, change: Change) -> None:
    with pytest.raises(ContractError) as refusal:
        parse_envelope(json.dumps(document(f"envelope-{LATEST}", change)))
    assert refusal.value.path == path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"text"',
        "NaN",
        '{"contractVersion": Infinity}',
        "[" * 100_000,
        "9" * 5_000,
        '{"a": "\\ud800',
    ],
    ids=[
        "empty",
        "cut",
        "list",
        "text",
        "nan",
        "infinity",
        "too deep",
        "too long a number",
        "cut in a character",
    ],
)
@pytest.mark.parametrize("kind", PARSERS)
def test_what_is_no_document_is_a_contract_error(kind: str, text: str) -> None:
    with pytest.raises(ContractError):
        PARSERS[kind](text)


def test_half_a_character_is_no_text() -> None:
    text = json.dumps(document(f"envelope-{LATEST}", lambda d: d["payload"].update(prompt="\ud800")))
    with pytest.raises(ContractError, match=re.escape("payload.prompt: half of a surrogate pair")):
        parse_envelope(text)


def test_a_digest_binds_to_every_byte() -> None:
    assert digest_of("{}") == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest_of("{} ") != digest_of("{}")


def test_usage_is_read_by_itself_too() -> None:
    assert parse_usage({"inputTokens": 3, "costUsd": "0.25"}) == Usage(input_tokens=3, cost_micros=250_000)
    with pytest.raises(ContractError, match="usage"):
        parse_usage("a lot")


MODULES = {**vars(envelope_module), **vars(result_module), **vars(report_module)}


def described(
    cls: type, node: Mapping[str, Any], root: Mapping[str, Any]
) -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield class, JSON names and required JSON names as the schema has them, for a class and its parts."""
    yield cls.__name__, set(node["properties"]), set(node.get("required", ()))
    for field in dataclasses.fields(cls):
        inner = node["properties"].get(json_name(field), {})
        inner = inner.get("items", inner)
        part = next((MODULES[word] for word in re.findall(r"\w+", str(field.type)) if word in MODULES), None)
        if "properties" in inner and dataclasses.is_dataclass(part):
            assert isinstance(part, type)
            yield from described(part, inner, root)


#: Required on the wire although the class has a value for them: it is what this version writes.
ALWAYS_WRITTEN = {"contractVersion", "replyContract", "type"}


@pytest.mark.parametrize(
    ("cls", "name"),
    [(Envelope, "envelope"), (Result, "result"), (Report, "report"), (Instruction, "instruction")],
    ids=["envelope", "result", "report", "instruction"],
)
def test_the_schema_has_the_fields_of_the_classes(cls: type, name: str) -> None:
    whole = schema(f"{name}-{LATEST}")
    for class_name, names, required in described(cls, whole, whole):
        fields = dataclasses.fields(MODULES[class_name])
        mandatory = {
            json_name(field)
            for field in fields
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        }
        assert {json_name(field) for field in fields} == names, class_name
        assert mandatory == required - ALWAYS_WRITTEN, class_name


def test_the_schemas_know_every_result_class() -> None:
    words = {str(word) for word in ResultClass}
    assert set(schema(f"result-{LATEST}")["properties"]["class"]["enum"]) == words
    assert set(schema(f"envelope-{LATEST}")["$defs"]["class"]["enum"]) == words


def test_the_schemas_know_both_modes_and_every_answer_to_a_continuation() -> None:
    budget = schema(f"envelope-{LATEST}")["properties"]["budget"]["properties"]
    assert budget["mode"]["enum"] == [*BudgetMode, None]
    answers = schema(f"instruction-{LATEST}")["properties"]["continuation"]["enum"]
    assert answers == [*Continuation, None]


def test_the_schemas_know_every_effort_and_every_reason_to_give_up() -> None:
    efforts = schema(f"envelope-{LATEST}")["properties"]["payload"]["properties"]["effort"]["enum"]
    assert efforts == [*Effort, None]
    abandonment = schema(f"result-{LATEST}")["properties"]["abandonment"]["properties"]
    assert abandonment["reason"]["enum"] == list(AbandonReason)


def test_the_reasons_to_give_up_stand_in_their_categories() -> None:
    assert list(ABANDON_CATEGORIES) == list(AbandonReason)
    grouped = {category: list(ABANDON_CATEGORIES.values()).count(category) for category in AbandonCategory}
    assert list(grouped.values()) == [4, 4, 3, 1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("env_broken", AbandonReason.ENV_BROKEN),
        (" Env_Broken\n", AbandonReason.ENV_BROKEN),
        ("OTHER", AbandonReason.OTHER),
        ("env-broken", None),
        ("env broken", None),
        ("", None),
    ],
    ids=["as it is", "in another case and with space around", "the catch-all", "hyphen", "space", "nothing"],
)
def test_a_reason_to_give_up_is_recognised(text: str, reason: AbandonReason | None) -> None:
    assert abandon_reason(text) is reason


@pytest.mark.parametrize(
    ("reason", "detail", "expected"),
    [
        ("Unsafe_Change", " it drops a table ", (AbandonReason.UNSAFE_CHANGE, "it drops a table")),
        ("unsafe_change", "", (AbandonReason.UNSAFE_CHANGE, "")),
        (" too hard ", "for me", (AbandonReason.OTHER, "too hard: for me")),
        ("too hard", "", (AbandonReason.OTHER, "too hard")),
        (" ", "for me", (AbandonReason.OTHER, "for me")),
        ("", "", (AbandonReason.OTHER, "")),
    ],
    ids=["known", "without a detail", "unknown", "unknown and alone", "only a detail", "nothing"],
)
def test_nothing_that_was_said_of_giving_up_is_lost(
    reason: str, detail: str, expected: tuple[AbandonReason, str]
) -> None:
    told = Abandonment.told(reason, detail)
    assert (told.reason, told.detail) == expected


@pytest.mark.parametrize(
    ("reason", "result_class"),
    [
        ("CredentialsRefused", ResultClass.CONTRACT),
        ("ModelUnknown", ResultClass.CONTRACT),
        ("ProviderUnavailable", ResultClass.TRANSIENT),
        ("ProviderOverloaded", ResultClass.CAPACITY),
        ("RateLimited", ResultClass.CAPACITY),
    ],
)
def test_a_fault_of_a_provider_has_its_class(reason: str, result_class: ResultClass) -> None:
    assert PROVIDER_FAULTS[Reason(reason)] is result_class


@pytest.mark.parametrize("reason", Reason, ids=str)
def test_every_reason_of_the_runner_can_be_read(reason: Reason) -> None:
    assert parse_result(result(reason=reason).to_json()).reason == reason
