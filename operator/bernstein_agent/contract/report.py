"""What an attempt tells the operator while it works, and what it hears back.

Reports hold totals of the attempt and never what came since the last one: one that is lost, repeated or
overtaken changes nothing. The answer holds everything that is wanted of the attempt at that moment, so one
that is lost is made up for by the next.
"""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self

from bernstein_agent.contract.encoding import encode, spelled
from bernstein_agent.contract.money import dollars_text
from bernstein_agent.contract.reader import Reader, read_version
from bernstein_agent.contract.result import Result, ResultSubject, Usage, counted, parse_usage
from bernstein_agent.contract.vocabulary import CONTRACT_VERSION

REPORT_PATH: Final = "/v1/attempts/{pod}/report"
"""Where a report is posted to, below the endpoint's URL."""
MAX_REPORT_BYTES: Final = 1024 * 1024


class Continuation(StrEnum):
    """What the operator says to a continuation that was announced."""

    ALLOWED = "allowed"
    """It is on record, and may begin."""
    REFUSED = "refused"
    """The task has had its one, or may have none."""
    PENDING = "pending"
    """It isn't on record yet; report again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an attempt has come to so far.

    Attributes:
        usage: totals of the attempt.
        steps: turns of the agent.
        tool_calls: calls of tools.
        continues: the session that the runner wants to go on with since it left no commit; empty where the
            program has no name for it, None where it doesn't want to.
        result: how the attempt ended, in its last report only.
    """

    contract_version: str = CONTRACT_VERSION
    subject: ResultSubject
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    tool_calls: int = 0
    continues: str | None = None
    result: Result | None = None

    def to_json(self) -> str:
        """Return the document in one line."""
        return json.dumps(encode(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a report; fields that this version doesn't know are ignored.

        Raises:
            ContractError: not JSON, an unknown major version, a field missing or malformed; its path is
                named.
        """
        reader = Reader.of(text)
        subject = reader.child("subject")
        return cls(
            contract_version=read_version(reader, supported_major=1),
            subject=ResultSubject(
                id=subject.text("id", limit=253), attempt=subject.integer("attempt", least=1)
            ),
            usage=Usage() if reader.get("usage") is None else parse_usage(reader.get("usage")),
            steps=counted(reader, "steps"),
            tool_calls=counted(reader, "toolCalls"),
            continues=reader.optional("continues", lambda name: reader.text(name, limit=256, empty=True)),
            result=reader.optional("result", lambda name: Result.read(reader.child(name))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What is wanted of an attempt at this moment.

    Attributes:
        finish: why the agent is to come to an end by itself soon, for its prompt; None where it isn't.
        stop: whether it is to be stopped now.
        warnings: what its agent should hear, each with a name that makes it the same one in a repeat.
        tokens: how many tokens it may use now in all, where that has changed; None otherwise.
        cost_micros: what it may spend now in all, where that has changed; None otherwise.
        continuation: the answer to one that was announced; None where none was.
    """

    contract_version: str = CONTRACT_VERSION
    finish: str | None = None
    stop: bool = False
    warnings: "tuple[Notice, ...]" = ()
    tokens: int | None = None
    cost_micros: int | None = field(default=None, metadata=spelled("costUsd", dollars_text))
    continuation: Continuation | None = None

    def to_json(self) -> str:
        """Return the document in one line."""
        return json.dumps(encode(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an instruction; fields that this version doesn't know are ignored.

        Raises:
            ContractError: not JSON, an unknown major version, a field malformed; its path is named.
        """
        reader = Reader.of(text)
        return cls(
            contract_version=read_version(reader, supported_major=1),
            finish=reader.optional("finish", reader.text),
            stop=reader.flag("stop"),
            warnings=tuple(
                Notice(id=one.text("id"), text=one.text("text")) for one in reader.children("warnings")
            ),
            tokens=reader.optional("tokens", reader.integer),
            cost_micros=reader.optional("costUsd", reader.dollars),
            continuation=reader.optional("continuation", lambda name: reader.word(name, Continuation)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that an agent should hear once."""

    id: str
    text: str
