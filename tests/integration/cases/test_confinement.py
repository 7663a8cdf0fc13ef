"""SECU-3: an agent's Pod holds no token and is admitted where "restricted" is enforced."""

from tests.support.builders import kwok_profile, make_run, make_task
from tests.support.kube import Kube, Kubectl
from tests.support.operator import OperatorProcess
from tests.support.pods import pods_of
from tests.support.tasks import wait_run

LABEL = "pod-security.kubernetes.io/enforce"


def test_secu_3_the_pod_is_confined_and_holds_no_token(
    kube: Kube, kubectl: Kubectl, operator: OperatorProcess
) -> None:
    enforced = kube.get("namespaces", kube.namespace)["metadata"]["labels"][LABEL]
    assert enforced == "restricted"
    kube.create(kwok_profile())
    kube.create(make_run())
    task = kube.create(make_task())
    wait_run(kube, "r", "Succeeded")
    [pod] = pods_of(kube, "t")
    spec = pod["spec"]
    assert spec["automountServiceAccountToken"] is False
    volumes = {key for volume in spec["volumes"] for key in volume}
    assert volumes <= {"name", "emptyDir", "downwardAPI", "configMap"}
    assert (spec["restartPolicy"], spec["serviceAccountName"]) == ("Never", "default")
    assert 1 <= spec["activeDeadlineSeconds"] <= 2147483647
    [owner] = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("AgentTask", task["metadata"]["uid"], True)
    assert "finalizers" not in pod["metadata"]
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


def test_secu_3_the_pods_account_may_do_nothing_to_our_kinds(kube: Kube, kubectl: Kubectl) -> None:
    account = f"system:serviceaccount:{kube.namespace}:default"
    for verb in ("get", "list", "create", "patch", "delete"):
        for resource in ("agenttasks", "bernsteinruns", "agentprofiles", "pods", "configmaps", "secrets"):
            said = kubectl("auth", "can-i", verb, resource, "--as", account, check=False)
            assert said.strip().endswith("no"), f"{verb} {resource}"
