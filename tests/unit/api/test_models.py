"""What the models read, refuse and write."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from bernstein_operator.api.base import Model
from bernstein_operator.api.conditions import Condition, find
from bernstein_operator.api.profile import AgentProfileSpec, AgentProfileStatus
from bernstein_operator.api.run import BernsteinRunSpec, BernsteinRunStatus, TaskCounts
from bernstein_operator.api.task import AgentTaskSpec
from bernstein_operator.api.task_status import AgentTaskStatus, Attempt
from bernstein_operator.api.vocabulary import ConditionStatus, ConditionType, TaskPhase
from tests.support.crd_manifests import manifest, status

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SPECS: dict[str, type[Model]] = {
    "BernsteinRun": BernsteinRunSpec,
    "AgentTask": AgentTaskSpec,
    "AgentProfile": AgentProfileSpec,
}
STATUSES: dict[str, type[Model]] = {
    "BernsteinRun": BernsteinRunStatus,
    "AgentTask": AgentTaskStatus,
    "AgentProfile": AgentProfileStatus,
}
NEWER = {"fromTheFuture": 1}


@pytest.mark.parametrize("kind", SPECS)
def test_every_field_of_a_spec_survives_reading_and_writing(kind: str) -> None:
    spec = manifest(kind)["spec"]
    assert SPECS[kind].model_validate(spec).manifest() == spec


@pytest.mark.parametrize("kind", STATUSES)
def test_every_field_of_a_status_survives_reading_and_writing(kind: str) -> None:
    assert STATUSES[kind].model_validate(status(kind)).manifest() == status(kind)


@pytest.mark.parametrize("kind", SPECS)
def test_fields_of_a_newer_version_are_no_obstacle(kind: str) -> None:
    spec = manifest(kind)["spec"]
    assert SPECS[kind].model_validate({**spec, **NEWER}).manifest() == spec


def test_an_object_that_the_operator_has_not_seen() -> None:
    unseen = AgentTaskStatus.model_validate({})
    assert (unseen.observed_generation, unseen.phase, unseen.attempt) == (-1, TaskPhase.PENDING, 0)


@pytest.mark.parametrize(
    ("model", "fields", "named"),
    [
        pytest.param(
            AgentTaskSpec, {"prompt": "é" * 32_769}, "prompt", id="a prompt of 64 KiB and two bytes"
        ),
        pytest.param(AgentTaskSpec, {"timeoutSeconds": 0}, "timeoutSeconds", id="no time at all"),
        pytest.param(AgentTaskSpec, {"dependsOn": ["ns/t"]}, "dependsOn", id="another namespace"),
        pytest.param(
            AgentTaskSpec,
            {"retry": {"backoffSeconds": 9, "maxBackoffSeconds": 8}},
            "backoffSeconds can't be more than maxBackoffSeconds",
            id="back-off above its maximum",
        ),
        pytest.param(
            AgentProfileSpec, {"adapter": "script"}, "command belongs to", id="command for no program"
        ),
        pytest.param(
            AgentProfileSpec, {"env": [{"name": "A"}]}, "exactly one", id="variable without a value"
        ),
        pytest.param(
            BernsteinRunSpec,
            {"repository": {"url": "https://me:secret@git.example/a", "ref": "main"}},
            "password",
            id="password in a url",
        ),
    ],
)
def test_what_an_older_schema_let_in_is_still_refused(
    model: type[Model], fields: dict[str, object], named: str
) -> None:
    kind = model.__name__.removesuffix("Spec")
    with pytest.raises(ValidationError, match=named):
        model.model_validate({**manifest(kind)["spec"], **fields})


def test_models_do_not_change() -> None:
    spec = AgentTaskSpec.model_validate(manifest("AgentTask")["spec"])
    with pytest.raises(ValidationError, match="frozen"):
        spec.prompt = "other"


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        pytest.param(NOON, "2026-01-01T12:00:00Z", id="whole seconds"),
        pytest.param(NOON.replace(microsecond=5), "2026-01-01T12:00:00.000005Z", id="microseconds"),
        pytest.param(
            NOON.astimezone(timezone(timedelta(hours=2))), "2026-01-01T12:00:00Z", id="another zone"
        ),
    ],
)
def test_moments_are_written_in_utc(moment: datetime, text: str) -> None:
    attempt = Attempt(number=1, pod_name="p", intent_time=moment)
    assert attempt.manifest()["intentTime"] == text
    assert Attempt.model_validate(attempt.manifest()) == attempt


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValidationError, match="timezone"):
        Attempt.model_validate({"number": 1, "podName": "p", "intentTime": "2026-01-01T12:00:00"})


def test_there_is_one_count_for_each_phase() -> None:
    phases = {phase[0].lower() + phase[1:] for phase in TaskPhase}
    assert set(TaskCounts().manifest()) == phases | {"total"}


def test_conditions_are_found_by_type() -> None:
    admitted = Condition(
        type=ConditionType.ADMITTED,
        status=ConditionStatus.FALSE,
        reason="Queued",
        last_transition_time=NOON,
    )
    assert find((admitted,), ConditionType.ADMITTED) is admitted
    assert find((admitted,), ConditionType.FAILED) is None
