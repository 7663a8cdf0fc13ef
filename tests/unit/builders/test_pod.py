"""The agent's Pod: as little as can work, shaped by the profile, the same for the same attempt."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from bernstein_operator.api.names import REPORT_AUDIENCE, labels, pod_name, shorten
from bernstein_operator.api.objects import ProfileObject, TaskObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.builders.pod import (
    INLINE_ENVELOPE_LIMIT,
    TOKEN_DIRECTORY,
    TOKEN_FILE,
    PodPlan,
    envelope_config_map,
    pod,
)
from bernstein_operator.decisions.deadline import bounds_of
from tests.unit.objects import attempt, effective, name_of_pod, profile, status, task

IMAGE = "registry.example.org/bernstein-agent:1"


def plan(
    by: ProfileObject | None = None, *, owner: TaskObject | None = None, envelope: str = "{}"
) -> PodPlan:
    subject = owner or task(
        status=status(attempt()), role="backend", timeoutSeconds=60, startTimeoutSeconds=100
    )
    shape = (by or profile()).spec
    assert shape
    return PodPlan(
        task=subject,
        effective=effective(subject),
        attempt=subject.status.attempts[-1],
        bounds=bounds_of(subject.status, effective(subject), None),
        profile=shape,
        envelope=envelope,
        agent_image=IMAGE,
    )


def made(**spec: Any) -> dict[str, Any]:
    return pod(plan(profile(**spec)))


def containers(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from manifest["spec"]["initContainers"]
    yield from manifest["spec"]["containers"]


SHAPES = [
    pytest.param({}, id="a bare profile"),
    pytest.param({"image": "x", "pod": {"workspace": {"medium": "Memory"}}}, id="an own image"),
    pytest.param({"pod": {"resources": {"limits": {"cpu": "50m"}}}}, id="less than the default requests"),
]


@pytest.mark.parametrize("spec", SHAPES)
def test_every_pod_satisfies_restricted_pod_security(spec: dict[str, Any]) -> None:
    manifest = made(**spec)
    whole = manifest["spec"]
    security = whole["securityContext"]
    assert security["runAsNonRoot"] is True
    assert (security["runAsUser"], security["runAsGroup"], security["fsGroup"]) == (10001, 10001, 10001)
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(manifest):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    assert {"hostNetwork", "hostPID", "hostIPC", "nodeName", "serviceAccountName"}.isdisjoint(whole)
    assert {kind for volume in whole["volumes"] for kind in volume if kind != "name"} <= {
        "emptyDir",
        "downwardAPI",
        "configMap",
    }


@pytest.mark.parametrize("spec", SHAPES)
def test_every_pod_has_no_token_and_nobody_restarts_it(spec: dict[str, Any]) -> None:
    whole = made(**spec)["spec"]
    assert whole["automountServiceAccountToken"] is False
    assert whole["enableServiceLinks"] is False
    assert (whole["restartPolicy"], whole["terminationGracePeriodSeconds"]) == ("Never", 10)
    assert whole["activeDeadlineSeconds"] == 160


@pytest.mark.parametrize(
    ("resources", "requests", "limits"),
    [
        pytest.param(
            {}, {"cpu": "100m", "memory": "256Mi"}, {"cpu": "1", "memory": "1Gi"}, id="nothing is said"
        ),
        pytest.param(
            {"requests": {"memory": "4Gi"}},
            {"cpu": "100m", "memory": "4Gi"},
            {"cpu": "1", "memory": "4Gi"},
            id="a request over the default limit is its own limit",
        ),
        pytest.param(
            {"limits": {"memory": "64Mi"}},
            {"cpu": "100m"},
            {"cpu": "1", "memory": "64Mi"},
            id="a limit under the default request is left to be both",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "ephemeral-storage": "1Gi"}},
            {"cpu": "1", "memory": "256Mi"},
            {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "1Gi"},
            id="both are said",
        ),
    ],
)
def test_requests_and_limits_are_always_there(
    resources: dict[str, Any], requests: dict[str, str], limits: dict[str, str]
) -> None:
    manifest = made(pod={"resources": resources})
    assert manifest["spec"]["containers"][0]["resources"] == {"requests": requests, "limits": limits}
    for container in containers(manifest):
        assert {"cpu", "memory"} <= set(container["resources"]["limits"])


@pytest.mark.parametrize(
    ("resources", "requested", "limit"),
    [
        pytest.param({}, "256Mi", "2Gi", id="above the default"),
        pytest.param({"limits": {"memory": "1Gi"}}, None, "2Gi", id="above the profile's"),
        pytest.param({"requests": {"memory": "1Gi"}}, "1Gi", "2Gi", id="a request below it stays"),
        pytest.param({"requests": {"memory": "2Gi"}}, "2Gi", "2Gi", id="a request of as much stays"),
        pytest.param({"requests": {"memory": "3Gi"}}, "2Gi", "2Gi", id="a request above it comes down to it"),
    ],
)
def test_an_attempts_own_memory_is_its_limit(
    resources: dict[str, Any], requested: str | None, limit: str
) -> None:
    owner = task(status=status(attempt(memory="2Gi")))
    agent = pod(plan(profile(pod={"resources": resources}), owner=owner))["spec"]["containers"][0]
    assert agent["resources"]["requests"].get("memory") == requested
    assert agent["resources"]["limits"]["memory"] == limit


def test_the_profile_shapes_the_pod() -> None:
    secret = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "k"}}}
    toleration = {
        "key": "gpu",
        "operator": "Equal",
        "value": "yes",
        "effect": "NoExecute",
        "tolerationSeconds": 5,
    }
    manifest = made(
        image="own:1",
        imagePullPolicy="Always",
        imagePullSecrets=[{"name": "pull"}],
        env=[{"name": "MODE", "value": "fast"}, secret],
        pod={
            "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}},
            "workspace": {"size": "2Gi", "medium": "Memory"},
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [toleration],
        },
    )
    whole, agent = manifest["spec"], manifest["spec"]["containers"][0]
    assert (agent["image"], agent["imagePullPolicy"]) == ("own:1", "Always")
    assert [one for one in agent["env"] if one["name"] in ("MODE", "KEY")] == [
        {"name": "MODE", "value": "fast"},
        secret,
    ]
    assert (agent["resources"]["requests"]["cpu"], agent["resources"]["limits"]["cpu"]) == ("2", "3")
    assert whole["imagePullSecrets"] == [{"name": "pull"}]
    assert (whole["nodeSelector"], whole["tolerations"]) == ({"disk": "ssd"}, [toleration])
    workspace = next(volume for volume in whole["volumes"] if volume["name"] == "workspace")
    assert workspace["emptyDir"] == {"sizeLimit": "2Gi", "medium": "Memory"}


def test_a_bare_profile_runs_the_operators_own_agent_image() -> None:
    manifest = made()
    assert {container["image"] for container in containers(manifest)} == {IMAGE}
    assert {"nodeSelector", "tolerations", "imagePullSecrets"}.isdisjoint(manifest["spec"])


def test_the_runner_comes_from_the_operators_image_whatever_the_agents_is() -> None:
    runner = made(image="own:1", imagePullPolicy="Never")["spec"]["initContainers"][0]
    assert (runner["image"], runner["imagePullPolicy"]) == (IMAGE, "IfNotPresent")


def test_the_pod_belongs_to_its_task() -> None:
    metadata = made()["metadata"]
    assert (metadata["name"], metadata["namespace"]) == (name_of_pod(), "ns")
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("AgentTask", "t-uid", True)
    assert metadata["labels"] == {
        "app.kubernetes.io/name": "bernstein",
        "app.kubernetes.io/component": "agent",
        "app.kubernetes.io/managed-by": "bernstein-operator",
        "app.kubernetes.io/part-of": "bernstein",
        "bernstein.run/run": "r",
        "bernstein.run/task": "t",
        "bernstein.run/attempt": "1",
        "bernstein.run/role": "backend",
        "bernstein.run/component": "agent",
    }
    assert msgspec.convert({"metadata": metadata}, Pod).task_uid == "t-uid"


@pytest.mark.parametrize(
    ("size", "in_config_map"),
    [
        pytest.param(INLINE_ENVELOPE_LIMIT, False, id="exactly 32 KiB"),
        pytest.param(INLINE_ENVELOPE_LIMIT + 1, True, id="one byte more"),
    ],
)
def test_a_long_envelope_travels_in_a_config_map(size: int, in_config_map: bool) -> None:
    text = "é" * (size // 2) + "x" * (size % 2)
    wanted = plan(envelope=text)
    manifest = pod(wanted)
    volume = next(one for one in manifest["spec"]["volumes"] if one["name"] == "envelope")
    assert wanted.needs_config_map is in_config_map
    assert (manifest["metadata"].get("annotations") is None) is in_config_map
    assert ("configMap" in volume, "downwardAPI" in volume) == (in_config_map, not in_config_map)


def test_an_envelope_is_read_at_the_same_path_either_way() -> None:
    short, long = pod(plan()), plan(envelope="x" * 40_000)
    (item,) = next(one for one in short["spec"]["volumes"] if one["name"] == "envelope")["downwardAPI"][
        "items"
    ]
    stored = envelope_config_map(long)
    assert [item["path"]] == list(stored["data"])
    assert short["metadata"]["annotations"] == {"bernstein.run/envelope": "{}"}
    assert (stored["immutable"], stored["data"][item["path"]]) == (True, long.envelope)
    assert stored["metadata"]["name"] == pod(long)["metadata"]["name"]
    assert stored["metadata"]["ownerReferences"] == pod(long)["metadata"]["ownerReferences"]


def test_what_the_agent_is_told_is_in_no_argument_and_no_variable() -> None:
    manifest = pod(plan(envelope='{"prompt":"$(SECRET)"}'))
    assert "$(SECRET)" not in str(manifest["spec"])


POD_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@pytest.mark.parametrize(
    "name",
    ["t", "a" * 40, "a" * 39 + ".b", "a" * 39 + "-b", "x.y.z", "b" * 253],
    ids=["one letter", "40", "a dot at the cut", "a hyphen at the cut", "dots", "253"],
)
@pytest.mark.parametrize("number", [1, 1_000_000])
def test_pod_names_are_host_names(name: str, number: int) -> None:
    found = pod_name(task=name, task_uid="uid", attempt=number)
    assert len(found) <= 63
    assert POD_NAME.fullmatch(found)


def test_a_task_made_again_gets_other_pod_names() -> None:
    names = {pod_name(task="t", task_uid=uid, attempt=number) for uid in ("a", "b") for number in (1, 2)}
    assert len(names) == 4


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("a" * 63, True, id="exactly 63"),
        pytest.param("a" * 64, False, id="one more"),
        pytest.param("a" * 55 + "." * 10, False, id="dots at the cut"),
    ],
)
def test_labels_hold_63_characters(text: str, kept: bool) -> None:
    found = labels(run=text, task=text, component="agent", extra={"x": text})
    for value in (found["bernstein.run/run"], found["bernstein.run/task"], found["x"]):
        assert len(value) <= 63
        assert (value == text) is kept
        assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", value)


def test_two_names_that_are_cut_stay_apart() -> None:
    assert shorten("a" * 63 + "x") != shorten("a" * 63 + "y")


@pytest.mark.parametrize("switched_on", [True, False], ids=["on", "off"])
def test_the_providers_countdown_is_switched_on_by_a_variable_of_our_own(switched_on: bool) -> None:
    manifest = pod(replace(plan(), task_budgets=switched_on))
    env = {one["name"]: one.get("value") for one in manifest["spec"]["containers"][0]["env"]}
    assert env.get("BERNSTEIN_ANTHROPIC_TASK_BUDGETS") == ("true" if switched_on else None)


def test_the_operators_own_variables_stand_last() -> None:
    agent = made(env=[{"name": "A", "value": "x"}])["spec"]["containers"][0]
    assert [one["name"] for one in agent["env"]] == ["A", "HOME", "TMPDIR", "BERNSTEIN_POD_NAME"]
    assert {one["name"]: one.get("value") for one in agent["env"]}["HOME"] == "/workspace/home"


@pytest.mark.parametrize("name", ["HOME", "TMPDIR", "BERNSTEIN_RUN"])
def test_a_profile_that_sets_one_of_them_is_invalid(name: str) -> None:
    assert "the operator's own" in profile(env=[{"name": name, "value": "/root"}]).invalid


def test_an_agent_that_reports_has_a_token_that_is_good_for_nothing_else() -> None:
    whole = pod(replace(plan(), reports=True))["spec"]
    [volume] = [one for one in whole["volumes"] if one["name"] == "token"]
    [source] = volume["projected"]["sources"]
    asked = source["serviceAccountToken"]
    assert (asked["audience"], asked["path"]) == (REPORT_AUDIENCE, TOKEN_FILE)
    assert asked["expirationSeconds"] >= 600
    assert whole["automountServiceAccountToken"] is False
    [agent], [runner] = whole["containers"], whole["initContainers"]
    mounts = [one for one in agent["volumeMounts"] if one["name"] == "token"]
    assert mounts == [{"name": "token", "mountPath": TOKEN_DIRECTORY, "readOnly": True}]
    assert "token" not in {one["name"] for one in runner["volumeMounts"]}


def test_an_agent_that_does_not_report_has_none() -> None:
    assert "projected" not in str(pod(plan()))
