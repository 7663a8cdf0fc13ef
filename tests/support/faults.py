"""What can go wrong between the operator and its API server, as values.

Each fault here was seen to break a controller somewhere: answers that come late, connections that die before
or after the server acted (the caller can't know which), requests that are never answered, refusals with and
without Retry-After, watches that lag, die or expire. A ``Rule`` says which requests are hit and how often.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeAlias

from tests.support.wire import Target

Verbs: TypeAlias = str | frozenset[str] | None


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Forward the request only after ``seconds``."""

    seconds: float


@dataclass(frozen=True, kw_only=True)
class Drop:
    """Reset the connection; with ``forward`` only after the API server acted (an ambiguous answer)."""

    forward: bool = False


@dataclass(frozen=True, kw_only=True)
class BlackHole:
    """Never answer, until the rule is removed; with ``forward`` the API server acts all the same."""

    forward: bool = False


@dataclass(frozen=True, kw_only=True)
class Hold:
    """Forward the request only when the rule is removed, whoever still waits for the answer then."""


@dataclass(frozen=True, kw_only=True)
class Respond:
    """Answer with ``status`` instead of the API server."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class DelayEvents:
    """Hold back every event of the watch (running ones too) for ``seconds``; their order stays."""

    seconds: float


@dataclass(frozen=True, kw_only=True)
class Expire:
    """Say 410 Gone: inside the stream for a watch, as the API server does, as the status for the rest."""


Action: TypeAlias = Delay | Drop | BlackHole | Hold | Respond | DelayEvents | Expire


def refuse(
    status: int, *, reason: str, message: str = "planted by the test", retry_after: int | None = None
) -> Respond:
    """Return a refusal with the Status object that the API server would send."""
    headers = {"Content-Type": "application/json"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return Respond(status=status, body=json.dumps(_status(status, reason, message)), headers=headers)


def too_many_requests(*, retry_after: int) -> Respond:
    """Return the 429 of an overloaded server: plain text, as the real one sends it, and Retry-After."""
    headers = {"Content-Type": "text/plain; charset=utf-8", "Retry-After": str(retry_after)}
    return Respond(status=429, body="Too many requests, please try again later.\n", headers=headers)


def _status(code: int, reason: str, message: str) -> dict[str, object]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


EXPIRED = refuse(410, reason="Expired", message="The resourceVersion for the provided watch is too old.")
EXPIRED_EVENT = json.dumps({"type": "ERROR", "object": json.loads(EXPIRED.body)}).encode() + b"\n"


@dataclass(eq=False, kw_only=True)
class Rule:
    """An action and the requests it hits.

    ``resource`` is written as in RBAC: ``pods`` (not its subresources), ``agenttasks/status``, ``pods/*``
    (the resource with all subresources), None for any. ``count`` is how many requests are hit; None: until
    the rule is removed. ``where`` may narrow further by target and request body.
    """

    action: Action
    verbs: Verbs = None
    resource: str | None = None
    namespace: str | None = None
    name: str | None = None
    where: Callable[[Target, bytes], bool] | None = None
    count: int | None = None
    hits: int = 0
    removed: asyncio.Event = field(default_factory=asyncio.Event)

    def matches(self, target: Target, body: bytes) -> bool:
        """Return whether the request is one of those meant, whatever the count says."""
        meant = (
            (self.verbs is None or target.verb in _as_set(self.verbs))
            and self._is_resource(target)
            and self.namespace in {None, target.namespace}
            and self.name in {None, target.name}
        )
        return meant and (self.where is None or self.where(target, body))

    def _is_resource(self, target: Target) -> bool:
        if self.resource is None:
            return True
        resource, _, subresource = self.resource.partition("/")
        return resource == target.resource and subresource in {"*", target.subresource}


def _as_set(verbs: str | frozenset[str]) -> frozenset[str]:
    return frozenset({verbs}) if isinstance(verbs, str) else verbs


class Rules:
    """The rules in force, oldest first; written by the test's thread and read by the proxy's."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._lock = Lock()

    def add(self, rule: Rule) -> None:
        """Put ``rule`` behind those in force."""
        with self._lock:
            self._rules.append(rule)

    def remove(self, rule: Rule) -> None:
        """Take ``rule`` out; one that is out already is no error."""
        with self._lock:
            if rule in self._rules:
                self._rules.remove(rule)

    def clear(self) -> list[Rule]:
        """Take all rules out and return them."""
        with self._lock:
            taken, self._rules = self._rules, []
            return taken

    def take(self, target: Target, body: bytes) -> Rule | None:
        """Return the first rule that hits this request, and count the hit."""
        with self._lock:
            for rule in self._rules:
                used_up = rule.count is not None and rule.hits >= rule.count
                if used_up or isinstance(rule.action, DelayEvents) or not rule.matches(target, body):
                    continue
                rule.hits += 1
                return rule
        return None

    def event_delay(self, target: Target) -> float:
        """Return by how many seconds an event of this watch is to be held back now; counts the hit."""
        with self._lock:
            for rule in self._rules:
                if isinstance(rule.action, DelayEvents) and rule.matches(target, b""):
                    rule.hits += 1
                    return rule.action.seconds
        return 0.0
