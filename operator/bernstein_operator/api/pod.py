"""The part of a Pod that decisions look at, decoded straight from the wire.

Pods are the busiest objects by far, so they are decoded into slim records that hold only the fields below
(a tenth of the memory of the whole object and of the time of a generic decoder). Everything else that the
API server sends is skipped by the decoder. Field names are Kubernetes' own.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from bernstein_operator.api.names import (
    ANNOTATION_STOP,
    ANNOTATION_STOP_TIME,
    API_VERSION,
    LABEL_ROLE,
    LABEL_RUN,
)

AGENT_CONTAINER: Final = "agent"
RUNNER_CONTAINER: Final = "runner"


class Record(Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """Base of the slim records: immutable, named in Python's way here and in Kubernetes' on the wire."""


class OwnerReference(Record, frozen=True):
    """Who garbage collection lets this object die with."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool | None = None


class Metadata(Record, frozen=True):
    """What the operator reads of any object's metadata."""

    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def version(self) -> int:
        """The resourceVersion as a number: one etcd's revisions are ordered."""
        return int(self.resource_version or 0)

    def controller_uid(self, kind: str) -> str:
        """UID of the owner that manages this object if it is of that kind of ours, or an empty text.

        Whoever claims an owner that never was is removed by garbage collection, but not where it is one of a
        group or version that nobody serves.
        """
        managers = (owner for owner in self.owner_references or () if owner.controller and owner.kind == kind)
        return next((owner.uid for owner in managers if owner.api_version == API_VERSION), "")

    def annotation(self, key: str) -> str | None:
        """Return an annotation's value, if it is set."""
        return (self.annotations or {}).get(key)

    def label(self, key: str) -> str:
        """Return a label's value, or an empty text."""
        return (self.labels or {}).get(key, "")


class Waiting(Record, frozen=True):
    """Why a container hasn't started."""

    reason: str = ""
    message: str = ""


class Running(Record, frozen=True):
    """Since when a container runs."""

    started_at: datetime | None = None


class Terminated(Record, frozen=True):
    """How a container ended; ``message`` is what it wrote as its termination message."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(Record, frozen=True):
    """At most one of the three is set."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Record, frozen=True):
    """A container as its kubelet sees it."""

    name: str
    state: ContainerState = ContainerState()


class PodCondition(Record, frozen=True):
    """One of a Pod's own conditions (PodScheduled, DisruptionTarget …)."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class PodSpec(Record, frozen=True):
    """What of a Pod's spec matters after it was made."""

    node_name: str = ""


class PodPhase(StrEnum):
    """Kubernetes' phases of a Pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class PodStatus(Record, frozen=True):
    """What the kubelet and the scheduler say of a Pod; lists may be absent, also on an ended one."""

    phase: str = PodPhase.PENDING
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Pod(Record, frozen=True):
    """An agent's Pod."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def task_uid(self) -> str:
        """UID of the AgentTask that owns it; labels are not trusted for this."""
        return self.metadata.controller_uid("AgentTask")

    @property
    def run_label(self) -> str:
        """The run's name as its label holds it (shortened)."""
        return self.metadata.label(LABEL_RUN)

    @property
    def role(self) -> str:
        """The task's role."""
        return self.metadata.label(LABEL_ROLE)

    @property
    def terminal(self) -> bool:
        """Whether nothing of it runs any more: such a Pod holds no slot."""
        return self.status.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    @property
    def stop_class(self) -> str | None:
        """Why the operator asked it to stop, if it did."""
        return self.metadata.annotation(ANNOTATION_STOP)

    @property
    def stopped_at(self) -> datetime | None:
        """When the operator asked it to stop, if it did and the record can be read."""
        text = self.metadata.annotation(ANNOTATION_STOP_TIME)
        try:
            moment = datetime.fromisoformat(text or "")
        except ValueError:
            return None
        return moment if moment.tzinfo else None

    @property
    def agent(self) -> ContainerState:
        """State of the container ``agent``; all empty where its kubelet hasn't said anything."""
        return _state_of(self.status.container_statuses, AGENT_CONTAINER)

    @property
    def runner(self) -> ContainerState:
        """State of the init container ``runner``."""
        return _state_of(self.status.init_container_statuses, RUNNER_CONTAINER)

    @property
    def started_at(self) -> datetime | None:
        """When the agent container started, if it ever did."""
        state = self.agent
        if state.running:
            return state.running.started_at
        return state.terminated.started_at if state.terminated else None

    @property
    def ended(self) -> bool:
        """Whether the attempt is over: the agent container's end counts even if another runs on."""
        return self.terminal or self.agent.terminated is not None

    @property
    def scheduled(self) -> bool:
        """Whether a node was found for it."""
        return bool(self.spec.node_name)

    @property
    def disrupted(self) -> PodCondition | None:
        """The DisruptionTarget condition, where something evicted or preempted the Pod."""
        return self.condition("DisruptionTarget", "True")

    @property
    def gated(self) -> bool:
        """Whether scheduling gates keep the scheduler from looking for a node."""
        unscheduled = None if self.scheduled else self.condition("PodScheduled", "False")
        return unscheduled is not None and unscheduled.reason == "SchedulingGated"

    def condition(self, kind: str, status: str) -> PodCondition | None:
        """Return the condition of that type if it has that status."""
        found = (one for one in self.status.conditions or () if one.type == kind and one.status == status)
        return next(found, None)

    @property
    def waiting(self) -> Waiting | None:
        """What keeps it from starting, in the kubelet's or the scheduler's words."""
        for state in (self.runner, self.agent):
            if state.waiting and state.waiting.reason not in ("", "PodInitializing", "ContainerCreating"):
                return state.waiting
        # The scheduler's complaint may arrive after somebody else has bound the Pod.
        unscheduled = None if self.scheduled else self.condition("PodScheduled", "False")
        return Waiting(reason=unscheduled.reason, message=unscheduled.message) if unscheduled else None


def _state_of(statuses: list[ContainerStatus] | None, name: str) -> ContainerState:
    return next((one.state for one in statuses or () if one.name == name), ContainerState())
