"""Agents' reports: who may send them, what they change, and what they are answered with.

Every token is one that the API server has issued for a Pod, apart from those that it wouldn't issue; every
report goes over the operator's own port.
"""

import re
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from e2e.cluster.control_plane import ControlPlane
from tests.support.builders import hand_profile, make_run, make_task
from tests.support.faults import Rule, refuse
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, make_result, remove_pod, set_pod_running, wait_pod
from tests.support.proxy import FaultProxy
from tests.support.tasks import attempts, wait_phase
from tests.support.usage_reports import SETTINGS, make_report, post, report, token_for
from tests.support.wire import Target

REPOSITORY = {"url": "git://git.invalid/a", "ref": "main"}
MINUTE_SECONDS = 60.0


@pytest.fixture
def operator(start_operator: StartOperator) -> OperatorProcess:
    """An operator that takes reports."""
    return start_operator(**SETTINGS)


def running(kube: Kube, task: str = "t", *, attempt: int = 1) -> Manifest:
    """Return the Pod of a task's attempt once its agent works."""
    pod = wait_pod(kube, task, attempt=attempt)
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    wait_phase(kube, task, "Running")
    return pod


@pytest.fixture
def pod(kube: Kube, operator: OperatorProcess) -> Manifest:
    """The Pod of task ``t``, whose agent works."""
    kube.create(hand_profile())
    kube.create(make_run(repository=REPOSITORY, taskDefaults={"retry": {"limit": 0}}))
    kube.create(make_task())
    return running(kube)


def spent_in_the_end(kube: Kube, pod: Manifest) -> tuple[str | None, str | None]:
    """End the attempt without a word and return what is on record of its spend, and of its task's."""
    end_pod(kube, pod, "Failed", 1, "Error")
    done = wait_phase(kube, "t", "Failed")
    own, whole = attempts(done)[0].get("usage", {}), done["status"].get("usage", {})
    return own.get("costUsd"), whole.get("costUsd")


def counted(operator: OperatorProcess, name: str, **labels: str) -> float:
    """Return a counter's value, 0 where there is no such series."""
    series = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    found = re.search(rf"^{name}\{{{re.escape(series)}\}} (\S+)$", operator.http("/metrics")[1], re.MULTILINE)
    return float(found[1]) if found else 0.0


def forged(genuine: str, key: bytes | ec.EllipticCurvePrivateKey, **claims: Any) -> str:
    """Return a token like ``genuine`` with other claims, signed with ``key``."""
    header = jwt.get_unverified_header(genuine)
    told = jwt.decode(genuine, options={"verify_signature": False})
    return jwt.encode({**told, **claims}, key, algorithm=header["alg"], headers={"kid": header["kid"]})


def test_only_the_token_of_the_attempts_own_pod_counts(
    kube: Kube, operator: OperatorProcess, pod: Manifest, control_plane: ControlPlane
) -> None:
    kube.create(make_task("other"))
    other, name = running(kube, "other"), pod["metadata"]["name"]
    own, key = token_for(kube, pod), control_plane.service_account_key
    told = jwt.decode(own, options={"verify_signature": False})
    then = told["exp"] - 3600
    elsewhere = told["kubernetes.io"] | {"namespace": "x"}
    tokens = {
        "another Pod's": (token_for(kube, other), 403, "another Pod's"),
        "another audience's": (token_for(kube, pod, audience="vault"), 401, "Audience doesn't match"),
        "the API server's": (token_for(kube, pod, audience=told["iss"]), 401, "Audience doesn't match"),
        "bound to no Pod": (token_for(kube, None), 401, "bound to no Pod"),
        "expired": (forged(own, key, exp=then, iat=then - 600, nbf=then - 600), 401, "expired"),
        "another issuer's": (forged(own, key, iss="https://else.invalid"), 401, "Invalid issuer"),
        "of another namespace": (forged(own, key, **{"kubernetes.io": elsewhere}), 404, "no attempt"),
        "signed by its bearer": (forged(own, ec.generate_private_key(ec.SECP256R1())), 401, "Signature"),
        "not one": ("x.y.z", 401, "not a token"),
        "none": ("", 401, "a bearer token is expected"),
    }
    much = make_report(pod, cost_usd="5")
    for what, (token, status, why) in tokens.items():
        refused = post(operator, name, much, authorization=f"Bearer {token}")
        assert (refused.status, why in refused.text) == (status, True), f"{what}: {refused.text}"
    assert post(operator, name, much, authorization=None).status == 401
    assert post(operator, name, much, authorization=f"Basic {own}").status == 401
    little = make_report(pod, cost_usd="0.10")
    assert post(operator, name, little, authorization=f"Bearer {own}").status == 200
    assert spent_in_the_end(kube, pod) == ("0.10", "0.10")


