"""What one operator does about its Lease: at its start, at its end, and where it can't have it."""

from datetime import datetime
from urllib.error import HTTPError

from bernstein_operator.kube.lease import LEASE_SECONDS
from tests.support.faults import Rule, refuse
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, eventually
from tests.support.operator import OperatorProcess
from tests.support.proxy import FaultProxy

LEASE = "bernstein-operator"
AT_ONCE_SECONDS = 5.0


def lease(kube: Kube) -> Manifest:
    """Return the lease's spec."""
    spec: Manifest = kube.get("leases", LEASE)["spec"]
    return spec


def renewed(kube: Kube) -> datetime:
    return datetime.fromisoformat(lease(kube)["renewTime"])


def test_a_lone_operator_takes_the_lease_keeps_it_and_gives_it_back(
    kube: Kube, operator: OperatorProcess
) -> None:
    held = lease(kube)
    assert held["holderIdentity"].startswith("operator-")
    assert (held["leaseDurationSeconds"], held["leaseTransitions"]) == (LEASE_SECONDS, 0)
    before = renewed(kube)
    eventually(lambda: renewed(kube) > before, what="a renewal")
    assert operator.stop() == 0
    assert lease(kube)["holderIdentity"] == ""
    operator.start(wait=False)
    operator.wait_ready()
    operator.wait_leading(timeout=AT_ONCE_SECONDS)
    assert lease(kube)["leaseTransitions"] == 1


def test_a_container_that_is_started_again_in_its_pod_need_not_wait_for_itself(
    kube: Kube, operator: OperatorProcess
) -> None:
    before = lease(kube)
    operator.kill()
    operator.start(wait=False)
    operator.wait_ready()
    operator.wait_leading(timeout=AT_ONCE_SECONDS)
    after = lease(kube)
    assert after["leaseTransitions"] == before["leaseTransitions"] + 1
    assert after["holderIdentity"].split("_")[0] == before["holderIdentity"].split("_")[0]
    assert after["holderIdentity"] != before["holderIdentity"]


def test_who_may_not_have_the_lease_is_alive_but_not_ready_and_says_why(
    proxy: FaultProxy, start_operator: StartOperator
) -> None:
    forbidden = refuse(403, reason="Forbidden", message="cannot get resource leases")
    rule = proxy.add(Rule(action=forbidden, resource="leases"))
    operator = start_operator(wait=False)
    eventually(lambda: operator.port, what="that it listens")
    eventually(lambda: "cannot get resource leases" in readiness(operator), what="the reason")
    assert operator.http("/healthz")[0] == 200
    assert not operator.leads
    proxy.remove(rule)
    operator.wait_ready()
    operator.wait_leading(timeout=AT_ONCE_SECONDS)


def readiness(operator: OperatorProcess) -> str:
    """Return what /readyz says while it is not ready."""
    try:
        operator.http("/readyz")
    except HTTPError as error:
        with error:
            return error.read().decode()
    return ""


def test_without_an_election_nobody_asks_for_a_lease(
    start_operator: StartOperator, proxy: FaultProxy
) -> None:
    operator = start_operator(BERNSTEIN_LEADER_ELECT="false")
    assert "leader_election_master_status{" not in operator.http("/metrics")[1]
    assert not [record for record in proxy.records if record.resource == "leases"]
