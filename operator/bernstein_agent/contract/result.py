"""The result: an attempt's last word, small enough for a container's termination message.

The kubelet keeps 4096 bytes of it and cuts the rest without a word, which would leave broken JSON. So the
writer cuts by itself: first the summary, then the message, then the detail of an abandonment; whatever
decisions rest on always fits.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Self

from bernstein_agent.contract.abandonment import Abandonment
from bernstein_agent.contract.encoding import encode, spelled
from bernstein_agent.contract.envelope_reader import COMMIT_PATTERN, branch
from bernstein_agent.contract.money import dollars_text
from bernstein_agent.contract.reader import Reader, read_version
from bernstein_agent.contract.vocabulary import CONTRACT_VERSION, ResultClass

MAX_MESSAGE_BYTES: Final = 4096
"""What the kubelet keeps of a termination message."""

MAX_RETRY_AFTER_SECONDS: Final = 30 * 86_400

CUT_MARK: Final = "…"
REASON_PATTERN: Final = r"^[A-Z][A-Za-z0-9]{0,127}$"
DIGEST_PATTERN: Final = r"^sha256:[0-9a-f]{64}$"
_NO_DIGEST: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSubject:
    """Whose result it is: the Pod's name and the attempt's number."""

    id: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an attempt spent in all, as far as its program reported it. Input leaves cached tokens out.

    Attributes:
        cost_unknown: whether its program told no costs, or some that can't be read, and no price is known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_micros: int = field(default=0, metadata=spelled("costUsd", dollars_text))
    cost_unknown: bool = False

    @property
    def tokens(self) -> int:
        """What counts against a limit of tokens: sent and received ones, cached ones left out."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How an attempt ended.

    Attributes:
        reason: CamelCase, for conditions and scripts.
        exit_code: of the agent's program; None where none ran to its end.
        head_before: the commit of the repository that the attempt started from, before dependencies were
            merged onto it; it is on the server, so that a retry can start from it.
        head_after: the last commit of the agent's own, or ``head_before`` where it made none.
        branch: where ``head_after`` was pushed to; None where nothing was.
        rescue_branch: where unfinished work was saved to; None where nothing was.
        summary: the agent's last words.
        message: one line for people.
        abandonment: why the agent gave the task up; None where it didn't.
        retry_after_seconds: how long a provider asks to wait, from the attempt's end; None where none does.
        finish_percent: how much of its budget was left when it was given its final turn; None where it
            wasn't.
        steps: turns that it took.
        tool_calls: calls of tools, as far as its program tells them.
        continued: the session in which it was told that it had left no commit; None where it wasn't.
        question: what it asks a person; None where it doesn't.
        digest: of the envelope that the attempt acted on; empty where it couldn't be read.
    """

    contract_version: str = CONTRACT_VERSION
    subject: ResultSubject
    result_class: ResultClass = field(metadata=spelled("class"))
    reason: str
    exit_code: int | None = None
    head_before: str | None = None
    head_after: str | None = None
    branch: str | None = None
    rescue_branch: str | None = None
    usage: Usage = Usage()
    summary: str = ""
    message: str = ""
    abandonment: Abandonment | None = None
    retry_after_seconds: int | None = None
    finish_percent: int | None = None
    steps: int = 0
    tool_calls: int = 0
    continued: str | None = None
    question: str | None = None
    digest: str = _NO_DIGEST

    def to_json(self) -> str:
        """Return the document in one line, whole, however long."""
        return json.dumps(encode(self), ensure_ascii=False, separators=(",", ":"))

    def to_termination_message(self) -> str:
        """Return the document in at most 4096 bytes of UTF-8, what matters least cut first."""
        result: Result = self
        for text, with_text in _CUT_IN_ORDER:
            cut = _fitted(result, text(result), with_text)
            if _size(cut) <= MAX_MESSAGE_BYTES:
                return cut.to_json()
            result = with_text(result, "")
        return result.to_json()

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the result that ``reader`` holds."""
        return cls(
            contract_version=read_version(reader, supported_major=1),
            subject=_subject(reader.child("subject")),
            result_class=reader.word("class", ResultClass),
            reason=reader.text("reason", pattern=REASON_PATTERN),
            exit_code=reader.optional("exitCode", lambda name: reader.integer(name, least=-128, most=255)),
            head_before=_commit(reader, "headBefore"),
            head_after=_commit(reader, "headAfter"),
            branch=reader.optional("branch", lambda name: branch(reader, name)),
            rescue_branch=reader.optional("rescueBranch", lambda name: branch(reader, name)),
            usage=Usage() if reader.get("usage") is None else _usage(reader.child("usage")),
            summary=_free_text(reader, "summary"),
            message=_free_text(reader, "message"),
            abandonment=reader.optional("abandonment", lambda name: Abandonment.read(reader.child(name))),
            retry_after_seconds=reader.optional("retryAfterSeconds", lambda name: retry_after(reader, name)),
            finish_percent=reader.optional("finishPercent", lambda name: reader.integer(name, most=100)),
            steps=counted(reader, "steps"),
            tool_calls=counted(reader, "toolCalls"),
            continued=reader.optional("continued", lambda name: reader.text(name, limit=256, empty=True)),
            question=reader.optional("question", reader.text),
            digest=_digest(reader),
        )


