"""The three kinds as the API server is told of them: names, columns, selectable fields, root rules.

A column's path is the simple JSONPath of the API server: one filter, one comparison, first hit. So WAITING
takes the reason of the condition that is False, and a task has only one condition that is ever False:
Admitted. The same goes for a run's REASON and its first condition that is True.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from bernstein_operator.api.base import Model, Rule
from bernstein_operator.api.profile import AgentProfileSpec, AgentProfileStatus
from bernstein_operator.api.run import RUN_RULES, BernsteinRunSpec, BernsteinRunStatus
from bernstein_operator.api.task import TASK_RULES, AgentTaskSpec
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import TaskPhase

WIDE: Final = 1
"""Priority of a column that only ``kubectl get -o wide`` shows."""

UNSEEN: Final[Mapping[str, int | str]] = MappingProxyType(
    {"observedGeneration": -1, "phase": str(TaskPhase.PENDING)}
)
"""The status of a new run or task: without one, Helm and Flux would take it for ready (kstatus)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``."""

    name: str
    path: str
    type: Literal["string", "integer", "date"] = "string"
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of the group."""

    kind: str
    plural: str
    short_name: str
    description: str
    spec: type[Model]
    columns: tuple[Column, ...]
    status: type[Model] | None = None
    has_phase: bool = True
    """Whether it comes to an end that other tools wait for; then a new one has a status from the start."""
    rules: tuple[Rule, ...] = ()
    selectable_fields: tuple[str, ...] = ()


_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
_PHASE: Final = Column("Phase", ".status.phase")


RUN: Final = Kind(
    kind="BernsteinRun",
    plural="bernsteinruns",
    short_name="bsrun",
    description="A goal, the limits it is pursued under, and its tasks.",
    spec=BernsteinRunSpec,
    status=BernsteinRunStatus,
    rules=RUN_RULES,
    selectable_fields=(".status.phase",),
    columns=(
        _PHASE,
        Column("Live", ".status.concurrency.live", "integer"),
        Column("Ceiling", ".status.concurrency.effective", "integer"),
        Column("Done", ".status.tasks.succeeded", "integer"),
        Column("Total", ".status.tasks.total", "integer"),
        Column("Spent", ".status.budget.spentUsd"),
        Column("Budget", ".status.budget.capUsd"),
        _AGE,
        Column("Reason", '.status.conditions[?(@.status=="True")].reason', priority=WIDE),
        Column("Failed", ".status.tasks.failed", "integer", priority=WIDE),
        Column("Abandoned", ".status.tasks.abandoned", "integer", priority=WIDE),
        Column("Source", ".status.budget.source", priority=WIDE),
    ),
)

TASK: Final = Kind(
    kind="AgentTask",
    plural="agenttasks",
    short_name="bstask",
    description="One piece of work for an agent, from its first attempt to its last.",
    spec=AgentTaskSpec,
    status=AgentTaskStatus,
    rules=TASK_RULES,
    selectable_fields=(".spec.runRef.name", ".status.phase"),
    columns=(
        Column("Run", ".spec.runRef.name"),
        Column("Role", ".spec.role"),
        _PHASE,
        Column("Attempt", ".status.attempt", "integer"),
        Column("Waiting", '.status.conditions[?(@.status=="False")].reason'),
        Column("Cost", ".status.usage.costUsd"),
        _AGE,
        Column("Model", ".status.attempts[-1:].model", priority=WIDE),
        Column("Pod", ".status.attempts[-1:].podName", priority=WIDE),
        Column("Branch", ".status.attempts[-1:].branch", priority=WIDE),
        Column("Deadline", ".status.deadline.effective", "date", priority=WIDE),
        Column("Reason", '.status.conditions[?(@.type=="Failed")].reason', priority=WIDE),
    ),
)

PROFILE: Final = Kind(
    kind="AgentProfile",
    plural="agentprofiles",
    short_name="bsprof",
    description="What an agent is: adapter, image, credentials and the shape of its Pod.",
    spec=AgentProfileSpec,
    status=AgentProfileStatus,
    has_phase=False,
    columns=(
        Column("Adapter", ".spec.adapter"),
        Column("Image", ".spec.image"),
        Column("Hold", ".status.hold.until"),
        Column("Circuit", ".status.circuits[0].state"),
        _AGE,
    ),
)

KINDS: Final = (RUN, TASK, PROFILE)
