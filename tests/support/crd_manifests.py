"""Complete manifests of the three kinds: every field of spec and status is in one of them.

They are the ground of each table: a row changes one field of a manifest that the API server takes.
"""

from copy import deepcopy
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

CRDS = Path(__file__).parents[2] / "crds"
API_VERSION = "bernstein.run/v1alpha1"
NOON = "2026-01-01T12:00:00Z"
COMMIT = "0123456789abcdef0123456789abcdef01234567"

_RETRY: Manifest = {
    "limit": 3,
    "backoffSeconds": 5,
    "maxBackoffSeconds": 60,
    "disruptionLimit": 1,
    "afterDeadline": "None",
    "onExhausted": "Abandon",
}
_SHARED: Manifest = {
    "role": "backend",
    "priority": 1,
    "scope": "small",
    "dependencyTimeoutSeconds": 60,
    "profile": "default",
    "timeoutSeconds": 600,
    "startTimeoutSeconds": 120,
    "deadlineWarningSeconds": 30,
    "inputTimeoutSeconds": 3600,
    "model": "vendor/model-1",
    "effort": "high",
    "effects": "external",
    "essential": False,
    "retry": _RETRY,
    "budget": {
        "usd": "1.50",
        "tokens": 64_000,
        "steps": 30,
        "toolCalls": 100,
        "mode": "hard-stop-on-zero",
        "onExhausted": "Abandon",
    },
    "acceptance": {"allowNoChange": True},
}
_WORK: Manifest = {
    **_SHARED,
    "title": "Do it",
    "prompt": "do it",
    "dependsOn": ["other"],
    "suspend": True,
    "deadline": NOON,
}
_CONDITION: Manifest = {
    "type": "Reconciling",
    "status": "True",
    "reason": "TasksActive",
    "message": "3 of 8 done",
    "lastTransitionTime": NOON,
    "observedGeneration": 1,
}
_USAGE: Manifest = {
    "inputTokens": 10,
    "outputTokens": 20,
    "cachedTokens": 30,
    "costUsd": "0.50",
    "estimatedUsd": "0.25",
}
_ATTEMPT: Manifest = {
    "number": 1,
    "podName": "t-0a1b2c-a1",
    "podUID": "7c2f0a52-0000-4000-8000-000000000000",
    "node": "node-1",
    "profile": "default",
    "intentTime": "2026-01-01T12:00:00.123456Z",
    "startTime": NOON,
    "endTime": NOON,
    "exitCode": 1,
    "resultClass": "agent",
    "reason": "NonZeroExit",
    "message": "exit code 1",
    "usage": _USAGE,
    "headBefore": COMMIT,
    "headAfter": COMMIT,
    "branch": "bernstein/r/t",
    "rescueBranch": "bernstein/r/t.rescue-1",
    "model": "vendor/model-1",
    "effort": "high",
    "memory": "3Gi",
    "fingerprint": "0123456789abcdef",
    "retryAfterSeconds": 60,
    "reservationUsd": "0.40",
    "reservationTokens": 32_000,
    "capUsd": "0.40",
    "capTokens": 64_000,
    "finishPercent": 18,
    "suggestedModel": "vendor/model-0",
}
_REQUEST: Manifest = {"verb": "retry", "value": "1", "actor": "ada", "time": NOON, "effect": "Tried again."}