def test_a_report_that_tells_of_another_attempt_is_refused(
    kube: Kube, operator: OperatorProcess, pod: Manifest
) -> None:
    bearer, name = f"Bearer {token_for(kube, pod)}", pod["metadata"]["name"]
    own = make_report(pod, cost_usd="5")
    another = {**own["subject"], "attempt": 2}
    bad: dict[str, tuple[dict[str, Any] | bytes, int]] = {
        "another attempt's": ({**own, "subject": another}, 403),
        "another attempt's result": ({**own, "result": {**make_result(pod), "subject": another}}, 403),
        "negative": ({**own, "usage": {"costUsd": "-1"}}, 400),
        "not finite": ({**own, "usage": {"costUsd": "nan"}}, 400),
        "a binary fraction": ({**own, "usage": {"costUsd": 0.5}}, 400),
        "of another major version": ({**own, "contractVersion": "2.0"}, 400),
        "not JSON": (b"{", 400),
        "not text": (b"\xff", 400),
        "too large": (b" " * (1024 * 1024 + 1), 413),
    }
    got = {what: post(operator, name, body, authorization=bearer).status for what, (body, _) in bad.items()}
    assert got == {what: status for what, (_, status) in bad.items()}
    assert spent_in_the_end(kube, pod) == ("1.00", "1.00"), "the estimate for who says nothing that counts"
    assert post(operator, name, own, authorization=bearer).status == 409
    assert counted(operator, "bernstein_usage_reports_total", outcome="malformed") == 6
    assert counted(operator, "bernstein_usage_reports_total", outcome="accepted") == 0


def test_repeated_overtaken_and_lower_reports_change_nothing(
    kube: Kube, operator: OperatorProcess, pod: Manifest
) -> None:
    for cost in ("0.30", "0.10", "0.30", "0"):
        assert report(operator, kube, pod, cost_usd=cost, tokens=7).status == 200
    assert counted(operator, "bernstein_usage_reports_total", outcome="accepted") == 1
    assert counted(operator, "bernstein_usage_reports_total", outcome="repeated") == 3
    assert spent_in_the_end(kube, pod) == ("0.30", "0.30")
    assert counted(operator, "bernstein_cost_usd_total", model="own") == pytest.approx(0.3)
    assert counted(operator, "bernstein_tokens_total", direction="input", model="own") == 7


def test_a_lower_last_word_takes_nothing_back(kube: Kube, operator: OperatorProcess, pod: Manifest) -> None:
    report(operator, kube, pod, cost_usd="0.30", tokens=5)
    end_pod(kube, pod, result=make_result(pod, cost_usd="0.20", headBefore="a" * 40, headAfter="b" * 40))
    done = wait_phase(kube, "t", "Succeeded")
    usage = {"inputTokens": 5, "outputTokens": 0, "cachedTokens": 0, "costUsd": "0.30"}
    assert attempts(done)[0]["usage"] == done["status"]["usage"] == usage


def test_a_restart_loses_nothing_that_was_stored_and_counts_nothing_twice(
    kube: Kube, operator: OperatorProcess, pod: Manifest
) -> None:
    report(operator, kube, pod, cost_usd="0.30")
    # Whatever is written next takes it along.
    kube.patch("agenttasks", "t", {"spec": {"priority": 1}})
    stored = kube.wait_for("agenttasks", "t", lambda found: found["status"].get("usage"))
    assert stored["status"]["usage"]["costUsd"] == attempts(stored)[0]["usage"]["costUsd"] == "0.30"
    operator.restart(kill=True)
    for cost in ("0.20", "0.30", "0.35", "0.35"):
        assert report(operator, kube, pod, cost_usd=cost).status == 200
    operator.restart(kill=True)
    report(operator, kube, pod, cost_usd="0.35")
    assert spent_in_the_end(kube, pod) == ("0.35", "0.35")
    assert counted(operator, "bernstein_cost_usd_total", model="own") == pytest.approx(0.05)


def test_what_is_reported_once_is_stored_within_a_minute_and_only_once(
    kube: Kube, operator: OperatorProcess, proxy: FaultProxy, pod: Manifest
) -> None:
    began = time.monotonic()
    before = _status_writes(proxy)
    report(operator, kube, pod, cost_usd="0.30")
    stored = kube.wait_for("agenttasks", "t", lambda found: found["status"].get("usage"), timeout=90)
    assert stored["status"]["usage"]["costUsd"] == "0.30"
    assert time.monotonic() - began >= MINUTE_SECONDS - 1
    assert _status_writes(proxy) == before + 1


def _status_writes(proxy: FaultProxy) -> int:
    return sum(record.is_write and record.resource == "agenttasks" for record in proxy.records)


def test_a_posted_result_counts_where_the_last_word_was_lost(
    kube: Kube, operator: OperatorProcess, pod: Manifest
) -> None:
    said = make_result(pod, cost_usd="0.30", headBefore="a" * 40, headAfter="b" * 40, message="m" * 900)
    report(operator, kube, pod, cost_usd="0.30", result=said)
    remove_pod(kube, pod["metadata"]["name"])
    done = wait_phase(kube, "t", "Succeeded")
    assert attempts(done)[0].items() >= {"resultClass": "success", "headAfter": "b" * 40}.items()
    assert done["status"]["usage"]["costUsd"] == "0.30"


