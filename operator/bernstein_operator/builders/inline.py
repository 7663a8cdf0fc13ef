"""The AgentTask that is made of an entry in a run's list."""

from typing import Any

from bernstein_operator.api.names import (
    API_VERSION,
    LABEL_COMPONENT,
    LABEL_RUN,
    MANAGED_BY,
    inline_task_name,
    shorten,
)
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.run import InlineTask


def inline_task(run: RunObject, task: InlineTask) -> dict[str, Any]:
    """Return the AgentTask for entry ``task``; it is owned by its run and dies with it.

    Only what the entry says is copied. The run's taskDefaults are laid under it whenever it is read, so
    that changing them acts on the tasks that are there.
    """
    meta = run.meta
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentTask",
        "metadata": {
            "name": inline_task_name(run=meta.name, task=task.name),
            "namespace": meta.namespace,
            "labels": {
                "app.kubernetes.io/name": "bernstein",
                "app.kubernetes.io/component": "task",
                "app.kubernetes.io/managed-by": MANAGED_BY,
                "app.kubernetes.io/part-of": "bernstein",
                LABEL_COMPONENT: "task",
                LABEL_RUN: shorten(meta.name),
            },
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": "BernsteinRun",
                    "name": meta.name,
                    "uid": meta.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "runRef": {"name": meta.name},
            **task.model_dump(mode="json", by_alias=True, exclude_unset=True),
        },
    }
