"""Per field: values at its bounds that must be taken, and values beyond them that must be refused."""

from typing import Final

from tests.integration.crds.limits import run_budget, run_concurrency
from tests.integration.crds.ranges import (
    ABANDON_REASON,
    BOOLEAN,
    BRANCH,
    COMMAND_LINE,
    COMMIT,
    COUNTER,
    DAY,
    DEPENDS_ON,
    DNS_LABEL,
    EFFORT,
    FINGERPRINT,
    GENERATION,
    MODEL,
    MOMENT,
    MONEY,
    OBJECT_NAME,
    ON_EXHAUSTED,
    PERCENT,
    PROMPT,
    QUANTITY,
    TEXT_1024,
    TIMEOUT,
    TOKENS,
    TOO_BIG_FOR_INT32,
    UID,
    WAIT,
    WORD,
    WORDS,
    Bounds,
)

_REQUEST: Final = {"verb": "retry", "time": "2026-01-01T12:00:00Z", "effect": "done"}


def _tasks(count: int) -> list[dict[str, str]]:
    return [{"name": f"t{n}", "prompt": "do it"} for n in range(count)]


def _named(count: int) -> list[dict[str, str]]:
    return [{"name": f"n{n}"} for n in range(count)]


def _variables(count: int) -> list[dict[str, str]]:
    return [{"name": f"N{n}", "value": ""} for n in range(count)]


def _shared(place: str) -> dict[str, Bounds]:
    """Return what a run may say for all its tasks, at ``place``."""
    return {
        f"{place}.role": DNS_LABEL,
        f"{place}.priority": Bounds((1, 100), (0, 101, 1.5, "high")),
        f"{place}.scope": Bounds(("small", "medium", "large"), ("huge", "Small", "")),
        f"{place}.dependencyTimeoutSeconds": WAIT,
        f"{place}.profile": OBJECT_NAME,
        f"{place}.timeoutSeconds": TIMEOUT,
        f"{place}.startTimeoutSeconds": TIMEOUT,
        f"{place}.deadlineWarningSeconds": WAIT,
        f"{place}.inputTimeoutSeconds": TIMEOUT,
        f"{place}.model": MODEL,
        f"{place}.effort": EFFORT,
        f"{place}.effects": Bounds(("none", "repository", "external"), ("None", "")),
        f"{place}.retry.disruptionLimit": Bounds((0, 100), (-1, 101)),
        f"{place}.retry.afterDeadline": Bounds(("Fresh", "None"), ("fresh", "")),
        f"{place}.retry.onExhausted": ON_EXHAUSTED,
        f"{place}.retry.limit": Bounds((0, 100), (-1, 101, 1_000_000_000)),
        f"{place}.retry.backoffSeconds": Bounds((0, 60), (-1, DAY + 1)),
        f"{place}.retry.maxBackoffSeconds": Bounds((5, DAY), (-1, DAY + 1)),
        f"{place}.essential": BOOLEAN,
        f"{place}.budget.usd": MONEY,
        f"{place}.budget.tokens": TOKENS,
        f"{place}.budget.steps": COUNTER,
        f"{place}.budget.toolCalls": COUNTER,
        f"{place}.budget.mode": Bounds(
            ("graceful-finish-on-low", "hard-stop-on-zero"), ("graceful", "Hard-Stop-On-Zero", "")
        ),
        f"{place}.budget.onExhausted": ON_EXHAUSTED,
        f"{place}.acceptance.allowNoChange": BOOLEAN,
    }


def _work(place: str) -> dict[str, Bounds]:
    """Return what an inline task and an AgentTask have in common, at ``place``."""
    return {
        **_shared(place),
        f"{place}.name": DNS_LABEL,
        f"{place}.title": Bounds(("x" * 256,), ("", "x" * 257)),
        f"{place}.prompt": PROMPT,
        f"{place}.dependsOn": DEPENDS_ON,
        f"{place}.suspend": BOOLEAN,
        f"{place}.deadline": MOMENT,
    }


