"""What a script can ask of the scripted agent, one frozen value for each directive."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from bernstein_agent.contract import ResultClass

FAILURES: Final = frozenset(ResultClass) - {ResultClass.SUCCESS, ResultClass.ABANDONED}
"""The classes that a program can say that it fails as; giving up has its own verb."""


@dataclass(frozen=True, slots=True)
class Write:
    """Write a file, or append to it."""

    path: str
    text: str
    append: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit everything in the work tree."""

    message: str


@dataclass(frozen=True, slots=True)
class Expect:
    """Fail unless a file is there, with exactly this text where one is given."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Print:
    """Print a line."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """Give the summary of the work."""

    text: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """Do nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """Never end by itself; with ``stubborn``, not on SIGTERM either."""

    stubborn: bool


@dataclass(frozen=True, slots=True)
class Fail:
    """End with an exit code, and with what the failure is to count as where that is given."""

    code: int
    told: "Told | None" = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a failure counts as."""

    result_class: ResultClass
    reason: str
    message: str
    retry_after_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Lazy:
    """End well at once; whoever goes on with the session gets the rest."""


@dataclass(frozen=True, slots=True)
class Explain:
    """Say in prose why nothing had to be done, and end well."""

    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a person something and end well."""

    question: str


@dataclass(frozen=True, slots=True)
class Steps:
    """Report further turns of a model."""

    count: int


@dataclass(frozen=True, slots=True)
class Call:
    """Report calls of a tool."""

    tool: str
    times: int


@dataclass(frozen=True, slots=True)
class Abandon:
    """Give the task up."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Spend:
    """Report tokens and dollars, all at once or evenly over some seconds.

    Attributes:
        cost_micros: None for tokens whose cost isn't told, from here on.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_micros: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Report a provider's rate limit and fail."""

    retry_after_seconds: int | None


@dataclass(frozen=True, slots=True)
class Eat:
    """Take memory and keep it."""

    mebibytes: int


End: TypeAlias = Lazy | Explain | Ask | Fail | Abandon | RateLimit
"""What the program ends with."""

Directive: TypeAlias = Write | Commit | Expect | Print | Say | Sleep | Hang | Spend | Steps | Call | Eat | End
