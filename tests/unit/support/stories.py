"""Short stories for the invariants: observations as a recorder would have made them.

Time and resourceVersion go on together, one second and one version an observation, so that a row of a table
reads as a sequence of what happened.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.timeline import Change, Kind, Observation, observation


@dataclass
class Story:
    """Collects observations; each method is one thing that happened, one second after the one before."""

    told: list[Observation] = field(default_factory=list)

    @property
    def now(self) -> float:
        """The moment after the last observation."""
        return float(len(self.told))

    def run(self, max_agents: int | None = 2, *, suspend: bool = False, **status: Any) -> "Story":
        """The run ``r`` is as given from now on."""
        concurrency = {} if max_agents is None else {"maxAgents": max_agents}
        spec = {"concurrency": concurrency, "suspend": suspend}
        says = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "TasksActive"}]}
        return self._see(Kind.RUN, "r", spec=spec, status={**says, **status})

    def task(
        self,
        name: str,
        phase: str = "Pending",
        *,
        annotations: Mapping[str, str] | None = None,
        **status: Any,
    ) -> "Story":
        """The task ``name`` of ``r`` is as given from now on."""
        return self._see(
            Kind.TASK,
            name,
            spec={"runRef": {"name": "r"}},
            status={"phase": phase, **status},
            annotations=annotations,
        )

    def pod(
        self, name: str, phase: str = "Pending", *, task: str = "t", terminating: bool = False
    ) -> "Story":
        """The agent Pod ``name`` of ``task`` is as given from now on."""
        owner = {"kind": "AgentTask", "name": task, "uid": f"agenttasks-{task}"}
        further: dict[str, Any] = {
            "ownerReferences": [owner],
            "labels": {"bernstein.run/component": "agent", "bernstein.run/run": "r"},
        }
        if terminating:
            further["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return self._see(Kind.POD, name, status={"phase": phase}, **further)

    def gone(self, kind: Kind, name: str) -> "Story":
        """The object was deleted."""
        last = [seen for seen in self.told if seen.uid == self._uid(kind, name)][-1]
        return self._tell(kind, Change.DELETED, last.manifest)

    def _see(
        self,
        kind: Kind,
        name: str,
        *,
        spec: Mapping[str, Any] | None = None,
        status: Mapping[str, Any] | None = None,
        **metadata: Any,
    ) -> "Story":
        uid = self._uid(kind, name)
        exists = any(seen.uid == uid for seen in self.told)
        named = {"namespace": "n", "name": name, "uid": uid}
        given = {key: value for key, value in metadata.items() if value is not None}
        manifest = {"metadata": {**named, **given}, "spec": spec or {}, "status": status or {}}
        return self._tell(kind, Change.MODIFIED if exists else Change.ADDED, manifest)

    def _uid(self, kind: Kind, name: str) -> str:
        """Return the UID of the object that has the name now: another one after each that was deleted."""
        key, gone = f"n/{name}", Change.DELETED
        before = sum((seen.kind, seen.key, seen.change) == (kind, key, gone) for seen in self.told)
        return f"{kind}-{name}" + f"-{before}" * bool(before)

    def _tell(self, kind: Kind, change: Change, manifest: Mapping[str, Any]) -> "Story":
        version = str(len(self.told) + 1)
        versioned = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
        self.told.append(observation(kind, change, versioned, time=self.now))
        return self