def _requests() -> dict[str, Bounds]:
    place = "status.requests[0]"
    return {
        "status.requests": Bounds(([], [_REQUEST] * 10), ([_REQUEST] * 11, _REQUEST)),
        f"{place}.verb": Bounds(
            ("abandon", "cancel", "drain", "retry", "quarantine", "answer"), ("kill", "")
        ),
        f"{place}.value": Bounds(("", "x" * 256), ("x" * 257, True)),
        f"{place}.actor": Bounds(("ada", "system:serviceaccount:ci:bot", "x" * 253), ("x" * 254,)),
        f"{place}.time": MOMENT,
        f"{place}.effect": Bounds(("", "x" * 256), ("x" * 257,)),
    }


def _conditions() -> dict[str, Bounds]:
    place = "status.conditions[0]"
    return {
        f"{place}.type": Bounds(("Admitted", "x" * 316), ("", "two words", "x" * 317)),
        f"{place}.status": Bounds(("True", "False", "Unknown"), ("Maybe", True)),
        f"{place}.reason": WORD,
        f"{place}.message": TEXT_1024,
        f"{place}.lastTransitionTime": MOMENT,
        f"{place}.observedGeneration": GENERATION,
    }


def _usage(place: str) -> dict[str, Bounds]:
    return {
        f"{place}.inputTokens": TOKENS,
        f"{place}.outputTokens": TOKENS,
        f"{place}.cachedTokens": TOKENS,
        f"{place}.costUsd": MONEY,
        f"{place}.estimatedUsd": MONEY,
    }


_RUN: Final[dict[str, Bounds]] = {
    "spec.goal": Bounds(("", "x" * 16_384), ("x" * 16_385,)),
    "spec.suspend": BOOLEAN,
    "spec.open": BOOLEAN,
    "spec.deadline": MOMENT,
    "spec.deadlineWarningSeconds": WAIT,
    "spec.ttl.succeededSeconds": WAIT,
    "spec.ttl.failedSeconds": WAIT,
    "spec.ttl.cancelledSeconds": WAIT,
    "spec.ttl.deleteRun": BOOLEAN,
    **run_concurrency(),
    **run_budget(),
    "spec.configFrom.configMapRef.name": OBJECT_NAME,
    "status.warnings": Bounds(
        ([], ["x" * 512] * 10), (["x"] * 11, ["x" * 513], "bernstein.yaml: not a number")
    ),
    "spec.repository.url": Bounds(
        (
            "https://git.example/a/b.git",
            "http://git.example:8080/a",
            "git://git/a",
            "ssh://git@git.example/a",
            "git@git.example:a/b.git",
            "https://token-name@git.example/a",
        ),
        (
            "",
            "file:///etc",
            "ext::sh -c true",
            "--upload-pack=true",
            "https://git.example/with space",
            "https://user:password@git.example/a",
            "https://git.example/" + "x" * 1024,
        ),
    ),
    "spec.repository.ref": Bounds(
        ("main", "v1.0.0", "feature/a+b", "a" * 40, "x" * 255), ("", "-b", "a b", "a:b", "x" * 256)
    ),
    "spec.repository.pushBranchPrefix": Bounds(
        ("bernstein/", "ai-", "team_a/b.c/", "x" * 100), ("", "/", "-x", "a//", "a..b", "a b", "x" * 101)
    ),
    "spec.repository.base": Bounds(("Dependencies", "Ref"), ("dependencies", "")),
    **_shared("spec.taskDefaults"),
    **_work("spec.tasks[0]"),
    "spec.tasks": Bounds(([], _tasks(100)), (_tasks(101), [*_tasks(1), *_tasks(1)], [{"name": "a"}], {})),
    "status.observedGeneration": GENERATION,
    "status.phase": Bounds(
        ("Pending", "Running", "Paused", "Draining", "Succeeded", "Failed", "Cancelled", "Stopped"),
        ("Done", "running", ""),
    ),
    "status.startTime": MOMENT,
    "status.completionTime": MOMENT,
    "status.createdTasks": Bounds(
        ([], [f"t{n}" for n in range(100)]), (["T"], "first", [f"t{n}" for n in range(101)])
    ),
    "status.cancelRequested.time": MOMENT,
    "status.drainRequested.time": MOMENT,
    "status.deadlineWarned": MOMENT,
    **_requests(),
    "status.abandonments.total": COUNTER,
    "status.abandonments.byReason[0].reason": ABANDON_REASON,
    "status.abandonments.byReason[0].count": COUNTER,
    "status.abandonments.ledger": OBJECT_NAME,
    "status.tasks.total": COUNTER,
    "status.tasks.pending": COUNTER,
    "status.tasks.running": COUNTER,
    "status.tasks.succeeded": COUNTER,
    "status.tasks.failed": COUNTER,
    "status.tasks.cancelled": COUNTER,
    "status.tasks.abandoned": COUNTER,
    "status.tasks.blockedByFailure": COUNTER,
    "status.tasks.blockedByAbandon": COUNTER,
    "status.tasks.quarantined": COUNTER,
    "status.tasks.awaitingInput": COUNTER,
    **_conditions(),
}

