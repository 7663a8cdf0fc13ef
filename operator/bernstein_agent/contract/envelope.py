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
from bernstein_agent.contract.vocabulary import (
    CONTRACT_VERSION,
    REPLY_CONTRACT,
    BudgetMode,
    Effort,
    ResultClass,
)

SUBJECT_TYPE: Final = "attempt"
_MILLION: Final = 1_000_000


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
    """The attempt's hard limits; None is unbounded, and 0 is nothing left.

    Attributes:
        steps: turns of the agent.
        mode: how it meets their end.
        own: whether tokens and dollars are what is left of the task's own budget, rather than of its run's.
    """

    tool_calls: int | None = None
    steps: int | None = None
    mode: BudgetMode = BudgetMode.GRACEFUL
    own: bool = False
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
    """Program and arguments of adapter ``command``; empty for the others.

    Attributes:
        resume_args: those that go on with a session that has ended; ``{session_id}`` stands for it.
        session_id_path: where a JSON line of its output names the session: fields with dots between them.
    """

    args: tuple[str, ...] = ()
    resume_args: tuple[str, ...] = ()
    session_id_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a million tokens of the attempt's model cost; for programs that tell tokens and no costs."""

    input_micros: int = field(metadata=spelled("inputUsd", dollars_text))
    output_micros: int = field(metadata=spelled("outputUsd", dollars_text))
    cached_micros: int = field(metadata=spelled("cachedUsd", dollars_text))

    def cost(self, *, input_tokens: int, output_tokens: int, cached_tokens: int) -> int:
        """Return what so many tokens cost in micro-dollars; one that is begun counts whole."""
        millionths = (
            input_tokens * self.input_micros
            + output_tokens * self.output_micros
            + cached_tokens * self.cached_micros
        )
        return -(-millionths // _MILLION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """Where the attempt reports what it has spent.

    Attributes:
        url: of the operator's endpoint, to which ``/v1/attempts/<Pod>/report`` is added.
        token_file: holds the bearer token to show there; it is renewed, so it is read each time.
        interval_seconds: between two reports.
    """

    url: str
    token_file: str
    interval_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What the task asked a person, and the answer."""

    question: str
    answer: str


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
        prices: of the model; None where nobody knows.
        allow_no_change: whether it may succeed without a commit if it says why none was needed.
        commit_optional: whether nothing of its work is to be kept, so that nobody misses a commit.
        may_continue: whether its agent may be told once that it left no commit.
        reporting: None where nobody listens.
        exchange: the last question and its answer; None where nothing was asked.
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
    prices: Prices | None = None
    allow_no_change: bool = False
    commit_optional: bool = False
    may_continue: bool = False
    reporting: Reporting | None = None
    exchange: Exchange | None = None


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
