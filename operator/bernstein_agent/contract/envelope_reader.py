"""Reading an envelope: what a runner of this version can act on, and why it can't act on the rest."""

from typing import Final

from bernstein_agent.contract.envelope import (
    SUBJECT_TYPE,
    Actor,
    Budget,
    Command,
    DependencyRef,
    Envelope,
    Exchange,
    GitIdentity,
    Grant,
    Payload,
    PolicyDecision,
    PreviousAttempt,
    Prices,
    Reporting,
    Repository,
    Subject,
    TraceContext,
)
from bernstein_agent.contract.reader import Reader, read_version
from bernstein_agent.contract.vocabulary import REPLY_CONTRACT, BudgetMode, Effort, ResultClass

MAX_BRANCH_BYTES: Final = 640
MAX_SECONDS: Final = 2**31 - 1

COMMIT_PATTERN: Final = r"^([0-9a-f]{40}|[0-9a-f]{64})$"
BRANCH_PATTERN: Final = r"^(?![-/.])(?!.*(\.\.|//|@\{|\.lock(/|$)|[/.]$))[^\x00-\x20\x7f~^:?*\[\\]+$"
URL_PATTERN: Final = r"^[^-\s\x00-\x1f][^\s\x00-\x1f]*$"
HTTP_PATTERN: Final = r"^https?://[^\s\x00-\x1f]+$"
REF_PATTERN: Final = r"^[^-\s\x00-\x1f:][^\s\x00-\x1f:]*$"
MODEL_PATTERN: Final = r"^[^\x00-\x1f\x7f]{1,128}$"
_ONE_LINE: Final = r"^[^<>\x00-\x1f]+$"


def parse_envelope(text: str) -> Envelope:
    """Read an envelope; fields that this version doesn't know are ignored.

    Raises:
        ContractError: not JSON, an unknown major version, a field missing or malformed (its path is named),
            or parts that contradict each other.
    """
    reader = Reader.of(text)
    envelope = Envelope(
        contract_version=read_version(reader, supported_major=1),
        correlation_id=reader.text("correlationId"),
        command_id=reader.text("commandId"),
        idempotency_key=reader.text("idempotencyKey"),
        actor=_actor(reader.child("actor")),
        subject=_subject(reader.child("subject")),
        tenant=reader.text("tenant"),
        deadline=reader.optional("deadline", reader.moment),
        budget=_budget(reader),
        trace_context=reader.optional("traceContext", lambda name: _trace(reader.child(name))),
        policy_decision=reader.optional("policyDecision", lambda name: _policy(reader.child(name))),
        classification=reader.optional("classification", reader.text),
        reply_contract=reader.text("replyContract"),
        payload=_payload(reader.child("payload")),
    )
    _check_agreement(envelope, reader)
    return envelope


def _check_agreement(envelope: Envelope, reader: Reader) -> None:
    if envelope.reply_contract != REPLY_CONTRACT:
        raise reader.fail("replyContract", f"{envelope.reply_contract!r} is not {REPLY_CONTRACT!r}")
    if envelope.command_id != envelope.subject.id:
        raise reader.fail("commandId", f"{envelope.command_id!r} is not subject.id {envelope.subject.id!r}")
    attempt = envelope.payload.attempt
    if envelope.subject.version != attempt:
        raise reader.fail("subject.version", f"{envelope.subject.version} is not payload.attempt {attempt}")
    if not envelope.idempotency_key.endswith(f":{attempt}"):
        raise reader.fail("idempotencyKey", f"{envelope.idempotency_key!r} does not end in :{attempt}")


def _actor(reader: Reader) -> Actor:
    grant = Grant(profile=reader.child("grant").text("profile"))
    return Actor(identity=reader.text("identity"), grant=grant)


def _subject(reader: Reader) -> Subject:
    kind = reader.text("type", pattern=f"^{SUBJECT_TYPE}$")
    return Subject(type=kind, id=reader.text("id", limit=253), version=reader.integer("version", least=1))


def _budget(envelope: Reader) -> Budget:
    if envelope.get("budget") is None:
        return Budget()
    reader = envelope.child("budget")
    return Budget(
        tool_calls=reader.optional("toolCalls", reader.integer),
        steps=reader.optional("steps", reader.integer),
        mode=reader.optional("mode", lambda name: reader.word(name, BudgetMode)) or BudgetMode.GRACEFUL,
        own=reader.flag("own"),
        tokens=reader.optional("tokens", reader.integer),
        cost_micros=reader.optional("costUsd", reader.dollars),
    )


