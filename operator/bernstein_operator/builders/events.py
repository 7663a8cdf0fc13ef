"""An event as the operator tells it, and as the API server wants it.

Events follow from what is stored, not from the moment in which it was stored: after a crash between the
write and its event, the same list is made again, under the same names, and the API server answers the
repeats with 409. Each is one change that has happened, told once.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bernstein_operator.api.event_reasons import EventReason
from bernstein_operator.api.names import ANNOTATION_EVENT, API_VERSION, CONTROLLER, event_name
from bernstein_operator.api.pod import Metadata

NOTE_LIMIT: Final = 1024
NORMAL: Final = "Normal"
WARNING: Final = "Warning"


@dataclass(frozen=True, slots=True)
class Notice:
    """One event before it is an API object.

    Attributes:
        reason: what happened.
        at: when it happened; part of the event's identity.
        note: the same for people.
        type: Normal or Warning.
        action: what the operator was doing.
        pod: the Pod that it is about, where it is about one; part of the event's identity too.
        about: what else tells it from another one of the same moment.
        document: the name that the documents give to it, if they do.
    """

    reason: EventReason
    at: datetime
    note: str
    type: str = NORMAL
    action: str = "Reconcile"
    pod: str = ""
    about: str = ""
    document: str = ""

    @property
    def identity(self) -> tuple[EventReason, datetime, str]:
        """What tells it from every other event of the same object, and is the same in a repeat."""
        return self.reason, self.at, f"{self.pod}{self.about}"


def event(notice: Notice, *, kind: str, meta: Metadata, instance: str) -> dict[str, Any]:
    """Return the events.k8s.io/v1 object; ``instance`` names the operator's process."""
    regarding = {
        "apiVersion": API_VERSION,
        "kind": kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    reason, at, told_apart = notice.identity
    related = {"apiVersion": "v1", "kind": "Pod", "namespace": meta.namespace, "name": notice.pod}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": event_name(name=meta.name, uid=meta.uid, reason=reason, at=at, pod=told_apart),
            "namespace": meta.namespace,
            **({"annotations": {ANNOTATION_EVENT: notice.document}} if notice.document else {}),
        },
        "eventTime": notice.at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "reportingController": CONTROLLER,
        "reportingInstance": instance,
        "action": notice.action,
        "reason": notice.reason,
        "type": notice.type,
        "note": _cut(notice.note),
        "regarding": regarding,
        **({"related": related} if notice.pod else {}),
    }


def _cut(note: str) -> str:
    encoded = note.encode()
    return note if len(encoded) <= NOTE_LIMIT else encoded[: NOTE_LIMIT - 3].decode(errors="ignore") + "…"
