"""What the operator and an agent's Pod say to each other, and nothing that reads or writes anything.

The operator hands an attempt its ``Envelope``; the attempt ends with a ``Result`` as the container's
termination message. Both sides import this one definition, so they can't drift apart; JSON Schema files
beside it (``bernstein_agent/schemas``) say the same to everybody else. A reader ignores fields it doesn't
know and refuses a major version it doesn't know.
"""

from bernstein_agent.contract.abandonment import Abandonment, abandon_reason
from bernstein_agent.contract.envelope import (
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
    idempotency_key,
)
from bernstein_agent.contract.envelope_reader import parse_envelope
from bernstein_agent.contract.errors import ContractError
from bernstein_agent.contract.money import dollars_text, parse_dollars
from bernstein_agent.contract.report import (
    MAX_REPORT_BYTES,
    REPORT_PATH,
    Continuation,
    Instruction,
    Notice,
    Report,
)
from bernstein_agent.contract.result import (
    MAX_MESSAGE_BYTES,
    MAX_RETRY_AFTER_SECONDS,
    Result,
    ResultSubject,
    Usage,
    digest_of,
    parse_result,
    parse_usage,
)
from bernstein_agent.contract.vocabulary import (
    ABANDON_CATEGORIES,
    CONTRACT_VERSION,
    PROVIDER_FAULTS,
    REPLY_CONTRACT,
    AbandonCategory,
    AbandonReason,
    BudgetMode,
    Effort,
    Reason,
    ResultClass,
)

__all__ = [
    "ABANDON_CATEGORIES",
    "CONTRACT_VERSION",
    "MAX_MESSAGE_BYTES",
    "MAX_REPORT_BYTES",
    "MAX_RETRY_AFTER_SECONDS",
    "PROVIDER_FAULTS",
    "REPLY_CONTRACT",
    "REPORT_PATH",
    "AbandonCategory",
    "AbandonReason",
    "Abandonment",
    "Actor",
    "Budget",
    "BudgetMode",
    "Command",
    "Continuation",
    "ContractError",
    "DependencyRef",
    "Effort",
    "Envelope",
    "Exchange",
    "GitIdentity",
    "Grant",
    "Instruction",
    "Notice",
    "Payload",
    "PolicyDecision",
    "PreviousAttempt",
    "Prices",
    "Reason",
    "Report",
    "Reporting",
    "Repository",
    "Result",
    "ResultClass",
    "ResultSubject",
    "Subject",
    "TraceContext",
    "Usage",
    "abandon_reason",
    "digest_of",
    "dollars_text",
    "idempotency_key",
    "parse_dollars",
    "parse_envelope",
    "parse_result",
    "parse_usage",
]
