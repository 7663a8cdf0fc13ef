"""The abandonment ledger as a reader finds it: ConfigMaps by label, one line of JSON for each task's UID."""

from collections.abc import Mapping, Sequence

from bernstein_operator.api.names import (
    ANNOTATION_RUN_NAME,
    ANNOTATION_RUN_UID,
    LABEL_LEDGER,
    ledger_labels,
    ledger_name,
)
from bernstein_operator.decisions.ledger import Row, line, weight
from tests.support.kube import Kube, Manifest, eventually


def segments(kube: Kube) -> list[Manifest]:
    """Return the ledger's ConfigMaps in the namespace, the first of each run before its second."""
    return sorted(
        kube.items("configmaps", labels=LABEL_LEDGER),
        key=lambda one: (len(one["metadata"]["name"]), one["metadata"]["name"]),
    )


def rows(kube: Kube) -> dict[str, str]:
    """Return each row's line by its task's UID; no task may have two."""
    found: dict[str, str] = {}
    for segment in segments(kube):
        data = segment.get("data", {})
        assert not found.keys() & data.keys(), "a task has two rows"
        found |= data
    return found


def wait_rows(kube: Kube, tasks: Sequence[Manifest], *, timeout: float = 60.0) -> dict[str, str]:
    """Return all rows once each of the tasks has one."""
    uids = {task["metadata"]["uid"] for task in tasks}

    def found() -> dict[str, str] | None:
        there = rows(kube)
        return there if uids <= there.keys() else None

    return eventually(found, timeout=timeout, what=f"{len(uids)} rows")


def size(data: Mapping[str, str]) -> int:
    """Return how many bytes keys and values have together."""
    return sum(weight(key, value) for key, value in data.items())


def filler(run: Manifest, *, total: int) -> Manifest:
    """Return the first segment of a run's ledger, with valid rows of ``total`` bytes in all."""
    meta = run["metadata"]
    data: dict[str, str] = {}
    while size(data) < total:
        uid = f"{len(data):08d}-0000-4000-8000-000000000000"
        empty = weight(uid, line(_row(uid, run, "")))
        left = total - size(data)
        # The last row takes exactly what is left, the one before it leaves enough for that.
        long = left - empty if left <= 30_000 else min(30_000, left - 1000) - empty
        data[uid] = line(_row(uid, run, "x" * long))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": ledger_name(run=meta["name"], run_uid=meta["uid"], number=1),
            "labels": ledger_labels(meta["name"]),
            "annotations": {ANNOTATION_RUN_NAME: meta["name"], ANNOTATION_RUN_UID: meta["uid"]},
        },
        "data": data,
    }


def _row(uid: str, run: Manifest, detail: str) -> Row:
    return Row(
        task_uid=uid,
        timestamp=1_700_000_000,
        task_id="earlier",
        role="qa",
        reason="out_of_scope",
        adapter="script",
        attempts=1,
        detail=detail,
        run=run["metadata"]["name"],
        run_uid=run["metadata"]["uid"],
        namespace=run["metadata"].get("namespace", ""),
        actor="agent",
        cost_to_date_usd="0",
    )
