"""The Pod of one attempt.

Model-written code runs in it, so it gets the least that can work: no token that the API server takes, no
privilege, a read-only root file system, an own user, requests and limits, and an end even if the operator
never comes back. The shape satisfies Pod Security "restricted". What the agent is told arrives as a file, not
in arguments or in literal environment values, which Kubernetes would expand and every reader of the Pod could
see.
"""

from dataclasses import dataclass
from typing import Any, Final

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.names import (
    ANNOTATION_ENVELOPE,
    API_VERSION,
    COMPONENT_AGENT,
    LABEL_ATTEMPT,
    LABEL_ROLE,
    REPORT_AUDIENCE,
    labels,
)
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.pod import AGENT_CONTAINER, RUNNER_CONTAINER
from bernstein_operator.api.profile import (
    AgentProfileSpec,
    ImagePullPolicy,
    Medium,
    Resources,
    Workspace,
)
from bernstein_operator.api.task_status import Attempt
from bernstein_operator.decisions.deadline import TERMINATION_GRACE, Bounds, active_deadline_seconds
from bernstein_operator.decisions.memory import DEFAULT_LIMIT, in_bytes

ZIPAPP_IN_IMAGE: Final = "/opt/bernstein/bernstein-agent.pyz"
ZIPAPP_DIRECTORY: Final = "/bernstein/bin"
ZIPAPP: Final = f"{ZIPAPP_DIRECTORY}/bernstein-agent.pyz"
ENVELOPE_DIRECTORY: Final = "/bernstein/envelope"
ENVELOPE_FILE: Final = "envelope.json"
WORKSPACE: Final = "/workspace"
HOME: Final = f"{WORKSPACE}/home"
USER: Final = 10001
TOKEN_DIRECTORY: Final = "/bernstein/token"  # noqa: S105 - where it is, not what it is
TOKEN_FILE: Final = "token"  # noqa: S105
TOKEN_SECONDS: Final = 3600
"""How long a token is good for; the kubelet renews it long before."""
INLINE_ENVELOPE_LIMIT: Final = 32 * 1024
"""Up to so many bytes the envelope travels in an annotation; above, in a ConfigMap of its own."""

DEFAULT_REQUESTS: Final = {"cpu": "100m", "memory": "256Mi"}
DEFAULT_LIMITS: Final = {"cpu": "1", "memory": DEFAULT_LIMIT}
DEFAULT_WORKSPACE_SIZE: Final = "10Gi"
_TMP_SIZE: Final = "1Gi"
_RUNNER_RESOURCES: Final = {
    "requests": {"cpu": "10m", "memory": "32Mi"},
    "limits": {"cpu": "500m", "memory": "128Mi"},
}
_PYTHON: Final = ("python3", "-I")
"""Isolated: what a profile sets for the agent (PYTHONPATH …) must not reach the runner."""
_OWN_ENV: Final[list[dict[str, Any]]] = [
    {"name": "HOME", "value": HOME},
    {"name": "TMPDIR", "value": "/tmp"},  # noqa: S108 - a volume of the Pod's own
    {"name": "BERNSTEIN_POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
]
_CONFINED: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


@dataclass(frozen=True, slots=True)
class PodPlan:
    """Everything that an attempt's Pod is made of.

    Attributes:
        task: the owner.
        effective: its spec with all defaults.
        attempt: the attempt as recorded.
        bounds: how long it may take.
        profile: what the agent is.
        envelope: the JSON that the runner reads.
        agent_image: the operator's own image of the runner, also the agent's where the profile names none.
        reports: whether the agent reports to the operator, for which it needs a token.
    """

    task: TaskObject
    effective: EffectiveTask
    attempt: Attempt
    bounds: Bounds
    profile: AgentProfileSpec
    envelope: str
    agent_image: str
    reports: bool = False

    @property
    def needs_config_map(self) -> bool:
        """Whether the envelope is too long for an annotation."""
        return len(self.envelope.encode()) > INLINE_ENVELOPE_LIMIT


def pod(plan: PodPlan) -> dict[str, Any]:
    """Return the Pod, ready to be posted."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(plan, inline_envelope=not plan.needs_config_map),
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": active_deadline_seconds(plan.bounds, intent=plan.attempt.intent_time),
            "terminationGracePeriodSeconds": int(TERMINATION_GRACE.total_seconds()),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "initContainers": [_runner(plan)],
            "containers": [_agent(plan)],
            "volumes": _volumes(plan),
            **_placement(plan.profile),
        },
    }


def envelope_config_map(plan: PodPlan) -> dict[str, Any]:
    """Return the ConfigMap that holds an envelope which is too long for an annotation."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(plan, inline_envelope=False),
        "immutable": True,
        "data": {ENVELOPE_FILE: plan.envelope},
    }


