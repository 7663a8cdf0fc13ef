"""The envelope: everything that an attempt is told, and all it is told.

It reaches the Pod as a file, never as arguments or environment, because Kubernetes expands ``$(NAME)``
there. Unset optional fields are absent; in a budget, absent means unbounded.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bernstein_agent.contract.encoding import encode, spelled
from bernstein_agent.contract.money import dollars_text
from bernstein_agent.contract.reader import Reader, read_version
from bernstein_agent.contract.vocabulary import CONTRACT_VERSION, REPLY_CONTRACT, Effort, ResultClass

SUBJECT_TYPE: Final = "attempt"
MAX_BRANCH_BYTES: Final = 640
MAX_SECONDS: Final = 2**31 - 1

COMMIT_PATTERN: Final = r"^([0-9a-f]{40}|[0-9a-f]{64})$"
BRANCH_PATTERN: Final = r"^(?![-/.])(?!.*(\.\.|//|@\{|\.lock(/|$)|[/.]$))[^\x00-\x20\x7f~^:?*\[\\]+$"
URL_PATTERN: Final = r"^[^-\s\x00-\x1f][^\s\x00-\x1f]*$"
REF_PATTERN: Final = r"^[^-\s\x00-\x1f:][^\s\x00-\x1f:]*$"
MODEL_PATTERN: Final = r"^[^\x00-\x1f\x7f]{1,128}$"
_ONE_LINE: Final = r"^[^<>\x00-\x1f]+$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What the attempt may do; it ends with the attempt."""

    profile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """On whose behalf the attempt acts."""

    identity: str
    grant: Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What the envelope is about: ``id`` is the Pod's name, ``version`` the attempt's number."""

    type: str = SUBJECT_TYPE
    id: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The attempt's hard limits; None is unbounded."""

    tool_calls: int | None = None
    tokens: int | None = None
    cost_micros: int | None = field(default=None, metadata=spelled("costUsd", dollars_text))


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceContext:
    """W3C trace context of whatever caused the attempt."""

    traceparent: str
    tracestate: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    """The decision of a policy that let the attempt start."""

    id: str
    version: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Where the code is and where the work goes.

    Attributes:
        ref: branch, tag or commit, used where there is no ``base_commit``.
        base_commit: the commit that an earlier attempt resolved ``ref`` to.
        expected_branch_head: the commit that ``branch`` must be at when it is pushed; None means what it
            is at when the attempt begins.
    """

    url: str
    ref: str
    base_commit: str | None = None
    branch: str
    rescue_branch: str
    expected_branch_head: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyRef:
    """A task whose commit is merged into the base."""

    name: str
    commit: str
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Program and arguments of adapter ``command``; empty for the others."""

    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GitIdentity:
    """Who the commits are by."""

    author_name: str
    author_email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousAttempt:
    """How the attempt before this one ended."""

    result_class: ResultClass = field(metadata=spelled("class"))
    message: str = ""
    branch: str | None = None
    rescue_branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """The work itself.

    Attributes:
        timeout_seconds: counts from the runner's own start.
        model: what the agent's program should use; None leaves it to the program.
        effort: how hard it should try; None likewise.
    """

    goal: str = ""
    title: str
    prompt: str
    role: str
    run: str
    task: str
    attempt: int
    timeout_seconds: int
    repository: Repository | None = None
    dependencies: tuple[DependencyRef, ...] = ()
    adapter: str
    command: Command = Command()
    model: str | None = None
    effort: Effort | None = None
    git: GitIdentity
    previous_attempt: PreviousAttempt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One attempt's instructions.

    Attributes:
        correlation_id: the run's UID.
        command_id: the Pod's name.
        idempotency_key: ``<task UID>:<attempt>``.
        tenant: the namespace.
        deadline: the moment after which nothing may run; None where there is only a timeout.
    """

    contract_version: str = CONTRACT_VERSION
    correlation_id: str
    command_id: str
    idempotency_key: str
    actor: Actor
    subject: Subject
    tenant: str
    deadline: datetime | None = None
    budget: Budget = Budget()
    trace_context: TraceContext | None = None
    policy_decision: PolicyDecision | None = None
    classification: str | None = None
    reply_contract: str = REPLY_CONTRACT
    payload: Payload

    def to_json(self) -> str:
        """Return the document in one line, keys sorted, so that equal envelopes are equal texts."""
        return json.dumps(encode(self), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def idempotency_key(task_uid: str, attempt: int) -> str:
    """Return the key that names one attempt's effects however often they are asked for."""
    return f"{task_uid}:{attempt}"


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
    return (
        Command() if payload.get("command") is None else Command(args=payload.child("command").texts("args"))
    )


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
