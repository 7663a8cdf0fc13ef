"""Per field: values at its bounds that must be taken, and values beyond them that must be refused."""

from typing import Final, NamedTuple


class Bounds(NamedTuple):
    """What a field takes and what it refuses."""

    accepted: tuple[object, ...]
    refused: tuple[object, ...]


_MONTH: Final = 2_592_000
_DAY: Final = 86_400
_TOO_BIG_FOR_INT32: Final = 2_147_483_648

BOOLEAN: Final = Bounds((True, False), ("yes", 1))
COUNTER: Final = Bounds((0, 1_000_000), (-1, 1_000_001, 1.5))
AGENTS: Final = Bounds((0, 1, 1000), (-1, 1.5, 1001, _TOO_BIG_FOR_INT32))
TOKENS: Final = Bounds((0, 2**53), (-1, 2**53 + 1))
GENERATION: Final = Bounds((-1, 0, 2**53), (-2, "1"))
TIMEOUT: Final = Bounds((1, _MONTH), (0, -5, _MONTH + 1, _TOO_BIG_FOR_INT32, "1h"))
WAIT: Final = Bounds((0, _MONTH), (-1, _MONTH + 1))
MOMENT: Final = Bounds(("2026-01-01T12:00:00Z", "2026-01-01T12:00:00.123456Z"), ("yesterday", 5, ""))
DNS_LABEL: Final = Bounds(("a", "a-1", "a" * 63), ("", "A", "-a", "a_b", "a.b", "a" * 64))
OBJECT_NAME: Final = Bounds(("a", "a.b-c", "a" * 253), ("", "A", "a..b", "ns/a", "a" * 254))
UID: Final = Bounds(("8d3e1b63", "x" * 128), ("x" * 129,))
WORD: Final = Bounds(("NonZeroExit", "x" * 128), ("two words", "x" * 129, ""))
TEXT_1024: Final = Bounds(("", "x" * 1024), ("x" * 1025, 5))
BRANCH: Final = Bounds(("bernstein/r/t", "x" * 640), ("x" * 641,))
FINGERPRINT: Final = Bounds(("0123456789abcdef", "f" * 32), ("", "0x1", "ABC", "f" * 33))
COMMIT: Final = Bounds(("a" * 40, "0" * 64), ("a" * 39, "A" * 40, "HEAD", "a" * 41))
MONEY: Final = Bounds(
    (0, 5, "12.50", "0.000001", 999_999_999),
    (-1, "abc", "NaN", "inf", "1e400", "-0.01", "0.0000001", 1_000_000_000, "1000000000", 0.5),
)
QUANTITY: Final = Bounds((0, 2, "500m", "1Gi", "1.5", "1e3"), (-1, "-1Gi", "much", "1GiB", "", "1" * 33))
DEPENDS_ON: Final = Bounds(
    ([], ["other"], ["twice", "twice"], [f"t{n}" for n in range(256)]),
    ("other", ["otherns/t"], [""], ["T"], ["a" * 64], [1], [f"t{n}" for n in range(257)]),
)
MODEL: Final = Bounds(("m", "vendor/model-1.5:latest@v+x_y", "x" * 128), ("", "-m", "a b", "x" * 129))
EFFORT: Final = Bounds(("low", "medium", "high", "max"), ("High", "xhigh", ""))
ABANDON_REASON: Final = Bounds(("other", "out_of_scope", "x" * 32), ("", "Other", "out-of-scope", "x" * 33))
PROMPT: Final = Bounds(
    ("x", "x" * 65_536, "é" * 32_768),
    ("", "x" * 65_537, "é" * 32_769, True),
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
        f"{place}.retry.onExhausted": Bounds(("Fail", "Abandon"), ("fail", "AwaitInput", "")),
        f"{place}.retry.limit": Bounds((0, 100), (-1, 101, 1_000_000_000)),
        f"{place}.retry.backoffSeconds": Bounds((0, 60), (-1, _DAY + 1)),
        f"{place}.retry.maxBackoffSeconds": Bounds((5, _DAY), (-1, _DAY + 1)),
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
        f"{place}.verb": Bounds(("abandon", "cancel", "drain", "retry", "quarantine"), ("kill", "")),
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
    "spec.concurrency.maxAgents": AGENTS,
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
        ("Pending", "Running", "Paused", "Draining", "Succeeded", "Failed", "Cancelled"),
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
    "status.concurrency.configured": AGENTS,
    "status.concurrency.effective": AGENTS,
    "status.concurrency.live": COUNTER,
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
    f"{_ATTEMPT}.exitCode": Bounds((0, 255, -1), (_TOO_BIG_FOR_INT32, "0")),
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
    "spec.command.args": Bounds(
        (["sh"], ["x"] * 64, ["", "x" * 4096]), ([], ["x"] * 65, ["x" * 4097], "sh -c true")
    ),
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
    f"{_POD}.tolerations[0].tolerationSeconds": Bounds((0, 2_147_483_647), (-1, _TOO_BIG_FOR_INT32)),
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