def _metadata(plan: PodPlan, *, inline_envelope: bool) -> dict[str, Any]:
    meta, attempt = plan.task.meta, plan.attempt
    extra = {LABEL_ATTEMPT: str(attempt.number), LABEL_ROLE: plan.effective.role}
    owner = {
        "apiVersion": API_VERSION,
        "kind": "AgentTask",
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": attempt.pod_name,
        "namespace": meta.namespace,
        "labels": labels(run=plan.effective.run, task=meta.name, component=COMPONENT_AGENT, extra=extra),
        "ownerReferences": [owner],
        **({"annotations": {ANNOTATION_ENVELOPE: plan.envelope}} if inline_envelope else {}),
    }


def _runner(plan: PodPlan) -> dict[str, Any]:
    """Return the init container that puts the runner where any image with Python can run it."""
    return {
        "name": RUNNER_CONTAINER,
        "image": plan.agent_image,
        "command": [*_PYTHON, ZIPAPP_IN_IMAGE, "copy", ZIPAPP],
        "securityContext": _CONFINED,
        "resources": _RUNNER_RESOURCES,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "bin", "mountPath": ZIPAPP_DIRECTORY}],
        **_pull_policy(plan.profile if not plan.profile.image else None),
    }


def _agent(plan: PodPlan) -> dict[str, Any]:
    return {
        "name": AGENT_CONTAINER,
        "image": plan.profile.image or plan.agent_image,
        "command": [*_PYTHON, ZIPAPP, "run"],
        "workingDir": WORKSPACE,
        # The last of two variables of one name counts: a profile can't replace ours.
        "env": [*(one.manifest() for one in plan.profile.env), *_OWN_ENV],
        "securityContext": _CONFINED,
        "resources": _resources(plan.profile.pod.resources, memory=plan.attempt.memory),
        "volumeMounts": [
            {"name": "bin", "mountPath": ZIPAPP_DIRECTORY, "readOnly": True},
            {"name": "envelope", "mountPath": ENVELOPE_DIRECTORY, "readOnly": True},
            {"name": "workspace", "mountPath": WORKSPACE},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
            *([{"name": "token", "mountPath": TOKEN_DIRECTORY, "readOnly": True}] if plan.reports else ()),
        ],
        **_pull_policy(plan.profile),
    }


def _volumes(plan: PodPlan) -> list[dict[str, Any]]:
    return [
        {"name": "bin", "emptyDir": {"sizeLimit": "16Mi"}},
        {"name": "envelope", **_envelope_source(plan)},
        {"name": "workspace", "emptyDir": _workspace(plan.profile.pod.workspace)},
        {"name": "tmp", "emptyDir": {"sizeLimit": _TMP_SIZE}},
        *([_token()] if plan.reports else ()),
    ]


def _token() -> dict[str, Any]:
    """Return the volume with the token of the Pod's own that is good for reports and nothing else."""
    wanted = {"audience": REPORT_AUDIENCE, "expirationSeconds": TOKEN_SECONDS, "path": TOKEN_FILE}
    return {"name": "token", "projected": {"sources": [{"serviceAccountToken": wanted}]}}


def _envelope_source(plan: PodPlan) -> dict[str, Any]:
    if plan.needs_config_map:
        return {"configMap": {"name": plan.attempt.pod_name}}
    field = {"fieldPath": f"metadata.annotations['{ANNOTATION_ENVELOPE}']"}
    return {"downwardAPI": {"items": [{"path": ENVELOPE_FILE, "fieldRef": field}]}}


def _workspace(workspace: Workspace) -> dict[str, Any]:
    medium = {"medium": "Memory"} if workspace.medium is Medium.MEMORY else {}
    return {"sizeLimit": workspace.size or DEFAULT_WORKSPACE_SIZE, **medium}


def _resources(resources: Resources, *, memory: str | None) -> dict[str, Any]:
    """Return requests and limits, with a default for whatever the profile leaves out.

    A default can't contradict the profile: a request without a limit is its own limit, and a limit without
    a request is left to the API server, which takes it for both. ``memory`` is the attempt's own limit.
    """
    requests, limits = resources.requests or {}, resources.limits or {}
    unsaid = {name: amount for name, amount in DEFAULT_REQUESTS.items() if name not in limits}
    asked = {**unsaid, **requests}
    allowed = {**DEFAULT_LIMITS, **requests, **limits, **({"memory": memory} if memory else {})}
    if memory and "memory" in asked and in_bytes(asked["memory"]) > in_bytes(memory):
        # The profile has changed since the attempt was begun.
        asked["memory"] = memory
    return {"requests": asked, "limits": allowed}


def _pull_policy(profile: AgentProfileSpec | None) -> dict[str, str]:
    policy = profile.image_pull_policy if profile else None
    return {"imagePullPolicy": policy or ImagePullPolicy.IF_NOT_PRESENT}


def _placement(profile: AgentProfileSpec) -> dict[str, Any]:
    shape = profile.pod
    wanted: dict[str, Any] = {
        "nodeSelector": dict(shape.node_selector or {}),
        "tolerations": [one.manifest() for one in shape.tolerations],
        "imagePullSecrets": [one.manifest() for one in profile.image_pull_secrets],
    }
    return {name: value for name, value in wanted.items() if value}
