"""What the API server itself says was asked of it: its audit log.

The proxy counts what passes through it. If the operator ever found another way to the API server, or the
proxy lost count, every number taken from it would be worthless; so the two are laid side by side, request by
request (the proxy's request id is the log's auditID), for everything under the operator's user agent.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.support.kube import eventually
from tests.support.proxy import FaultProxy
from tests.support.wire import READ_VERBS, RequestRecord

OPERATOR_AGENT = "bernstein-operator/"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One finished request in the audit log; ``time`` is when it arrived, in seconds since the epoch."""

    audit_id: str
    time: float
    verb: str
    kind: str
    namespace: str
    name: str
    status: int
    user: str
    user_agent: str

    @property
    def is_write(self) -> bool:
        """Whether it was carried out and can have changed something."""
        return 200 <= self.status < 300 and self.verb not in READ_VERBS


@dataclass(frozen=True)
class AuditLog:
    """The audit log at ``path``: JSON lines, policy level Metadata or more."""

    path: Path

    def entries(self, *, user_agent: str = "", user: str = "", since: float = 0.0) -> list[AuditEntry]:
        """Return the finished requests of one user agent (by its beginning) and user, from ``since`` on."""
        return [
            entry
            for entry in self._finished(user_agent)
            if entry.user_agent.startswith(user_agent) and user in {"", entry.user} and entry.time >= since
        ]

    def _finished(self, mentioned: str) -> Iterator[AuditEntry]:
        """Yield the finished requests; ``mentioned`` spares the decoding of lines that don't hold it."""
        with self.path.open() as lines:
            for line in lines:
                # The last line may be half written: the API server writes while we read.
                if mentioned in line and line.endswith("\n") and '"ResponseComplete"' in line:
                    yield _entry(json.loads(line))


def _entry(event: dict[str, object]) -> AuditEntry:
    about = _mapping(event.get("objectRef"))
    resource, subresource = str(about.get("resource", "")), str(about.get("subresource", ""))
    received = datetime.fromisoformat(str(event["requestReceivedTimestamp"]))
    code = _mapping(event.get("responseStatus")).get("code", 0)
    return AuditEntry(
        audit_id=str(event["auditID"]),
        time=received.timestamp(),
        verb=str(event["verb"]),
        kind=f"{resource}/{subresource}" if subresource else resource,
        namespace=str(about.get("namespace", "")),
        name=str(about.get("name", "")),
        status=int(str(code)),
        user=str(_mapping(event.get("user")).get("username", "")),
        user_agent=str(event.get("userAgent", "")),
    )


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def writes(entries: Iterable[AuditEntry]) -> Counter[tuple[str, str, str, str]]:
    """Count carried-out writes by (verb, kind, namespace, name)."""
    return Counter((e.verb, e.kind, e.namespace, e.name) for e in entries if e.is_write)


def assert_same_counts(*proxies: FaultProxy, audit: AuditLog, user_agent: str = OPERATOR_AGENT) -> None:
    """Fail unless the log and the proxies know the same requests of ``user_agent`` since the first started.

    Every forwarded and answered request must be in the log with the same verb, object and status, and the
    log may hold none that came another way.
    """
    since = min(proxy.started for proxy in proxies)
    seen = {
        record.request_id: record
        for proxy in proxies
        for record in proxy.records
        if record.forwarded and record.finished and record.user_agent.startswith(user_agent)
    }

    def logged() -> dict[str, AuditEntry]:
        entries = audit.entries(user_agent=user_agent, since=since)
        return {entry.audit_id: entry for entry in entries}

    # The API server logs a request just after it answered it, so the last lines may still be on their way.
    with suppress(AssertionError):
        eventually(lambda: seen.keys() <= logged().keys(), timeout=5)
    missing = [record for key, record in seen.items() if key not in logged()]
    assert not missing, f"requests that the audit log does not know: {missing}"
    bypassed = [entry for key, entry in logged().items() if not any(proxy.owns(key) for proxy in proxies)]
    assert not bypassed, f"requests of {user_agent} that did not come through the proxy: {bypassed}"
    differing = [pair for key, entry in logged().items() if (pair := _difference(seen.get(key), entry))]
    assert not differing, f"proxy and audit log differ: {differing}"


def _difference(record: RequestRecord | None, entry: AuditEntry) -> tuple[object, object] | None:
    if record is None:
        return ("still running or unknown to the proxy", entry) if entry.is_write else None
    of_proxy = (record.verb, record.kind, record.namespace, record.name, record.status)
    # A name that the API server generates comes after the log's object reference was made.
    of_audit = (entry.verb, entry.kind, entry.namespace, entry.name or record.name, entry.status)
    return (of_proxy, of_audit) if of_proxy != of_audit else None
