"""What one request to an API server is about, told from its method and path.

The same reading as the API server's own request info (verb, group, resource, subresource, namespace, name),
so that what the proxy counts and what the audit log counts can be laid side by side.
"""

from collections.abc import Mapping
from dataclasses import dataclass

READ_VERBS = frozenset({"get", "list", "watch"})

_VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update"}
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Target:
    """One request's verb and object; ``resource`` is empty for paths that are no resource (/readyz)."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def kind(self) -> str:
        """The resource with its subresource as RBAC writes it: ``pods``, ``agenttasks/status``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request as the proxy saw it.

    ``time`` and ``finished`` are seconds since the epoch (``finished`` is None while it lasts).
    ``status`` is the API server's answer, or the proxy's own where nothing was forwarded, or None where
    there was none. ``task`` is the AgentTask that it was for, ``fault`` the name of the fault that hit it.
    """

    request_id: str
    time: float
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    user_agent: str
    status: int | None = None
    finished: float | None = None
    task: str | None = None
    forwarded: bool = False
    fault: str | None = None

    @property
    def kind(self) -> str:
        """The resource with its subresource as RBAC writes it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    @property
    def is_write(self) -> bool:
        """Whether the API server carried out a request that can change something."""
        accepted = self.status is not None and 200 <= self.status < 300
        return self.forwarded and accepted and self.verb not in READ_VERBS


def parse_target(*, method: str, path: str, query: Mapping[str, str]) -> Target:
    """Return what ``method`` on ``path`` is about, as the API server's request info would."""
    group, rest = _split_group(path.strip("/").split("/"))
    if not rest:
        return Target(verb=method.lower())
    namespace, rest = _split_namespace(rest)
    resource, name, subresource = (*rest, "", "")[:3]
    verb = _verb(method=method, named=bool(name), watching=query.get("watch") in {"1", "true"})
    name = name or _selected_name(query.get("fieldSelector", ""))
    return Target(verb, group, resource, subresource, namespace, name)


def _selected_name(field_selector: str) -> str:
    """Return the one name that a list or watch is narrowed to; the API server logs it as the name."""
    selected = dict(term.partition("=")[::2] for term in field_selector.split(","))
    return selected.get("metadata.name", "").lstrip("=")


def _split_group(parts: list[str]) -> tuple[str, list[str]]:
    match parts:
        case ["api", _, *rest]:
            return "", rest
        case ["apis", group, _, *rest]:
            return group, rest
        case _:
            return "", []


def _split_namespace(parts: list[str]) -> tuple[str, list[str]]:
    match parts:
        case ["namespaces", namespace, resource, *rest] if resource not in _NAMESPACE_SUBRESOURCES:
            return namespace, [resource, *rest]
        case ["namespaces", namespace, *_]:
            return namespace, parts
        case _:
            return "", parts


def _verb(*, method: str, named: bool, watching: bool) -> str:
    if method == "DELETE":
        return "delete" if named else "deletecollection"
    if method in {"GET", "HEAD"}:
        return "watch" if watching else "get" if named else "list"
    return _VERBS.get(method, method.lower())
