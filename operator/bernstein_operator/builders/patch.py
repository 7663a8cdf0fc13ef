"""Merge patches that say only what changes.

A patch carries the resourceVersion and UID that it was concluded from, so that the API server refuses it
(409) if anybody wrote in between, or if the object was deleted and made again. Lists are replaced whole.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bernstein_operator.api.base import Model
from bernstein_operator.api.names import ANNOTATION_STOP, ANNOTATION_STOP_TIME
from bernstein_operator.api.pod import Metadata, Pod

SHORTEST_ACTIVE_DEADLINE = 1


def status_patch(meta: Metadata, *, stored: Model, wanted: Model) -> dict[str, Any] | None:
    """Return the merge patch that turns ``stored`` into ``wanted``, None where they are equal."""
    if stored == wanted:
        return None
    changes = difference(stored.manifest(), wanted.manifest())
    if not changes:
        return None
    return {"metadata": {"resourceVersion": meta.resource_version, "uid": meta.uid}, "status": changes}


def stop_patch(pod: Pod, *, stop: str, now: datetime) -> dict[str, Any]:
    """Return the patch that ends a Pod within its grace period and keeps it.

    activeDeadlineSeconds can only be lowered, and counts from the Pod's start: one second is over already.
    The UID guards against a Pod of the same name; what the kubelet writes meanwhile doesn't matter.
    """
    marks = {ANNOTATION_STOP: stop, ANNOTATION_STOP_TIME: now.isoformat()}
    return {
        "metadata": {"uid": pod.metadata.uid, "annotations": marks},
        "spec": {"activeDeadlineSeconds": SHORTEST_ACTIVE_DEADLINE},
    }


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch (RFC 7386) from ``old`` to ``new``."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if value == before:
            continue
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            patch[key] = difference(before, value)
        else:
            patch[key] = value
    return patch
