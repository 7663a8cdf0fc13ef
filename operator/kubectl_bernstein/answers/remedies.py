"""What would change it: for each reason that the operator can give, what comes by itself or what to do.

The reasons are a closed set, so this is a table; a test holds it against the vocabulary. ``{task}`` and
``{run}`` are the objects' names, ``{name}`` what dependsOn calls the task, ``{profile}`` its AgentProfile,
``{pod}`` its latest Pod, ``{root}`` the task where a block began.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bernstein_operator.api.vocabulary import AdmittedReason, BlockCause, RunReason, TaskPhase, TaskReason

_RETRY: Final = "kubectl bernstein retry {task}"
_AGAIN: Final = "While the run goes on, a new AgentTask with spec.name {name} can take its place."
_RETRIED: Final = "The operator tries again by itself."

_ANSWER: Final = "kubectl bernstein answer {task} WORDS…"

WAITING: Final[Mapping[AdmittedReason, str]] = MappingProxyType(
    {
        AdmittedReason.ADMITTED: "",
        AdmittedReason.QUEUED: "It starts by itself as soon as a slot is free.",
        AdmittedReason.DEPENDENCY_PENDING: "It starts by itself once all that it waits for has succeeded.",
        AdmittedReason.BACKING_OFF: "The next attempt comes by itself.",
        AdmittedReason.SUSPENDED: (
            'kubectl patch agenttask/{task} --type merge -p \'{{"spec":{{"suspend":false}}}}\''
        ),
        AdmittedReason.QUOTA_EXCEEDED: (
            f"Raise the quota, or let other Pods of the namespace end. {_RETRIED}"
        ),
        AdmittedReason.POD_FORBIDDEN: (
            f"Change the policy that refuses the Pod, or the AgentProfile {{profile}}. {_RETRIED}"
        ),
        AdmittedReason.PERMISSION_MISSING: f"Give the operator's role what it lacks. {_RETRIED}",
        AdmittedReason.NAMESPACE_TERMINATING: "Nothing: the namespace is being deleted.",
        AdmittedReason.POD_NAME_CONFLICT: f"Delete or rename the Pod that isn't this task's. {_RETRIED}",
        AdmittedReason.RUN_NOT_FOUND: "It starts once there is a BernsteinRun {run}.",
        AdmittedReason.PROFILE_NOT_FOUND: "It starts once there is a valid AgentProfile {profile}.",
        AdmittedReason.RUN_ENDED: (
            "If the run has failed: kubectl bernstein retry run/{run}. Other ends are final: make a new run."
        ),
        AdmittedReason.PROVIDER_HOLD: (
            "It starts by itself when that is over: kubectl describe agentprofile/{profile}"
        ),
        AdmittedReason.CIRCUIT_OPEN: (
            "Correct the AgentProfile {profile} or what its provider refuses. One task at a time tries it"
            " by itself; the others start once that comes to a better end."
        ),
        AdmittedReason.INVALID_SPEC: "Correct what is named: kubectl edit agenttask/{task}",
        AdmittedReason.INVALID_GRAPH: "Change dependsOn of one of them, or cancel one.",
        AdmittedReason.ROLE_CEILING: (
            "It starts when an agent of its role has ended, or with a higher limit in the run's"
            " concurrency.maxPerRole: kubectl edit bernsteinrun/{run}"
        ),
        AdmittedReason.BUDGET_RESERVED: (
            "It starts by itself when live agents cost less than they reserve. See kubectl bernstein budget"
            " {run}; a higher cap is spec.budget.usd of the run."
        ),
        AdmittedReason.BUDGET_CRITICAL: (
            'kubectl patch bernsteinrun/{run} --type merge -p \'{{"spec":{{"budget":{{"usd":N}}}}}}\' with a'
            " higher N, or spec.essential of the task; see kubectl bernstein budget {run}."
        ),
        AdmittedReason.TASK_BUDGET_EXHAUSTED: "Raise its own budget: kubectl edit agenttask/{task}",
        AdmittedReason.POD_WAITING: "kubectl describe pod {pod}",
    }
)

ENDED: Final[Mapping[str, str]] = MappingProxyType(
    {
        TaskReason.RETRIES_EXHAUSTED: f"See what the attempts say. Then: {_RETRY}",
        TaskReason.SAME_FAILURE: f"Change what fails in the same way each time. Then: {_RETRY}",
        TaskReason.CONTRACT_BROKEN: f"Correct spec, image or credentials. Then: {_RETRY}",
        TaskReason.DISRUPTIONS_EXHAUSTED: f"See what takes the Pods away. Then: {_RETRY}",
        TaskReason.DEADLINE_EXCEEDED: f"Give it a later deadline. Then: {_RETRY}",
        TaskReason.TASK_BUDGET_EXHAUSTED: f"Raise it: kubectl edit agenttask/{{task}}. Then: {_RETRY}",
        TaskReason.INPUT_REQUIRED: _ANSWER,
        TaskReason.INPUT_TIMEOUT: f"It asks again if it still has to. Then answer in time: {_RETRY}",
        TaskReason.DRAINED: "Nothing: a drain is for good. Make a new run.",
        TaskReason.QUARANTINED: (
            f"See what it has done. Then: {_RETRY}, or cancel or abandon it in the same way."
        ),
        TaskPhase.SUCCEEDED: "",
        TaskPhase.CANCELLED: f"Nothing: a cancel is for good. {_AGAIN}",
        TaskPhase.ABANDONED: f"Nothing: an abandonment is for good. {_AGAIN}",
        TaskPhase.FAILED: _RETRY,
        TaskPhase.AWAITING_INPUT: f"{_ANSWER}, or without one: {_RETRY}",
    }
)

BLOCKED: Final[Mapping[BlockCause, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            BlockCause, "While the run goes on, a new AgentTask with spec.name {root} lets it wait for that."
        ),
        BlockCause.FAILED: "kubectl bernstein retry {root}",
        BlockCause.QUARANTINED: "See what {root} has done. Then: kubectl bernstein retry {root}",
        BlockCause.MISSING: "Make the AgentTask that is called {root}, or correct dependsOn.",
        BlockCause.INVALID: "Correct {root}.",
    }
)

RUN: Final[Mapping[RunReason, str]] = MappingProxyType(
    {
        RunReason.AT_CEILING: (
            "It starts when one of these has ended and its turn has come. Another ceiling: kubectl patch"
            ' bernsteinrun/{run} --type merge -p \'{{"spec":{{"concurrency":{{"maxAgents":N}}}}}}\''
        ),
        RunReason.CEILING_ZERO: "Raise concurrency.maxAgents of the run, or the operator's own limit.",
        RunReason.AT_OPERATOR_CEILING: "It starts by itself when its run's turn has come.",
        RunReason.SPAWNING_PAUSED: (
            "It goes on by itself once the nodes are less busy. See what keeps them so: kubectl top nodes"
        ),
        RunReason.SUSPENDED: "kubectl bernstein resume {run}",
        RunReason.INVALID_SPEC: "Correct what is named: kubectl edit bernsteinrun/{run}",
        RunReason.BUDGET_EXHAUSTED: "Raise spec.budget of the run: kubectl bernstein budget {run}",
        RunReason.BUDGET_REQUIRED: "Set spec.budget.usd of the run.",
        RunReason.CONFIG_UNREAD: "It starts by itself once the ConfigMap of spec.configFrom was read.",
        RunReason.DRAINING: "Nothing: a cancel or drain is for good.",
    }
)
"""Reasons of a run that keep its tasks from starting."""

RUNNING: Final = "kubectl bernstein logs {task} --follow"
"""What to look at while the agent works."""