_SPECS: dict[str, Manifest] = {
    "BernsteinRun": {
        "goal": "a better world",
        "suspend": True,
        "open": True,
        "deadline": NOON,
        "deadlineWarningSeconds": 60,
        "ttl": {"succeededSeconds": 1, "failedSeconds": 2, "cancelledSeconds": 3, "deleteRun": True},
        "concurrency": {
            "maxAgents": 3,
            "adaptive": {
                "enabled": False,
                "errorRateHighPercent": 30,
                "errorRateLowPercent": 10,
                "windowSeconds": 60,
                "raiseAfterSeconds": 30,
                "minimumSamples": 2,
            },
            "pause": {
                "nodeCpuPercent": 80,
                "nodeLoadPercent": 200,
                "resumeMarginPercent": 10,
                "samples": 3,
            },
            "maxPerRole": [{"role": "qa", "max": 1}],
        },
        "budget": {
            "usd": "12.50",
            "tokens": 1_000_000,
            "warnPercent": 50,
            "criticalPercent": 90,
            "stopGraceSeconds": 60,
            "estimatePerAttemptUsd": "0.50",
        },
        "configFrom": {"configMapRef": {"name": "limits"}},
        "repository": {
            "url": "git://git.example/team/project.git",
            "ref": "main",
            "pushBranchPrefix": "bernstein/",
            "base": "Ref",
        },
        "taskDefaults": _SHARED,
        "tasks": [{**_WORK, "name": "first"}],
    },
    "AgentTask": {**_WORK, "runRef": {"name": "r"}, "name": "first"},
    "AgentProfile": {
        "adapter": "command",
        "command": {
            "args": ["sh", "-c", "true"],
            "resumeArgs": ["sh", "-c", "true", "{session_id}"],
            "sessionIdPath": "session.id",
        },
        "image": "registry.example/agent:1",
        "imagePullPolicy": "IfNotPresent",
        "imagePullSecrets": [{"name": "pull"}],
        "env": [
            {"name": "PLAIN", "value": "x"},
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "api"}}},
        ],
        "models": [
            {
                "name": "vendor/model-1",
                "prices": {"inputUsd": "3.00", "outputUsd": "15.00", "cachedUsd": "0.30"},
            },
            {"name": "vendor/model-2"},
        ],
        "metering": "end",
        "maxEffort": "high",
        "memoryGrowth": {"percent": 200, "max": "8Gi"},
        "git": {"authorName": "Ada", "authorEmail": "ada@example.org"},
        "pod": {
            "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
            "workspace": {"size": "5Gi", "medium": "Memory"},
            "nodeSelector": {"disk": "fast"},
            "tolerations": [
                {
                    "key": "type",
                    "operator": "Equal",
                    "value": "kwok",
                    "effect": "NoExecute",
                    "tolerationSeconds": 60,
                }
            ],
        },
    },
}

