"""The tests' own client and the playing of Pods, on the real API server."""

import pytest

from tests.support.builders import hand_profile, inline_task, kwok_profile, make_run, make_task
from tests.support.kube import ApiError, Kube, Kubectl, Manifest
from tests.support.pods import bind, end_pod, remove_pod, set_pod_running, set_pod_waiting, set_unschedulable

POD: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"bernstein.run/attempt": "1"}},
    "spec": {
        "restartPolicy": "Never",
        "nodeSelector": {"bernstein.test/nodes": "none"},
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "agent",
                "image": "registry.invalid/agent",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}


def test_apply_takes_text_of_several_documents_and_repeats(kube: Kube) -> None:
    text = "\n---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{key: '1'}}" for name in "ab"
    )
    for _ in range(2):
        assert [applied["metadata"]["name"] for applied in kube.apply(text)] == ["a", "b"]
    names = {found["metadata"]["name"] for found in kube.items("configmaps")}
    assert names >= {"a", "b"}


def test_a_typo_is_refused(kube: Kube) -> None:
    with pytest.raises(ApiError, match="maxAgentss"):
        kube.create(make_run(concurrency={"maxAgentss": 3}))


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(make_run(max_agents=2, tasks=[inline_task("a")]), id="run"),
        pytest.param(make_task(depends_on=["a"], timeoutSeconds=30), id="task"),
        pytest.param(hand_profile(), id="profile for playing by hand"),
        pytest.param(kwok_profile(), id="profile for fake nodes"),
    ],
)
def test_what_the_builders_make_is_taken(kube: Kube, manifest: Manifest) -> None:
    assert kube.create(manifest)["metadata"]["uid"]


def test_a_disappointed_wait_shows_the_object_and_its_events(kube: Kube) -> None:
    kube.create(make_task())
    with pytest.raises(AssertionError) as disappointed:
        kube.wait_for("agenttasks", "t", lambda task: "x" in task, timeout=0.2, what="an x")
    text = str(disappointed.value)
    assert "agenttasks/t: an x did not come within 0.2 s" in text
    assert "prompt: do t" in text
    assert "(no events)" in text


def test_a_user_without_rights_is_refused(kube: Kube) -> None:
    with pytest.raises(ApiError) as refused:
        kube.acting_as("nobody-in-particular").items("pods")
    assert refused.value.status == 403


def test_kubectl_speaks_to_the_same_namespace(kube: Kube, kubectl: Kubectl) -> None:
    kube.create(make_task())
    assert "agenttask.bernstein.run/t" in kubectl("get", "bstask", "-o", "name")
    with pytest.raises(AssertionError, match="NotFound"):
        kubectl("get", "bstask", "missing")


def test_a_pods_life_is_played_by_hand(kube: Kube) -> None:
    pod = kube.create(POD)
    assert set_unschedulable(kube, pod)["status"]["conditions"][0]["reason"] == "Unschedulable"
    bind(kube, "p")
    waiting = set_pod_waiting(kube, pod, reason="ErrImagePull", message="no such host")
    assert waiting["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ErrImagePull"
    running = set_pod_running(kube, pod, started=1_800_000_000)
    assert running["status"]["phase"] == "Running"
    state = running["status"]["containerStatuses"][0]["state"]
    assert state == {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
    ended = end_pod(kube, running, "Failed", 137, "OOMKilled", result={"class": "oom"})
    [agent] = ended["status"]["containerStatuses"]
    terminated = agent["state"]["terminated"]
    assert agent["state"].keys() == {"terminated"}
    assert (terminated["exitCode"], terminated["reason"]) == (137, "OOMKilled")
    assert (terminated["message"], terminated["startedAt"]) == ('{"class": "oom"}', "2027-01-15T08:00:00Z")


def test_a_bound_pod_stays_terminating_until_its_node_lets_it_go(kube: Kube) -> None:
    pod = kube.create(POD)
    bind(kube, "p")
    set_pod_running(kube, pod)
    kube.delete("pods", "p")
    assert "deletionTimestamp" in kube.get("pods", "p")["metadata"]
    remove_pod(kube, "p")
    remove_pod(kube, "p")
    assert kube.find("pods", "p") is None
