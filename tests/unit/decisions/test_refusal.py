"""Which kind of no the API server said, and that none of them is the agent's failure."""

import pytest

from bernstein_operator.decisions.refusal import can_never_be, malformed, refusal_of, taken_back
from tests.unit.objects import at, attempt, snapshot, status, task

QUOTA = 'pods "t" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
ROLE = 'pods is forbidden: User "system:serviceaccount:op:op" cannot create resource "pods" in API group ""'
ENDING = 'pods "t" is forbidden: unable to create new content in namespace ns because it is being terminated'
SECURITY = 'pods "t" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
POLICY = "pods \"t\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(QUOTA, "QuotaExceeded", id="a full quota"),
        pytest.param(ROLE, "PermissionMissing", id="the operator's own role"),
        pytest.param(ENDING, "NamespaceTerminating", id="a namespace that is going away"),
        pytest.param(SECURITY, "PodForbidden", id="Pod Security"),
        pytest.param(POLICY, "PodForbidden", id="an admission policy"),
    ],
)
def test_the_refusals_are_told_apart(message: str, reason: str) -> None:
    refusal = refusal_of(message)
    assert refusal
    assert (refusal.reason, refusal.message) == (reason, message)


def test_a_namespace_without_its_account_yet_is_only_asked_again() -> None:
    text = 'pods "t" is forbidden: error looking up service account ns/default: not found'
    assert refusal_of(text) is None


@pytest.mark.parametrize(
    ("status_code", "never"),
    [
        (400, True),
        (413, True),
        (422, True),
        (403, False),
        (404, False),
        (409, False),
        (429, False),
        (500, False),
    ],
)
def test_which_refusals_are_about_the_pod_itself(status_code: int, never: bool) -> None:
    assert can_never_be(status_code) is never


def test_a_refused_attempt_is_taken_back_with_its_slot() -> None:
    begun = snapshot(task(status=status(attempt(1, end_time=at(1)), attempt(2))), has_slot=True)
    back = taken_back(begun)
    assert back.task.status == status(attempt(1, end_time=at(1)))
    assert not back.has_slot


def test_a_pod_that_can_never_be_breaks_the_contract() -> None:
    found = malformed("spec.containers[0].image: Required value", now=at(3))
    assert (found.result_class, found.reason, found.ended_at) == ("contract", "PodRefused", at(3))
