"""The Pod of an attempt: what it may do, how long it lives, and how its agent is told what to do."""

import json

import pytest

from tests.support.builders import HAND, hand_profile, kwok_profile, make_profile, make_run, make_task
from tests.support.kube import ApiError, Kube, Manifest
from tests.support.operator import OperatorProcess
from tests.support.pods import set_pod_running, succeed, wait_pod
from tests.support.tasks import wait_phase, wait_run

ENVELOPE = "bernstein.run/envelope"
PROMPT = "Say $(HOME) and $(POD_NAME), 'quoted' \"twice\", 漢字."
LIMIT = 32 * 1024


def test_a_pod_is_confined_limited_and_owned(kube: Kube, operator: OperatorProcess) -> None:
    enforced = kube.get("namespaces", kube.namespace)["metadata"]["labels"]
    assert enforced["pod-security.kubernetes.io/enforce"] == "restricted"
    kube.create(hand_profile())
    kube.create(make_run())
    task = kube.create(make_task(startTimeoutSeconds=40, timeoutSeconds=500))
    pod = wait_pod(kube, "t")
    spec = pod["spec"]
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"]) == ("Never", 10)
    assert spec["activeDeadlineSeconds"] == 40 + 500
    assert spec["automountServiceAccountToken"] is False
    assert not [volume for volume in spec["volumes"] if {"projected", "secret"} & volume.keys()]
    assert pod["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "bernstein.run/v1alpha1",
            "kind": "AgentTask",
            "name": "t",
            "uid": task["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert "finalizers" not in pod["metadata"]
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["resources"]["requests"].keys() >= {"cpu", "memory"}, container["name"]
        assert container["resources"]["limits"].keys() >= {"cpu", "memory"}, container["name"]
        mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert not any("serviceaccount" in path for path in mounts)
    succeed(kube, set_pod_running(kube, pod))
    wait_run(kube, "r", "Succeeded")


def test_a_profiles_resources_are_completed_not_replaced(kube: Kube, operator: OperatorProcess) -> None:
    resources = {"requests": {"memory": "2Gi"}, "limits": {"cpu": "2"}}
    kube.create(make_profile(pod={"nodeSelector": HAND, "resources": resources}))
    kube.create(make_run())
    kube.create(make_task())
    [agent] = wait_pod(kube, "t")["spec"]["containers"]
    assert agent["resources"] == {
        "requests": {"cpu": "2", "memory": "2Gi"},
        "limits": {"cpu": "2", "memory": "2Gi"},
    }


def test_a_short_prompt_travels_in_an_annotation(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task(prompt=PROMPT))
    pod = wait_pod(kube, "t")
    envelope = pod["metadata"]["annotations"][ENVELOPE]
    assert json.loads(envelope)["payload"]["prompt"] == PROMPT
    assert len(envelope.encode()) <= LIMIT
    [source] = [volume for volume in pod["spec"]["volumes"] if volume["name"] == "envelope"]
    [item] = source["downwardAPI"]["items"]
    assert item["path"] == "envelope.json"
    assert item["fieldRef"]["fieldPath"] == f"metadata.annotations['{ENVELOPE}']"
    assert not [one for one in kube.items("configmaps") if one["metadata"]["name"] != "kube-root-ca.crt"]
    assert "quoted" not in json.dumps(started_with(pod))


def test_a_long_prompt_travels_in_a_config_map_of_the_tasks(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    kube.create(make_run())
    prompt = PROMPT + "x" * (LIMIT - len(PROMPT.encode()) + 1)
    task = kube.create(make_task(prompt=prompt))
    pod = wait_pod(kube, "t")
    assert ENVELOPE not in pod["metadata"].get("annotations", {})
    [source] = [volume for volume in pod["spec"]["volumes"] if volume["name"] == "envelope"]
    assert source["configMap"]["name"] == pod["metadata"]["name"]
    found = kube.get("configmaps", pod["metadata"]["name"])
    assert found["immutable"] is True
    assert json.loads(found["data"]["envelope.json"])["payload"]["prompt"] == prompt
    [owner] = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("AgentTask", task["metadata"]["uid"])
    with pytest.raises(ApiError, match="immutable"):
        kube.patch("configmaps", pod["metadata"]["name"], {"data": {"envelope.json": "{}"}})
    assert "quoted" not in json.dumps(started_with(pod))
    wait_phase(kube, "t", "Succeeded")


def started_with(pod: Manifest) -> list[object]:
    """Return what each container of the Pod is started with: command, arguments, environment."""
    containers = (*pod["spec"]["initContainers"], *pod["spec"]["containers"])
    return [[one.get(key) for key in ("command", "args", "env", "envFrom")] for one in containers]