def _trace(reader: Reader) -> TraceContext:
    return TraceContext(
        traceparent=reader.text("traceparent"), tracestate=reader.optional("tracestate", reader.text)
    )


def _policy(reader: Reader) -> PolicyDecision:
    return PolicyDecision(id=reader.text("id"), version=reader.text("version"), reason=reader.text("reason"))


def _payload(reader: Reader) -> Payload:
    previous = reader.optional("previousAttempt", lambda name: _previous(reader.child(name)))
    return Payload(
        goal=reader.text("goal", empty=True) if reader.get("goal") is not None else "",
        title=reader.text("title"),
        prompt=reader.text("prompt"),
        role=reader.text("role"),
        run=reader.text("run"),
        task=reader.text("task"),
        attempt=reader.integer("attempt", least=1),
        timeout_seconds=reader.integer("timeoutSeconds", least=1, most=MAX_SECONDS),
        repository=reader.optional("repository", lambda name: _repository(reader.child(name))),
        dependencies=tuple(_dependency(item) for item in reader.children("dependencies")),
        adapter=reader.text("adapter"),
        command=_command(reader),
        model=reader.optional("model", lambda name: reader.text(name, pattern=MODEL_PATTERN)),
        effort=reader.optional("effort", lambda name: reader.word(name, Effort)),
        git=_git(reader.child("git")),
        previous_attempt=previous,
        prices=reader.optional("prices", lambda name: _prices(reader.child(name))),
        allow_no_change=reader.flag("allowNoChange"),
        commit_optional=reader.flag("commitOptional"),
        may_continue=reader.flag("mayContinue"),
        reporting=reader.optional("reporting", lambda name: _reporting(reader.child(name))),
        exchange=reader.optional("exchange", lambda name: _exchange(reader.child(name))),
    )


def _repository(reader: Reader) -> Repository:
    return Repository(
        url=reader.text("url", pattern=URL_PATTERN),
        ref=reader.text("ref", pattern=REF_PATTERN),
        base_commit=reader.optional("baseCommit", lambda name: reader.text(name, pattern=COMMIT_PATTERN)),
        branch=branch(reader, "branch"),
        rescue_branch=branch(reader, "rescueBranch"),
        expected_branch_head=reader.optional(
            "expectedBranchHead", lambda name: reader.text(name, pattern=COMMIT_PATTERN)
        ),
    )


def _dependency(reader: Reader) -> DependencyRef:
    return DependencyRef(
        name=reader.text("name"),
        commit=reader.text("commit", pattern=COMMIT_PATTERN),
        branch=branch(reader, "branch"),
    )


def _command(payload: Reader) -> Command:
    if payload.get("command") is None:
        return Command()
    reader = payload.child("command")
    return Command(
        args=reader.texts("args"),
        resume_args=reader.texts("resumeArgs"),
        session_id_path=reader.optional("sessionIdPath", reader.text),
    )


def _prices(reader: Reader) -> Prices:
    return Prices(
        input_micros=reader.dollars("inputUsd"),
        output_micros=reader.dollars("outputUsd"),
        cached_micros=reader.dollars("cachedUsd"),
    )


def _reporting(reader: Reader) -> Reporting:
    return Reporting(
        url=reader.text("url", pattern=HTTP_PATTERN),
        token_file=reader.text("tokenFile"),
        interval_seconds=reader.integer("intervalSeconds", least=1, most=MAX_SECONDS),
    )


def _exchange(reader: Reader) -> Exchange:
    return Exchange(question=reader.text("question"), answer=reader.text("answer", empty=True))


def _git(reader: Reader) -> GitIdentity:
    return GitIdentity(
        author_name=reader.text("authorName", pattern=_ONE_LINE),
        author_email=reader.text("authorEmail", pattern=_ONE_LINE),
    )


def _previous(reader: Reader) -> PreviousAttempt:
    return PreviousAttempt(
        result_class=reader.word("class", ResultClass),
        message=reader.text("message", empty=True) if reader.get("message") is not None else "",
        branch=reader.optional("branch", lambda name: branch(reader, name)),
        rescue_branch=reader.optional("rescueBranch", lambda name: branch(reader, name)),
    )


def branch(reader: Reader, name: str) -> str:
    """Return a required field that is a branch name as git accepts it."""
    return reader.text(name, pattern=BRANCH_PATTERN, limit=MAX_BRANCH_BYTES)