def parse_result(text: str) -> Result:
    """Read a termination message; fields that this version doesn't know are ignored.

    Raises:
        ContractError: not JSON (a message that was cut isn't), an unknown major version, a field missing or
            malformed; its path is named.
    """
    return Result.read(Reader.of(text))


def parse_usage(value: object, path: str = "usage") -> Usage:
    """Read a usage object as it comes out of ``json.loads``.

    Raises:
        ContractError: negative, not finite, too large, or not a number; the field's path is named.
    """
    return _usage(Reader(value, path))


def retry_after(reader: Reader, name: str) -> int:
    """Return a required number of seconds that a provider asks to wait, at most 30 days."""
    return reader.integer(name, most=MAX_RETRY_AFTER_SECONDS)


def digest_of(text: str) -> str:
    """Return the digest that binds a result to the very envelope it answers."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _subject(reader: Reader) -> ResultSubject:
    return ResultSubject(id=reader.text("id", limit=253), attempt=reader.integer("attempt", least=1))


def _usage(reader: Reader) -> Usage:
    return Usage(
        input_tokens=counted(reader, "inputTokens"),
        output_tokens=counted(reader, "outputTokens"),
        cached_tokens=counted(reader, "cachedTokens"),
        cost_micros=0 if reader.get("costUsd") is None else reader.dollars("costUsd"),
        cost_unknown=reader.flag("costUnknown"),
    )


def counted(reader: Reader, name: str) -> int:
    """Return an optional whole number; absent is 0."""
    return 0 if reader.get(name) is None else reader.integer(name)


def _commit(reader: Reader, name: str) -> str | None:
    return reader.optional(name, lambda field_name: reader.text(field_name, pattern=COMMIT_PATTERN))


def _free_text(reader: Reader, name: str) -> str:
    return "" if reader.get(name) is None else reader.text(name, empty=True)


def _digest(reader: Reader) -> str:
    return reader.text("digest", pattern=DIGEST_PATTERN) if reader.get("digest") else _NO_DIGEST


def _size(result: Result) -> int:
    return len(result.to_json().encode())


def _shortened(text: str, size: int) -> str:
    return text if size >= len(text) else text[:size] + CUT_MARK


def _detail(result: Result) -> str:
    return result.abandonment.detail if result.abandonment else ""


def _question(result: Result) -> str:
    return result.question or ""


def _with_question(result: Result, text: str) -> Result:
    return replace(result, question=text or CUT_MARK) if result.question else result


def _with_detail(result: Result, text: str) -> Result:
    told = result.abandonment
    return replace(result, abandonment=replace(told, detail=text)) if told else result


_CUT_IN_ORDER: Final[tuple[tuple[Callable[[Result], str], Callable[[Result, str], Result]], ...]] = (
    (lambda result: result.summary, lambda result, text: replace(result, summary=text)),
    (lambda result: result.message, lambda result, text: replace(result, message=text)),
    (_detail, _with_detail),
    (_question, _with_question),
)


def _fitted(whole: Result, text: str, with_text: Callable[[Result, str], Result]) -> Result:
    """Return ``whole`` with the most of ``text`` that lets it fit, else with the least.

    Escapes make the JSON's length jump, so the length is searched for rather than computed.
    """
    if _size(whole) <= MAX_MESSAGE_BYTES:
        return whole

    def cut(size: int) -> Result:
        return with_text(whole, _shortened(text, size))

    least, most = 0, max(len(text) - 1, 0)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if _size(cut(middle)) <= MAX_MESSAGE_BYTES else (least, middle - 1)
    return cut(least)