def test_the_answer_says_that_it_is_to_stop_once_a_cancel_was_seen(
    kube: Kube, operator: OperatorProcess, pod: Manifest
) -> None:
    first = report(operator, kube, pod)
    assert (first.status, first.instruction["stop"]) == (200, False)
    kube.patch("agenttasks", "t", {"metadata": {"annotations": {"bernstein.run/cancel": "true"}}})
    eventually(lambda: report(operator, kube, pod).instruction["stop"], what="the order to stop")


def test_the_answer_tells_of_limits_that_are_near_and_of_a_budget_that_shrank(
    kube: Kube, operator: OperatorProcess, pod: Manifest
) -> None:
    assert "costUsd" not in report(operator, kube, pod, cost_usd="0.30").instruction
    kube.patch("agenttasks", "t", {"spec": {"budget": {"usd": "0.50"}, "deadlineWarningSeconds": 3600}})

    def told() -> dict[str, Any] | None:
        heard = report(operator, kube, pod, cost_usd="0.30").instruction
        return heard if heard.get("warnings") and "costUsd" in heard else None

    heard = eventually(told, what="the warning and the limit")
    assert heard["costUsd"] == "0.5"
    assert [one["text"].split(" is over")[0] for one in heard["warnings"]] == ["timeoutSeconds"]


def test_a_continuation_is_allowed_once_it_is_on_record_and_once_in_a_tasks_life(
    kube: Kube, operator: OperatorProcess, pod: Manifest
) -> None:
    said: list[str] = []

    def allowed() -> bool:
        said.append(report(operator, kube, pod, continues="s-1").instruction["continuation"])
        return said[-1] == "allowed"

    eventually(allowed, what="that it may continue")
    assert set(said) <= {"pending", "allowed"}
    assert said[0] == "pending", "it wasn't on record yet"
    continued = kube.get("agenttasks", "t")["status"]["continuation"]
    assert (continued["attempt"], continued["sessionId"]) == (1, "s-1")
    assert any(event.startswith("RetryContinuation") for event in kube.events_of("t"))
    end_pod(kube, pod, "Failed", 1, "Error")
    wait_phase(kube, "t", "Failed")
    kube.patch("agenttasks", "t", {"metadata": {"annotations": {"bernstein.run/retry": "1"}}})
    second = running(kube, attempt=2)
    assert report(operator, kube, second, continues="s-2").instruction["continuation"] == "refused"


def test_whoever_stands_by_takes_no_report(
    kube: Kube, operator: OperatorProcess, pod: Manifest, start_operator: StartOperator
) -> None:
    standby = start_operator(wait=False, **SETTINGS)
    standby.wait_ready()
    assert not standby.leads
    assert report(standby, kube, pod, cost_usd="0.30").status == 503
    assert operator.stop() == 0
    standby.wait_leading()
    eventually(lambda: report(standby, kube, pod, cost_usd="0.30").status == 200, what="that it is taken")
    assert spent_in_the_end(kube, pod) == ("0.30", "0.30")


def test_a_token_is_reviewed_where_the_keys_may_not_be_read(
    kube: Kube, operator: OperatorProcess, proxy: FaultProxy, pod: Manifest
) -> None:
    unread = proxy.add(Rule(action=refuse(403, reason="Forbidden"), where=_is_no_objects_path))
    assert report(operator, kube, pod, cost_usd="0.30").status == 200
    assert unread.hits
    bad = f"Bearer {token_for(kube, pod, audience='vault')}"
    much = make_report(pod, cost_usd="5")
    assert post(operator, pod["metadata"]["name"], much, authorization=bad).status == 401
    assert spent_in_the_end(kube, pod) == ("0.30", "0.30")


def _is_no_objects_path(target: Target, _: bytes) -> bool:
    return not target.resource


def operators_pod(kube: Kube, name: str) -> dict[str, str]:
    """Make a Pod that an operator may take for its own; returns the environment that tells it so."""
    confined = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "operator", "image": "registry.invalid/operator:test", "securityContext": confined}
    spec = {"containers": [container], "schedulerName": "nobody"}
    kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    return {"POD_NAME": name, "POD_NAMESPACE": kube.namespace, **SETTINGS}


def labelled(kube: Kube) -> list[str]:
    """Return the Pods that reports would be sent to."""
    selected = kube.items("pods", labels="bernstein.run/leader=bernstein-operator")
    return [pod["metadata"]["name"] for pod in selected]


def test_the_leaders_pod_and_no_other_is_labelled_for_reports(
    kube: Kube, start_operator: StartOperator
) -> None:
    first = start_operator(**operators_pod(kube, "op-1"))
    eventually(lambda: labelled(kube) == ["op-1"], what="the leader's label")
    second = start_operator(wait=False, **operators_pod(kube, "op-2"))
    second.wait_ready()
    assert labelled(kube) == ["op-1"]
    first.kill()
    second.wait_leading()
    eventually(lambda: labelled(kube) == ["op-2"], what="the label on the new leader only")
    assert second.stop() == 0
    assert labelled(kube) == []
