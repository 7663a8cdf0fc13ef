"""What happened, in order: every state of every Pod, task and run that a watcher saw.

A snapshot at the end of a test hides most of what can go wrong: a second Pod that lived for a second leaves
no trace. So the recorder keeps each observation, and the invariants are judged on the whole. Observations
of one watch are in the API server's order; those of different watches are merged by resourceVersion, which
is one counter for all of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

LABEL_COMPONENT = "bernstein.run/component"
LABEL_RUN = "bernstein.run/run"
LABEL_TASK = "bernstein.run/task"
RETRY = "bernstein.run/retry"
TERMINAL_POD_PHASES = frozenset({"Succeeded", "Failed"})


class Kind(StrEnum):
    """What is watched; the values are the plurals."""

    POD = "pods"
    TASK = "agenttasks"
    RUN = "bernsteinruns"


class Change(StrEnum):
    """What an observation says of its object."""

    LISTED = "Listed"
    """It was there before the recording began."""
    ADDED = "Added"
    MODIFIED = "Modified"
    DELETED = "Deleted"


@dataclass(frozen=True, slots=True)
class Observation:
    """One state of one object.

    ``time`` is when it was seen (seconds since the epoch), ``since`` the earliest moment at which it can have
    happened: the same, unless a gap in the watch lies between. ``version`` is the resourceVersion.
    """

    kind: Kind
    change: Change
    version: int
    time: float
    manifest: Mapping[str, Any]
    since: float

    @property
    def uid(self) -> str:
        """The object's UID."""
        return str(self.manifest["metadata"]["uid"])

    @property
    def key(self) -> str:
        """The object as ``namespace/name``."""
        return f"{self.manifest['metadata']['namespace']}/{self.manifest['metadata']['name']}"


def observation(
    kind: Kind,
    change: Change,
    manifest: Mapping[str, Any],
    *,
    time: float,
    since: float | None = None,
    version: int | None = None,
) -> Observation:
    """Return an observation of ``manifest``, seen as it happened and at its own version unless said."""
    own_version = int(manifest["metadata"]["resourceVersion"])
    return Observation(
        kind=kind,
        change=change,
        version=own_version if version is None else version,
        time=time,
        manifest=manifest,
        since=time if since is None else since,
    )


def in_order(observations: Iterable[Observation]) -> list[Observation]:
    """Merge the watches by resourceVersion; what one watch saw keeps its order."""
    return sorted(observations, key=lambda seen: seen.version)


def phase(manifest: Mapping[str, Any]) -> str:
    """Return status.phase, Pending where there is none yet."""
    return str(manifest.get("status", {}).get("phase", "Pending"))


def is_live(pod: Mapping[str, Any]) -> bool:
    """Return whether a Pod that exists holds a slot: Pending, Running or Terminating, but not ended."""
    return phase(pod) not in TERMINAL_POD_PHASES


def is_agent(pod: Mapping[str, Any]) -> bool:
    """Return whether a Pod runs an agent: by its label, or because a task owns it and no label says else."""
    component = pod["metadata"].get("labels", {}).get(LABEL_COMPONENT)
    return component == "agent" or (component is None and owner_uid(pod) is not None)


def owner_uid(pod: Mapping[str, Any]) -> str | None:
    """Return the UID of the AgentTask that owns the Pod."""
    references = pod["metadata"].get("ownerReferences", ())
    return next((str(entry["uid"]) for entry in references if entry["kind"] == "AgentTask"), None)


def task_identity(pod: Mapping[str, Any]) -> str:
    """Return what stands for the Pod's task: the owner's UID, else namespace and label."""
    label = pod["metadata"].get("labels", {}).get(LABEL_TASK, "?")
    return owner_uid(pod) or f"{pod['metadata']['namespace']}/{label}"


def run_key(task: Mapping[str, Any]) -> str:
    """Return the run that a task belongs to, as ``namespace/name``."""
    return f"{task['metadata']['namespace']}/{run_name(task)}"


def run_name(task: Mapping[str, Any]) -> str:
    """Return the name of the run that a task belongs to."""
    reference = task["spec"]["runRef"]
    return str(reference["name"] if isinstance(reference, Mapping) else reference)


def money(value: object) -> Decimal:
    """Return an amount of US dollars, 0 where there is none."""
    return Decimal(str(value)) if value is not None else Decimal(0)


@dataclass
class Outages:
    """When no operator was at work: before the first start, between a kill and the next readiness."""

    since: float
    _ended: list[tuple[float, float]] = field(default_factory=list)
    _down_from: float | None = None

    def __post_init__(self) -> None:
        self._down_from = self.since

    def up(self, time: float) -> None:
        """Note that an operator is at work from ``time`` on."""
        if self._down_from is not None:
            self._ended.append((self._down_from, time))
            self._down_from = None

    def down(self, time: float) -> None:
        """Note that none is from ``time`` on."""
        if self._down_from is None:
            self._down_from = time

    def intervals(self, *, until: float) -> list[tuple[float, float]]:
        """Return the outages as (from, to), the last one cut at ``until``."""
        running = [(self._down_from, until)] if self._down_from is not None else []
        return [*self._ended, *running]

    def uptime(self, start: float, end: float) -> float:
        """Return for how many seconds between ``start`` and ``end`` an operator was at work."""
        lost = sum(max(0.0, min(end, to) - max(start, at)) for at, to in self.intervals(until=end))
        return max(0.0, end - start - lost)


@dataclass
class World:
    """The objects as they are at one point of the timeline."""

    pods: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    tasks: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    run_of_task: dict[str, str] = field(default_factory=dict)

    def apply(self, seen: Observation) -> None:
        """Take over one observation. Pods and tasks are kept by UID, runs by namespace/name."""
        if seen.kind is Kind.TASK:
            self.run_of_task[seen.uid] = run_key(seen.manifest)
        store, key = {
            Kind.POD: (self.pods, seen.uid),
            Kind.TASK: (self.tasks, seen.uid),
            Kind.RUN: (self.runs, seen.key),
        }[seen.kind]
        if seen.change is Change.DELETED:
            store.pop(key, None)
        else:
            store[key] = seen.manifest

    def live_agents(self) -> Iterator[Mapping[str, Any]]:
        """Yield the agent Pods that hold a slot."""
        return (pod for pod in self.pods.values() if is_agent(pod) and is_live(pod))

    def run_of(self, pod: Mapping[str, Any]) -> str:
        """Return the Pod's run as namespace/name: its task's, else what its label says."""
        label = pod["metadata"].get("labels", {}).get(LABEL_RUN, "?")
        by_label = f"{pod['metadata']['namespace']}/{label}"
        return self.run_of_task.get(owner_uid(pod) or "", by_label)

    def live_of_run(self, run: str) -> list[Mapping[str, Any]]:
        """Return the agent Pods of ``run`` (namespace/name) that hold a slot."""
        return [pod for pod in self.live_agents() if self.run_of(pod) == run]
