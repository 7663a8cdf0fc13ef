"""For which AgentTask a request was.

The API server doesn't know tasks, so the price of one task (its writes) has to be told from the requests
themselves: an AgentTask by its name, a Pod or ConfigMap by its owner reference or label (from the body of
the create or of the answer; a later patch by the name seen then), an event by what it regards.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.support.wire import READ_VERBS, RequestRecord, Target

LABEL_TASK = "bernstein.run/task"
OWNED = frozenset({"pods", "configmaps"})


class TaskKey(NamedTuple):
    """A task of the whole cluster."""

    namespace: str
    name: str


@dataclass(frozen=True)
class WriteCounts:
    """Carried-out writes: of each task by kind (``agenttasks/status``, ``pods``), and all others apart."""

    by_task: Mapping[TaskKey, Counter[str]]
    other: Counter[str]

    def total(self, task: TaskKey) -> int:
        """Return how many writes ``task`` cost."""
        return self.by_task[task].total() if task in self.by_task else 0


def count_writes(records: Iterable[RequestRecord]) -> WriteCounts:
    """Count carried-out writes by task; a task's creation is counted apart, as are runs and events."""
    by_task: dict[TaskKey, Counter[str]] = {}
    other: Counter[str] = Counter()
    for record in records:
        if not record.is_write:
            continue
        if record.task and _is_of_task(record):
            by_task.setdefault(TaskKey(record.namespace, record.task), Counter())[record.kind] += 1
        else:
            other[f"{record.verb} {record.kind}"] += 1
    return WriteCounts(by_task, other)


def _is_of_task(record: RequestRecord) -> bool:
    if record.resource == "agenttasks":
        return record.verb != "create"
    return record.resource in OWNED


@dataclass
class TaskIndex:
    """Remembers which Pod and ConfigMap belongs to which task."""

    _owners: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def task_of(self, target: Target, *bodies: bytes) -> str | None:
        """Return the task that the request was for; ``bodies`` are the request's and the answer's."""
        if target.resource == "agenttasks":
            return target.name or _name_in(bodies)
        if target.resource == "events":
            return _regarded_task(bodies)
        if target.resource not in OWNED or target.verb in READ_VERBS:
            return None
        return self._owner_of(target, bodies)

    def _owner_of(self, target: Target, bodies: tuple[bytes, ...]) -> str | None:
        key = (target.resource, target.namespace, target.name or _name_in(bodies) or "")
        for body in bodies:
            if owner := _owner_in(_parse(body)):
                self._owners[key] = owner
                return owner
        return self._owners.get(key)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def name_in(body: bytes) -> str | None:
    """Return metadata.name of the object in ``body``, if it is one."""
    metadata = _parse(body).get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else None


def _name_in(bodies: Iterable[bytes]) -> str | None:
    return next((name for body in bodies if (name := name_in(body))), None)


def _owner_in(manifest: Mapping[str, Any]) -> str | None:
    metadata = manifest.get("metadata") or {}
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("kind") == "AgentTask":
            return str(reference["name"])
    label = (metadata.get("labels") or {}).get(LABEL_TASK)
    return str(label) if label else None


def _regarded_task(bodies: Iterable[bytes]) -> str | None:
    for body in bodies:
        regarding = _parse(body).get("regarding") or {}
        if regarding.get("kind") == "AgentTask":
            return str(regarding["name"])
    return None
