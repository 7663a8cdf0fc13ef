"""Names of everything the operator creates, and the keys it writes on them.

A name must be computable from what is stored, never drawn: an operator that was killed between asking for
a Pod and hearing of it has to ask for the same name again. Names and label values are limited to 63
characters (object names to 253), so a long one is cut and given six digits of its hash, which keeps two
names that are equal in their first characters apart.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final

GROUP: Final = "bernstein.run"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
CONTROLLER: Final = f"{GROUP}/operator"
MANAGED_BY: Final = "bernstein-operator"
REPORT_AUDIENCE: Final = "bernstein-operator"
"""Whom the agents' tokens are meant for; the API server takes none of that audience."""

LABEL_RUN: Final = f"{GROUP}/run"
"""On agent Pods, envelope ConfigMaps and inline tasks: the run's name."""
LABEL_TASK: Final = f"{GROUP}/task"
"""On agent Pods and envelope ConfigMaps: the AgentTask's name."""
LABEL_ATTEMPT: Final = f"{GROUP}/attempt"
"""On agent Pods and envelope ConfigMaps: the attempt's number, from 1."""
LABEL_ROLE: Final = f"{GROUP}/role"
"""On agent Pods and envelope ConfigMaps: the task's role."""
LABEL_COMPONENT: Final = f"{GROUP}/component"
"""On everything created: agent (Pods and their ConfigMaps), task (inline tasks) or ledger."""
COMPONENT_AGENT: Final = "agent"
COMPONENT_LEDGER: Final = "ledger"

LABEL_LEADER: Final = f"{GROUP}/leader"
"""On the operator's own Pod that leads, written by it: the name of the Lease. Reports go to that Pod."""

ANNOTATION_ENVELOPE: Final = f"{GROUP}/envelope"
"""On an agent Pod, written by the operator: the envelope, if it has at most 32 KiB."""
ANNOTATION_STOP: Final = f"{GROUP}/stop"
"""On an agent Pod, written by the operator: why it was told to stop. Decides how the attempt's end counts."""
ANNOTATION_STOP_TIME: Final = f"{GROUP}/stop-time"
"""On an agent Pod, written by the operator: when it was told to stop."""
ANNOTATION_EVENT: Final = f"{GROUP}/event"
"""On an event, written by the operator: the name that the documents give to what happened, if they do."""
ANNOTATION_CANCEL: Final = f"{GROUP}/cancel"
"""On a BernsteinRun or AgentTask, written by people: exactly "true" cancels it, for good."""
ANNOTATION_DRAIN: Final = f"{GROUP}/drain"
"""On a BernsteinRun, written by people: exactly "true" lets live agents finish and ends the run."""
ANNOTATION_ABANDON: Final = f"{GROUP}/abandon"
"""On an AgentTask, written by people: "reason: detail" gives it up, for good."""
ANNOTATION_RETRY: Final = f"{GROUP}/retry"
"""On a BernsteinRun or AgentTask, written by people: each new value asks for a fresh attempt once."""
ANNOTATION_QUARANTINE: Final = f"{GROUP}/quarantine"
"""On an AgentTask, written by people: why it may not go on before somebody has looked."""
ANNOTATION_ANSWER: Final = f"{GROUP}/answer"
"""On an AgentTask, written by people: the answer to what it asks; another attempt goes on with it."""
ANNOTATION_ACTOR: Final = f"{GROUP}/actor"
"""On a BernsteinRun or AgentTask, stamped by the chart's admission policy: who wrote the latest command."""
LABEL_LEDGER: Final = f"{GROUP}/ledger"
"""On a ConfigMap of the ledger: the run's name."""
ANNOTATION_RUN_NAME: Final = f"{GROUP}/run-name"
"""On the ConfigMaps of the abandonment ledger, written by the operator: the run's whole name."""
ANNOTATION_RUN_UID: Final = f"{GROUP}/run-uid"
"""On the ConfigMaps of the abandonment ledger, written by the operator: the run's UID."""
ANNOTATION_NEXT_SEGMENT: Final = f"{GROUP}/next-segment"
"""On a sealed ConfigMap of the abandonment ledger, written by the operator: the one that follows it."""

LABEL_LIMIT: Final = 63
OBJECT_LIMIT: Final = 253
_HASH_DIGITS: Final = 6
_POD_TASK_PART: Final = 40
_LEDGER_RUN_PART: Final = 200
_BRANCH_PART: Final = 220
"""git keeps each part of a branch as a file: at most 255 bytes, the endings of rescues and locks included."""


def short_hash(text: str) -> str:
    """Return six hexadecimal digits that stand for ``text``."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:_HASH_DIGITS]


def shorten(text: str, *, limit: int = LABEL_LIMIT) -> str:
    """Return ``text`` itself if it fits into ``limit`` characters, else its head and its hash."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - _HASH_DIGITS - 1].rstrip('-._')}-{short_hash(text)}"


def pod_name(*, task: str, task_uid: str, attempt: int) -> str:
    """Return the name of the one Pod that attempt ``attempt`` (from 1) of a task may ever have.

    The task's UID is in it, so that a task deleted and made again under its old name meets none of the
    former's Pods. At most 63 characters: Pod names end up in the host name.
    """
    head = task[:_POD_TASK_PART].replace(".", "-").rstrip("-")
    return f"{head}-{short_hash(task_uid)}-a{attempt}"


def inline_task_name(*, run: str, task: str) -> str:
    """Return the object name of the AgentTask made from entry ``task`` of a run's list."""
    return shorten(f"{run}-{task}", limit=OBJECT_LIMIT)


def ledger_name(*, run: str, run_uid: str, number: int) -> str:
    """Return the name of the ``number``-th ConfigMap (from 1) of a run's abandonment ledger."""
    head = f"{run[:_LEDGER_RUN_PART].rstrip('-.')}-{short_hash(run_uid)}-abandonments"
    return head if number == 1 else f"{head}-{number}"


def branch_part(name: str) -> str:
    """Return a run's or a task's name as one part of a branch; git refuses one that ends as its locks do."""
    head = name.removesuffix(".lock")
    return shorten(name if head == name else f"{head}-{short_hash(name)}", limit=_BRANCH_PART)


def event_name(*, name: str, uid: str, reason: str, at: datetime, pod: str = "") -> str:
    """Return an event's name, the same for every repeat of one transition, so that a repeat is a 409.

    ``pod`` keeps two attempts apart that failed within one second: kubelets tell no finer time.
    """
    transition = f"{uid}/{reason}/{at.isoformat()}/{pod}"
    return f"{name[:200].rstrip('-.')}.{hashlib.sha256(transition.encode()).hexdigest()[:16]}"


def labels(*, run: str, task: str, component: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the labels of an object made for a task; values are cut to what a label may hold."""
    return {
        **_run_labels(run, component),
        LABEL_TASK: shorten(task),
        **{key: shorten(value) for key, value in (extra or {}).items()},
    }


def ledger_labels(run: str) -> dict[str, str]:
    """Return the labels of a ConfigMap of a run's abandonment ledger."""
    return {**_run_labels(run, COMPONENT_LEDGER), LABEL_LEDGER: shorten(run)}


def _run_labels(run: str, component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "bernstein",
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": MANAGED_BY,
        "app.kubernetes.io/part-of": "bernstein",
        LABEL_RUN: shorten(run),
        LABEL_COMPONENT: component,
    }
