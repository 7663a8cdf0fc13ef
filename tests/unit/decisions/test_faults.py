"""What of a task's attempts tells against its profile, and what only against the task."""

from typing import Any

import pytest

from bernstein_operator.decisions.faults import faults, limits, waits_for_circuit
from tests.unit.objects import at, attempt, effective, status

CREDENTIALS: dict[str, Any] = {"result_class": "contract", "reason": "CredentialsRefused"}
MODEL: dict[str, Any] = {"result_class": "contract", "reason": "ModelUnknown"}
PROVIDER: dict[str, Any] = {"result_class": "transient", "reason": "ProviderUnavailable"}
IMAGE: dict[str, Any] = {"result_class": "contract", "reason": "ImageImpossible"}
LIMITED: dict[str, Any] = {"result_class": "capacity", "reason": "RateLimited"}


def ended(number: int = 1, /, **fields: Any) -> Any:
    whole = {"profile": "default", "end_time": at(9), "fingerprint": "f1", "message": "m", **fields}
    return attempt(number, **whole)


def found(pinned: str | None = None, **fields: Any) -> list[str]:
    before = status(ended(**fields))
    return [f"{name} {one.certain}" for name, one in faults("u", before, effective(model=pinned))]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param(CREDENTIALS, ["default True"], id="refused credentials, certain"),
        pytest.param({**IMAGE}, ["default True"], id="an impossible image, certain"),
        pytest.param({**IMAGE, "exit_code": 1}, [], id="an agent that ran and speaks of its image"),
        pytest.param(MODEL, ["default False"], id="an unknown model"),
        pytest.param({**MODEL, "model": "m1"}, ["default False"], id="an unknown model of the ladder"),
        pytest.param(PROVIDER, ["default False"], id="a provider that is down"),
        pytest.param({**PROVIDER, "result_class": "agent"}, [], id="the reason with another class"),
        pytest.param({**CREDENTIALS, "profile": None}, [], id="no profile on record"),
        pytest.param({**CREDENTIALS, "profile": "other"}, ["other True"], id="the attempt's profile counts"),
        pytest.param({**CREDENTIALS, "end_time": None}, [], id="it goes on"),
        pytest.param({"result_class": "contract", "reason": "AccessDenied"}, [], id="the run's repository"),
        pytest.param({"result_class": "transient", "reason": "GitUnavailable"}, [], id="the git server"),
        pytest.param({"result_class": "transient", "reason": "StartTimeout"}, [], id="it didn't start"),
        pytest.param({"result_class": "contract", "reason": "PodRefused"}, [], id="the task's own spec"),
        pytest.param({"result_class": "business", "reason": "NoCommit"}, [], id="business"),
        pytest.param({"result_class": "agent", "reason": "NonZeroExit"}, [], id="agent"),
        pytest.param(LIMITED, [], id="capacity is a hold"),
    ],
)
def test_only_faults_of_profile_and_provider_are_found(fields: dict[str, Any], told: list[str]) -> None:
    assert found(**fields) == told


@pytest.mark.parametrize(
    ("used", "told"),
    [
        pytest.param(None, [], id="nothing else was used"),
        pytest.param("pinned", [], id="it was used"),
        pytest.param("ladder", ["default False"], id="another one was used"),
    ],
)
def test_a_model_that_the_task_pins_is_its_own_fault(used: str | None, told: list[str]) -> None:
    assert found("pinned", **MODEL, **({"model": used} if used else {})) == told
    assert found("pinned", **CREDENTIALS) == ["default True"], "whatever the model"


@pytest.mark.parametrize(
    ("fields", "until"),
    [
        pytest.param({"retry_after_seconds": 30}, [at(39)], id="the provider's time, from the end"),
        pytest.param({"retry_after_seconds": 0}, [at(9)], id="it asks for no time"),
        pytest.param({"end_time": at(9.5), "retry_after_seconds": 30}, [at(40)], id="in whole seconds"),
        pytest.param({}, [at(70)], id="else the task's back-off"),
        pytest.param({"end_time": None}, [], id="it goes on"),
        pytest.param({"profile": None}, [], id="no profile on record"),
        pytest.param({"result_class": "transient"}, [], id="another class"),
    ],
)
def test_until_when_a_provider_is_let_alone(fields: dict[str, Any], until: list[Any]) -> None:
    before = status(ended(**{**LIMITED, **fields}), next_attempt_time=at(69.2))
    assert [one.until for _, one in limits(before)] == until


def test_an_earlier_attempt_says_nothing_of_the_present_back_off() -> None:
    agent = ended(2, result_class="agent", reason="NonZeroExit")
    assert list(limits(status(ended(**LIMITED), agent, next_attempt_time=at(70)))) == []


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        pytest.param("RateLimited", "RateLimited", id="rate limit"),
        pytest.param("ProviderOverloaded", "ProviderOverloaded", id="overload"),
        pytest.param("ItSaysSo", "RateLimited", id="an agent's own word"),
    ],
)
def test_why_a_provider_is_let_alone(reason: str, told: str) -> None:
    before = status(ended(result_class="capacity", reason=reason, retry_after_seconds=5))
    assert [(one.reason, one.since, one.message) for _, one in limits(before)] == [(told, at(9), "m")]


@pytest.mark.parametrize(
    ("phase", "reason", "waits"),
    [
        pytest.param("Pending", "CircuitOpen", True, id="it waits for the circuit"),
        pytest.param("Pending", "ProviderHold", False, id="it waits for something else"),
        pytest.param("Failed", "CircuitOpen", False, id="it waits no more"),
    ],
)
def test_who_waits_for_nothing_but_the_circuit(phase: str, reason: str, waits: bool) -> None:
    admitted = {"type": "Admitted", "status": "False", "reason": reason, "last_transition_time": at(0)}
    assert waits_for_circuit(status(phase=phase, conditions=[admitted])) is waits


def test_a_task_that_says_nothing_waits_for_no_circuit() -> None:
    assert not waits_for_circuit(status())
