"""The three kinds as the operator holds them, and the snapshots that decisions are made from.

An object that can't be read (it was stored under an older schema, or past it) is kept with the reason, so
that it gets its InvalidSpec and stops nobody else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from bernstein_operator.api.effective import EffectiveTask, effective
from bernstein_operator.api.names import ANNOTATION_CANCEL, ANNOTATION_DRAIN
from bernstein_operator.api.pod import Metadata
from bernstein_operator.api.profile import AgentProfileSpec, AgentProfileStatus
from bernstein_operator.api.run import BernsteinRunSpec, BernsteinRunStatus
from bernstein_operator.api.task import AgentTaskSpec, TaskDefaults
from bernstein_operator.api.task_status import AgentTaskStatus

Key: TypeAlias = tuple[str, str]
"""Namespace and name."""

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class TaskObject:
    """An AgentTask; where ``invalid`` says that its spec can't be read, ``spec`` is what can, if anything.

    Its run and name can nearly always be read: so the task counts where it belongs, and an attempt that
    began before keeps its limits. Where ``status_readable`` is False, ``status`` is empty.
    """

    meta: Metadata
    spec: AgentTaskSpec | None
    status: AgentTaskStatus
    invalid: str = ""
    status_readable: bool = True

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """Read the API server's JSON object; never raises for what people may have written."""
        spec, bad_spec = _read(AgentTaskSpec, raw.get("spec"), "spec")
        status, bad_status = _read(AgentTaskStatus, raw.get("status"), "status")
        return cls(
            meta=_metadata(raw),
            spec=_salvaged(raw.get("spec") or {}) if bad_spec else spec,
            status=status or AgentTaskStatus(),
            invalid=bad_spec or bad_status,
            status_readable=not bad_status,
        )

    @property
    def run_key(self) -> Key | None:
        """The run that it belongs to, if that can be read."""
        return (self.meta.namespace, self.spec.run_ref.name) if self.spec else None

    @property
    def made_by(self) -> str:
        """UID of the run that made it and owns it, empty for a task that only names its run."""
        return self.meta.controller_uid("BernsteinRun")

    @property
    def name(self) -> str:
        """What ``dependsOn`` of other tasks calls it."""
        return (self.spec.name if self.spec else None) or self.meta.name

    @property
    def cancelled(self) -> bool:
        """Whether a person asked for its end, now or earlier."""
        return bool(self.status.cancel_requested) or self.meta.annotation(ANNOTATION_CANCEL) == "true"

    def effective(self, defaults: TaskDefaults | None) -> EffectiveTask | None:
        """Return the spec with the run's and the built-in defaults laid under it."""
        return effective(self.spec, defaults, object_name=self.meta.name) if self.spec else None


@dataclass(frozen=True)
class RunObject:
    """A BernsteinRun; ``spec`` is None where ``invalid`` says why it can't be read."""

    meta: Metadata
    spec: BernsteinRunSpec | None
    status: BernsteinRunStatus
    invalid: str = ""

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """Read the API server's JSON object; never raises for what people may have written."""
        spec, bad_spec = _read(BernsteinRunSpec, raw.get("spec"), "spec")
        status, bad_status = _read(BernsteinRunStatus, raw.get("status"), "status")
        return cls(_metadata(raw), spec, status or BernsteinRunStatus(), bad_spec or bad_status)

    @property
    def cancelled(self) -> bool:
        """Whether a person asked for its end, now or earlier."""
        return bool(self.status.cancel_requested) or self.meta.annotation(ANNOTATION_CANCEL) == "true"

    @property
    def drained(self) -> bool:
        """Whether a person asked for its live agents to finish and nothing more, now or earlier."""
        return bool(self.status.drain_requested) or self.meta.annotation(ANNOTATION_DRAIN) == "true"


@dataclass(frozen=True)
class ProfileObject:
    """An AgentProfile; ``spec`` is None where ``invalid`` says why it can't be read."""

    meta: Metadata
    spec: AgentProfileSpec | None
    invalid: str = ""
    status: AgentProfileStatus = field(default_factory=AgentProfileStatus)

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """Read the API server's JSON object; never raises for what people may have written."""
        spec, invalid = _read(AgentProfileSpec, raw.get("spec"), "spec")
        # A hold that can't be read is concluded anew from the attempts.
        status, _ = _read(AgentProfileStatus, raw.get("status"), "status")
        return cls(_metadata(raw), spec, invalid, status or AgentProfileStatus())


def _metadata(raw: Mapping[str, Any]) -> Metadata:
    # kopf hands out its own read-only mappings; only their content is converted.
    return msgspec.convert(dict(raw["metadata"]), Metadata)


def _salvaged(raw: Mapping[str, Any]) -> AgentTaskSpec | None:
    """Return a task's spec without the fields that can't be read; None where its run is one of them."""
    try:
        AgentTaskSpec.model_validate(raw)
    except ValidationError as error:
        broken = {str(one["loc"][0]) for one in error.errors() if one["loc"]}
        kept = {key: value for key, value in raw.items() if key not in broken}
        # The prompt only fills its place: a task whose spec can't be read starts no attempt.
        return _read(AgentTaskSpec, {"prompt": "-", **kept}, "spec")[0]
    return None


def _read(model: type[_Model], raw: Mapping[str, Any] | None, where: str) -> tuple[_Model | None, str]:
    try:
        return model.model_validate(raw or {}), ""
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in (where, *first["loc"]))
        return None, f"{path}: {first['msg']}"