_ATTEMPT: Final = "status.attempts[0]"
_TASK: Final[dict[str, Bounds]] = {
    **_work("spec"),
    "spec.runRef.name": OBJECT_NAME,
    "status.observedGeneration": GENERATION,
    "status.phase": Bounds(
        (
            "Pending",
            "Running",
            "Succeeded",
            "Failed",
            "Cancelled",
            "Abandoned",
            "BlockedByFailure",
            "BlockedByAbandon",
            "Quarantined",
            "AwaitingInput",
        ),
        ("Done", "running", ""),
    ),
    "status.attempt": COUNTER,
    f"{_ATTEMPT}.number": Bounds((1, 1_000_000), (0, 1_000_001)),
    f"{_ATTEMPT}.podName": OBJECT_NAME,
    f"{_ATTEMPT}.podUID": UID,
    f"{_ATTEMPT}.node": OBJECT_NAME,
    f"{_ATTEMPT}.profile": OBJECT_NAME,
    f"{_ATTEMPT}.intentTime": MOMENT,
    f"{_ATTEMPT}.startTime": MOMENT,
    f"{_ATTEMPT}.endTime": MOMENT,
    f"{_ATTEMPT}.exitCode": Bounds((0, 255, -1), (TOO_BIG_FOR_INT32, "0")),
    f"{_ATTEMPT}.resultClass": Bounds(("success", "task_budget"), ("Success", "", "x" * 33)),
    f"{_ATTEMPT}.reason": WORD,
    f"{_ATTEMPT}.message": TEXT_1024,
    **_usage(f"{_ATTEMPT}.usage"),
    f"{_ATTEMPT}.headBefore": COMMIT,
    f"{_ATTEMPT}.headAfter": COMMIT,
    f"{_ATTEMPT}.branch": BRANCH,
    f"{_ATTEMPT}.rescueBranch": BRANCH,
    f"{_ATTEMPT}.fingerprint": FINGERPRINT,
    f"{_ATTEMPT}.retryAfterSeconds": WAIT,
    f"{_ATTEMPT}.level": COUNTER,
    f"{_ATTEMPT}.model": MODEL,
    f"{_ATTEMPT}.effort": EFFORT,
    f"{_ATTEMPT}.memory": QUANTITY,
    f"{_ATTEMPT}.gatedUntil": MOMENT,
    f"{_ATTEMPT}.reservationUsd": MONEY,
    f"{_ATTEMPT}.reservationTokens": TOKENS,
    f"{_ATTEMPT}.capUsd": MONEY,
    f"{_ATTEMPT}.capTokens": TOKENS,
    f"{_ATTEMPT}.finishPercent": PERCENT,
    f"{_ATTEMPT}.suggestedModel": MODEL,
    "status.retries": COUNTER,
    "status.disruptions": COUNTER,
    "status.rateLimits": COUNTER,
    "status.sameFailures": COUNTER,
    "status.escalation.level": COUNTER,
    "status.escalation.model": MODEL,
    "status.escalation.effort": EFFORT,
    "status.escalation.memory": QUANTITY,
    "status.deadline.effective": MOMENT,
    "status.deadline.basis": MOMENT,
    "status.deadline.missedTime": MOMENT,
    "status.deadline.warned[0].attempt": COUNTER,
    "status.deadline.warned[0].limit": Bounds(
        ("timeoutSeconds", "startTimeoutSeconds", "deadline", "runDeadline"), ("Deadline", "")
    ),
    "status.deadline.warned[0].time": MOMENT,
    "status.deadline.warned[0].at": MOMENT,
    "status.unblockedTime": MOMENT,
    "status.abandonment.reason": ABANDON_REASON,
    "status.abandonment.detail": Bounds(("", "x" * 32_768), ("x" * 32_769,)),
    "status.abandonment.actor": Bounds(("agent", "x" * 253), ("x" * 254,)),
    "status.abandonment.time": MOMENT,
    "status.continuation.attempt": Bounds((1, 1_000_000), (0, 1_000_001)),
    "status.continuation.time": MOMENT,
    "status.continuation.sessionId": Bounds(("", "x" * 256), ("x" * 257, 5)),
    "status.question.text": WORDS,
    "status.question.time": MOMENT,
    "status.question.deadline": MOMENT,
    "status.answer.text": WORDS,
    "status.answer.actor": Bounds(("ada", "x" * 253), ("x" * 254,)),
    "status.answer.time": MOMENT,
    "status.retriedTime": MOMENT,
    **_requests(),
    **_usage("status.usage"),
    "status.firstAdmittedTime": MOMENT,
    "status.completionTime": MOMENT,
    "status.nextAttemptTime": MOMENT,
    "status.waitingSince": MOMENT,
    "status.dependencies[0].name": DNS_LABEL,
    "status.dependencies[0].uid": UID,
    "status.dependencies[0].succeeded": BOOLEAN,
    "status.dependencies[0].commit": COMMIT,
    "status.dependencies[0].branch": BRANCH,
    "status.blockedBy.task": OBJECT_NAME,
    "status.blockedBy.rootCause": OBJECT_NAME,
    "status.blockedBy.cause": Bounds(
        ("Failed", "Cancelled", "Deleted", "Abandoned", "Missing", "Invalid", "Quarantined"), ("failed", "")
    ),
    "status.cancelRequested.time": MOMENT,
    "status.summary": TEXT_1024,
    **_conditions(),
}

