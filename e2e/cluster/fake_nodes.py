"""Nodes that exist only in the API: kwok answers for them, so a thousand Pods cost no container.

They carry label and taint type=kwok. Only profiles of tests tolerate that taint, so nothing that was meant
for a real node ever "runs" on a fake one.
"""

from e2e.cluster.api import Api, Json

TYPE_LABEL = "type"
TYPE = "kwok"
_TAINT = {"key": TYPE_LABEL, "value": TYPE, "effect": "NoSchedule"}
PODS_PER_NODE = 1000


def fake_node(index: int) -> Json:
    """The object of fake node number `index`."""
    name = f"kwok-{index}"
    capacity = {"cpu": "1000", "memory": "4Ti", "pods": str(PODS_PER_NODE), "ephemeral-storage": "100Ti"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {TYPE_LABEL: TYPE, "kubernetes.io/hostname": name}},
        "spec": {"taints": [_TAINT]},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def create_fake_nodes(api: Api, count: int) -> None:
    """Create the nodes that are missing."""
    for index in range(count):
        api.create("/api/v1/nodes", fake_node(index))


def fake_nodes_ready(api: Api, count: int) -> bool:
    """Whether `count` fake nodes take Pods: Ready, and no taint besides their own."""
    answer = api.get(f"/api/v1/nodes?labelSelector={TYPE_LABEL}%3D{TYPE}") or {"items": []}
    return sum(_takes_pods(node) for node in answer["items"]) >= count


def _takes_pods(node: Json) -> bool:
    conditions = node["status"].get("conditions", [])
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ready and [taint["key"] for taint in node["spec"].get("taints", [])] == [TYPE_LABEL]