_STATUSES: dict[str, Manifest] = {
    "BernsteinRun": {
        "observedGeneration": 1,
        "phase": "Running",
        "startTime": NOON,
        "completionTime": NOON,
        "createdTasks": ["first"],
        "cancelRequested": {"time": NOON},
        "drainRequested": {"time": NOON},
        "deadlineWarned": NOON,
        "requests": [_REQUEST],
        "abandonments": {
            "total": 1,
            "byReason": [{"reason": "out_of_scope", "count": 1}],
            "ledger": "r-0a1b2c-abandonments",
        },
        "concurrency": {
            "configured": 3,
            "effective": 2,
            "reduction": 1,
            "live": 2,
            "reason": "CeilingReduced",
            "message": "3 of 10 attempts failed",
            "lastLoweredTime": NOON,
            "lastRaisedTime": NOON,
            "lowErrorSince": NOON,
            "pausedSince": NOON,
            "resumedTime": NOON,
            "heldBeforePause": 2,
        },
        "budget": {
            "capUsd": "12.50",
            "source": "spec",
            "spentUsd": "10.00",
            "carriedUsd": "1.00",
            "estimatedUsd": "0.50",
            "inFlightUsd": "0.30",
            "reservedUsd": "0.40",
            "remainingUsd": "2.10",
            "capTokens": 1_000_000,
            "tokens": 500_000,
            "carriedTokens": 1000,
            "inFlightTokens": 300,
            "percent": 80,
            "limiting": "usd",
            "band": "warn",
            "shouldStop": True,
            "stopTime": NOON,
            "reached": [{"band": "warn", "time": NOON}],
            "overriddenTime": NOON,
            "rearmedTime": NOON,
        },
        "warnings": ["bernstein.yaml: budget: not a number"],
        "tasks": {
            "total": 10,
            "pending": 1,
            "running": 1,
            "succeeded": 1,
            "failed": 1,
            "cancelled": 1,
            "abandoned": 1,
            "blockedByFailure": 1,
            "blockedByAbandon": 1,
            "quarantined": 1,
            "awaitingInput": 1,
        },
        "conditions": [_CONDITION],
    },
    "AgentTask": {
        "observedGeneration": 1,
        "phase": "Running",
        "attempt": 1,
        "attempts": [_ATTEMPT],
        "retries": 1,
        "disruptions": 1,
        "rateLimits": 1,
        "sameFailures": 1,
        "escalation": {"level": 2, "model": "vendor/model-2", "effort": "high", "memory": "3Gi"},
        "deadline": {
            "effective": NOON,
            "warned": [{"attempt": 1, "limit": "deadline", "time": NOON, "at": NOON}],
        },
        "usage": _USAGE,
        "firstAdmittedTime": NOON,
        "completionTime": NOON,
        "nextAttemptTime": NOON,
        "waitingSince": NOON,
        "dependencies": [
            {
                "name": "other",
                "uid": "8d3e1b63",
                "succeeded": True,
                "commit": COMMIT,
                "branch": "bernstein/r/other",
            }
        ],
        "blockedBy": {"task": "other", "rootCause": "another", "cause": "Missing"},
        "cancelRequested": {"time": NOON},
        "abandonment": {"reason": "out_of_scope", "detail": "not ours", "actor": "ada", "time": NOON},
        "continuation": {"attempt": 1, "time": NOON, "sessionId": "s-1"},
        "question": {"text": "Which one?", "time": NOON, "deadline": NOON},
        "answer": {"text": "The first.", "actor": "ada", "time": NOON},
        "retriedTime": NOON,
        "requests": [_REQUEST],
        "summary": "half of it is done",
        "conditions": [_CONDITION],
    },
    "AgentProfile": {
        "observedGeneration": 1,
        "hold": {"until": NOON, "since": NOON, "reason": "RateLimited", "message": "too fast"},
        "clearedTime": NOON,
        "circuits": [
            {
                "fingerprint": "0123456789abcdef",
                "state": "HalfOpen",
                "since": NOON,
                "message": "401",
                "probe": "7c2f0a52-0000-4000-8000-000000000000",
            }
        ],
        "conditions": [_CONDITION],
    },
}


def manifest(kind: str, name: str = "complete") -> Manifest:
    """Return a manifest that sets every field of the kind's spec."""
    named = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}}
    return {**named, "spec": deepcopy(_SPECS[kind])}


def status(kind: str) -> Manifest:
    """Return a status that sets every field of the kind's status."""
    return deepcopy(_STATUSES[kind])


def task(name: str, /, **spec: object) -> Manifest:
    """Return the smallest AgentTask, with ``spec`` laid over it."""
    named = {"apiVersion": API_VERSION, "kind": "AgentTask", "metadata": {"name": name}}
    return {**named, "spec": {"runRef": {"name": "r"}, "prompt": "do it", **spec}}


def run(name: str, /, **spec: object) -> Manifest:
    """Return the smallest BernsteinRun, with ``spec`` laid over it."""
    named = {"apiVersion": API_VERSION, "kind": "BernsteinRun", "metadata": {"name": name}}
    return {**named, "spec": {"goal": "a better world", **spec}}


def profile(name: str, /, **spec: object) -> Manifest:
    """Return the smallest AgentProfile, with ``spec`` laid over it."""
    named = {"apiVersion": API_VERSION, "kind": "AgentProfile", "metadata": {"name": name}}
    return {**named, "spec": {"adapter": "script", **spec}}


def with_value(whole: Manifest, path: str, value: object) -> Manifest:
    """Return ``whole`` with ``value`` at ``path``, as ``spec.tasks[0].name``."""
    changed = deepcopy(whole)
    *steps, last = path.replace("[", ".").replace("]", "").split(".")
    place: Any = changed
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    place[int(last) if isinstance(place, list) else last] = value
    return changed