_POD: Final = "spec.pod"
_PROFILE: Final[dict[str, Bounds]] = {
    "spec.adapter": Bounds(("command",), ("shell", "")),
    "spec.command.args": Bounds(COMMAND_LINE.accepted, ([], *COMMAND_LINE.refused)),
    "spec.command.resumeArgs": Bounds(([], *COMMAND_LINE.accepted), COMMAND_LINE.refused),
    "spec.command.sessionIdPath": Bounds(("", "session.id", "x" * 256), ("x" * 257, 5)),
    "spec.image": Bounds(("agent:1", "x" * 512), ("", "a b", "x" * 513)),
    "spec.imagePullPolicy": Bounds(("Always", "IfNotPresent", "Never"), ("always", "")),
    "spec.imagePullSecrets": Bounds(([], _named(16)), (_named(17), ["pull"], [*_named(1), *_named(1)])),
    "spec.imagePullSecrets[0].name": OBJECT_NAME,
    "spec.env": Bounds(([], _variables(64)), (_variables(65), [*_variables(1), *_variables(1)])),
    "spec.env[0].name": Bounds(("A", "_a1", "x" * 253), ("", "1A", "A-B", "A=B", "x" * 254)),
    "spec.env[0].value": Bounds(("", "$(X)", "x" * 8192), ("x" * 8193, 5)),
    "spec.env[1].valueFrom.secretKeyRef.name": OBJECT_NAME,
    "spec.env[1].valueFrom.secretKeyRef.key": Bounds(("api.key", "x" * 253), ("", "a/b", "x" * 254)),
    "spec.models": Bounds(([], _named(16)), (_named(17), ["m"], [*_named(1), *_named(1)])),
    "spec.models[0].name": MODEL,
    "spec.models[0].prices.inputUsd": MONEY,
    "spec.models[0].prices.outputUsd": MONEY,
    "spec.models[0].prices.cachedUsd": MONEY,
    "spec.metering": Bounds(("turn", "end", "none"), ("wire", "Turn", "")),
    "spec.maxEffort": EFFORT,
    "spec.memoryGrowth.percent": Bounds((101, 150, 1000), (100, 1001, 1.5)),
    "spec.memoryGrowth.max": QUANTITY,
    "spec.git.authorName": Bounds(("Ada", "x" * 128), ("", "A <a@b>", "a\nb", "x" * 129)),
    "spec.git.authorEmail": Bounds(("ada@example.org", "x" * 254), ("", "<a@b>", "x" * 255)),
    f"{_POD}.resources.requests": Bounds(
        ({}, {f"r{n}": 1 for n in range(16)}), ({f"r{n}": 1 for n in range(17)}, [])
    ),
    f"{_POD}.resources.requests.cpu": QUANTITY,
    f"{_POD}.resources.limits": Bounds(({}, {"cpu": "1"}), ({f"r{n}": 1 for n in range(17)},)),
    f"{_POD}.resources.limits.memory": QUANTITY,
    f"{_POD}.workspace.size": QUANTITY,
    f"{_POD}.workspace.medium": Bounds(("Disk", "Memory"), ("disk", "")),
    f"{_POD}.nodeSelector": Bounds(
        ({}, {"disk": ""}, {"disk": "x" * 63}), ({"disk": "x" * 64}, {"disk": "a b"}, {"disk": 1})
    ),
    f"{_POD}.tolerations": Bounds(([], [{}] * 32), ([{}] * 33, {})),
    f"{_POD}.tolerations[0].key": Bounds(("x" * 317,), ("x" * 318,)),
    f"{_POD}.tolerations[0].operator": Bounds(("Equal", "Exists"), ("equal", "")),
    f"{_POD}.tolerations[0].value": Bounds(("", "x" * 63), ("x" * 64,)),
    f"{_POD}.tolerations[0].effect": Bounds(
        ("NoSchedule", "PreferNoSchedule", "NoExecute"), ("NoEffect", "")
    ),
    f"{_POD}.tolerations[0].tolerationSeconds": Bounds((0, 2_147_483_647), (-1, TOO_BIG_FOR_INT32)),
    "status.observedGeneration": GENERATION,
    "status.hold.until": MOMENT,
    "status.hold.since": MOMENT,
    "status.hold.reason": Bounds(("RateLimited", "x" * 128), ("x" * 129, 5)),
    "status.hold.message": TEXT_1024,
    "status.circuits[0].fingerprint": FINGERPRINT,
    "status.circuits[0].state": Bounds(("Open", "HalfOpen"), ("Closed", "open", "")),
    "status.circuits[0].since": MOMENT,
    "status.circuits[0].message": TEXT_1024,
    "status.circuits[0].probe": UID,
    "status.clearedTime": MOMENT,
    **_conditions(),
}

BOUNDS: Final[dict[str, dict[str, Bounds]]] = {
    "BernsteinRun": _RUN,
    "AgentTask": _TASK,
    "AgentProfile": _PROFILE,
}
