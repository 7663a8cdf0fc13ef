"""The cross-check of proxy and audit log: it holds for honest traffic and finds each kind of difference."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from tests.support.access import ClusterAccess
from tests.support.audit import OPERATOR_AGENT, AuditLog, assert_same_counts, writes
from tests.support.builders import make_task
from tests.support.faults import Drop, refuse
from tests.support.kube import ApiError, Kube, Manifest
from tests.support.proxy import FaultProxy

AGENT = f"{OPERATOR_AGENT}test"


def config_map(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


@pytest.fixture
def through(proxy: FaultProxy, namespace: str) -> Iterator[Kube]:
    """A client that calls itself the operator and goes through the proxy."""
    kube = Kube(ClusterAccess.from_kubeconfig(proxy.kubeconfig), namespace, user_agent=AGENT)
    yield kube
    kube.close()


def test_agrees_on_answers_of_every_kind(through: Kube, proxy: FaultProxy, audit: AuditLog) -> None:
    through.create(make_task())
    through.patch_status("agenttasks", "t", {"summary": "half done"})
    through.create(config_map("c"))
    with pytest.raises(ApiError):
        through.create(config_map("c"))
    with (
        proxy.fault(Drop(forward=True), verbs="create", resource="configmaps"),
        pytest.raises(urllib3.exceptions.ProtocolError),
    ):
        through.create(config_map("answer-lost"))
    with proxy.fault(refuse(503, reason="ServiceUnavailable")), pytest.raises(ApiError):
        through.create(config_map("never-arrived"))
    through.delete("configmaps", "c")
    assert_same_counts(proxy, audit=audit)
    entries = audit.entries(user_agent=AGENT, since=proxy.started)
    assert writes(entries) == {
        ("create", "agenttasks", through.namespace, "t"): 1,
        ("patch", "agenttasks/status", through.namespace, "t"): 1,
        ("create", "configmaps", through.namespace, "c"): 1,
        ("create", "configmaps", through.namespace, "answer-lost"): 1,
        ("delete", "configmaps", through.namespace, "c"): 1,
    }
    assert {entry.user for entry in entries} == {entries[0].user}


def test_finds_a_request_that_went_past_the_proxy(
    through: Kube, kube: Kube, proxy: FaultProxy, audit: AuditLog
) -> None:
    through.create(config_map("c"))
    past = Kube(kube.access, kube.namespace, user_agent=AGENT)
    past.create(config_map("sneaked-in"))
    past.close()
    with pytest.raises(AssertionError, match=r"did not come through the proxy.*sneaked-in"):
        assert_same_counts(proxy, audit=audit)


def test_finds_a_request_that_the_log_does_not_have(
    through: Kube, proxy: FaultProxy, audit: AuditLog, tmp_path: Path
) -> None:
    through.create(config_map("c"))
    assert_same_counts(proxy, audit=audit)
    forged = tmp_path / "audit.log"
    lines = audit.path.read_text().splitlines(keepends=True)
    forged.write_text("".join(line for line in lines if f'"{AGENT}"' not in line or '"create"' not in line))
    with pytest.raises(AssertionError, match="requests that the audit log does not know"):
        assert_same_counts(proxy, audit=AuditLog(forged))


def test_finds_an_answer_that_the_two_tell_differently(
    through: Kube, proxy: FaultProxy, audit: AuditLog, tmp_path: Path
) -> None:
    through.create(config_map("c"))
    assert_same_counts(proxy, audit=audit)
    forged = tmp_path / "audit.log"
    with forged.open("w") as out:
        for line in audit.path.read_text().splitlines():
            event = json.loads(line)
            if event["verb"] == "create" and proxy.owns(event["auditID"]):
                event["responseStatus"]["code"] = 409
            out.write(json.dumps(event, separators=(",", ":")) + "\n")
    with pytest.raises(AssertionError, match="proxy and audit log differ"):
        assert_same_counts(proxy, audit=AuditLog(forged))
