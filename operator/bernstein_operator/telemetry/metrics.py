"""Everything that /metrics shows, each with its one place where it is recorded.

Names of queue, client and election metrics are the Kubernetes-wide ones, so that stock dashboards work.
Nothing is labelled by the name of a task or a Pod; what is labelled by a run's goes with it (``run_series``).
Counters follow stored transitions, never attempts at writing them.
"""

import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from math import nan
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.budget import BudgetStatus
from bernstein_operator.api.choices import BudgetBand
from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.load import LoadSource, Measure
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.vocabulary import SETTLED_PHASES, TaskPhase
from bernstein_operator.telemetry.run_series import run_series

REGISTRY: Final = CollectorRegistry()
MAX_ROLES: Final = 50
"""Roles beyond so many count as ``other``: a label must not grow without bound."""

BUILD_INFO: Final = Gauge(
    "bernstein_build_info", "Always 1; the labels say what runs.", ["version", "python"], registry=REGISTRY
)
AGENTS_LIVE: Final = Gauge("bernstein_agents_live", "Slots held by agents.", registry=REGISTRY)
PARALLELISM: Final = Gauge(
    "bernstein_parallelism_level",
    "How many agents of a run may be live now; 0 while spawning is paused.",
    ["namespace", "run"],
    registry=REGISTRY,
)
CEILING_CHANGES: Final = Counter(
    "bernstein_ceiling_changes",
    "Changes of a run's ceiling: up or down, by error_rate, nodes or configured.",
    ["direction", "reason"],
    registry=REGISTRY,
)
RUN_COST: Final = Gauge(
    "bernstein_run_cost_usd",
    "US dollars that a run's attempts have cost, those of deleted tasks too.",
    ["namespace", "run"],
    registry=REGISTRY,
)
RUN_REMAINING: Final = Gauge(
    "bernstein_run_budget_remaining_usd",
    "US dollars that are left of a run's budget; absent where it has none.",
    ["namespace", "run"],
    registry=REGISTRY,
)
RUN_BAND: Final = Gauge(
    "bernstein_run_budget_band",
    "1 for the highest band of its budget that a run has reached, 0 for the others.",
    ["namespace", "run", "band"],
    registry=REGISTRY,
)
TASKS: Final = Gauge("bernstein_agenttasks", "AgentTasks in each phase.", ["phase"], registry=REGISTRY)
TASKS_FINISHED: Final = Counter(
    "bernstein_tasks_finished",
    "AgentTasks that came to their end.",
    ["phase", "role", "adapter"],
    registry=REGISTRY,
)
ABANDONMENTS: Final = Counter(
    "bernstein_abandonments",
    "AgentTasks that were given up.",
    ["reason", "role", "adapter"],
    registry=REGISTRY,
)
ATTEMPTS: Final = Counter(
    "bernstein_attempts",
    "Attempts that ended, by what they counted as.",
    ["result_class", "adapter"],
    registry=REGISTRY,
)
DEADLINES: Final = Counter(
    "bernstein_task_deadline_exceeded",
    "Attempts stopped at a limit, and tasks whose deadline passed before they could start.",
    registry=REGISTRY,
)
GRACEFUL_FINISHES: Final = Counter(
    "bernstein_task_budget_graceful_finish",
    "Attempts whose agent was low on its budget and was given a final turn.",
    ["role"],
    registry=REGISTRY,
)
REMAINING_AT_FINISH: Final = Histogram(
    "bernstein_task_budget_remaining_at_finish_pct",
    "How much of its budget an agent had left when it was given its final turn, in percent.",
    ["role"],
    buckets=(0, 5, 10, 15, 20, 30, 40, 50, 75, 100),
    registry=REGISTRY,
)
NODE_PERCENT: Final = Gauge(
    "bernstein_node_percent",
    "Mean load of the untainted nodes that have a fresh sample, by source; NaN: not known.",
    ["source"],
    registry=REGISTRY,
)
NODES_MEASURED: Final = Gauge(
    "bernstein_nodes_measured", "How many nodes that mean is of.", ["source"], registry=REGISTRY
)
NODE_SAMPLE_AGE: Final = Gauge(
    "bernstein_node_sample_age_seconds",
    "Age of the newest of their samples when it was read; NaN: there is none.",
    ["source"],
    registry=REGISTRY,
)
RECONCILES: Final = Counter(
    "bernstein_operator_reconcile", "Passes over an object.", ["controller", "result"], registry=REGISTRY
)
RECONCILE_SECONDS: Final = Histogram(
    "bernstein_operator_reconcile_time_seconds",
    "Time from decision to stored.",
    ["controller"],
    registry=REGISTRY,
)
SLOT_REFILL: Final = Histogram(
    "bernstein_slot_refill_seconds",
    "Time a queued task waited for its slot once it could start.",
    buckets=(0.05, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3600),
    registry=REGISTRY,
)
QUEUE_DEPTH: Final = Gauge("workqueue_depth", "Keys that wait.", registry=REGISTRY)
QUEUE_ADDS: Final = Counter("workqueue_adds", "Keys that were marked.", registry=REGISTRY)
QUEUE_RETRIES: Final = Counter("workqueue_retries", "Keys that failed and came again.", registry=REGISTRY)
QUEUE_WAIT: Final = Histogram(
    "workqueue_queue_duration_seconds", "Time from mark to pass.", registry=REGISTRY
)
REQUESTS: Final = Counter(
    "rest_client_requests", "Requests to the API server.", ["method", "code"], registry=REGISTRY
)
REQUEST_SECONDS: Final = Histogram(
    "rest_client_request_duration_seconds", "Time of a request.", ["verb"], registry=REGISTRY
)
LEADER: Final = Gauge(
    "leader_election_master_status",
    "1 while this replica holds the Lease of that name, else 0.",
    ["name"],
    registry=REGISTRY,
)

ProcessCollector(registry=REGISTRY)
_roles: set[str] = set()


def render() -> bytes:
    """Return the exposition text."""
    return generate_latest(REGISTRY)


@contextmanager
def request_timer(method: str) -> Iterator[Callable[[int], None]]:
    """Time a request; call what is yielded with its HTTP status (``<error>`` where there is no answer)."""
    started, code = time.perf_counter(), "<error>"

    def done(status: int) -> None:
        nonlocal code
        code = str(status)

    try:
        yield done
    finally:
        REQUESTS.labels(method, code).inc()
        REQUEST_SECONDS.labels(method).observe(time.perf_counter() - started)


def count_transition(before: TaskObject, after: TaskObject, *, role: str, adapter: str) -> None:
    """Count what changed between two stored states of a task; ``adapter`` is its last attempt's."""
    ended = {one.number for one in before.status.attempts if one.end_time}
    for attempt in after.status.attempts:
        if attempt.end_time and attempt.number not in ended:
            ATTEMPTS.labels(attempt.result_class or "", adapter).inc()
            if attempt.result_class == ResultClass.DEADLINE:
                DEADLINES.inc()
            if attempt.finish_percent is not None:
                GRACEFUL_FINISHES.labels(_bounded(role)).inc()
                REMAINING_AT_FINISH.labels(_bounded(role)).observe(attempt.finish_percent)
    if _missed(after) and _missed(after) != _missed(before):
        DEADLINES.inc()
    if after.status.phase == before.status.phase:
        return
    if after.status.phase in SETTLED_PHASES:
        TASKS_FINISHED.labels(after.status.phase, _bounded(role), adapter).inc()
    if after.status.phase is TaskPhase.ABANDONED:
        given_up = after.status.abandonment
        ABANDONMENTS.labels(given_up.reason if given_up else "other", _bounded(role), adapter).inc()


def show_run(run: RunObject) -> None:
    """Show what a run's stored status says of its limits, for as long as the run is of interest."""
    namespace, name, status = run.meta.namespace, run.meta.name, run.status
    if status.concurrency:
        run_series.set(PARALLELISM, namespace, name, status.concurrency.effective)
    if status.budget:
        _show_budget(status.budget, namespace, name)
    run_series.ended(namespace, name, status.completion_time)


def _show_budget(budget: BudgetStatus, namespace: str, name: str) -> None:
    run_series.set(RUN_COST, namespace, name, float(budget.spent_usd.dollars))
    if budget.remaining_usd is None:
        run_series.absent(RUN_REMAINING, namespace, name)
    else:
        run_series.set(RUN_REMAINING, namespace, name, float(budget.remaining_usd.dollars))
    for band in BudgetBand:
        run_series.set(RUN_BAND, namespace, name, band is budget.band, band)


def count_ceiling_changes(before: RunObject, after: RunObject) -> None:
    """Count how a run's ceiling changed between two stored states, once for each cause."""
    old = before.status.concurrency or ConcurrencyStatus()
    new = after.status.concurrency or old
    moves = (
        ("down", "error_rate", new.last_lowered_time and new.last_lowered_time != old.last_lowered_time),
        ("up", "error_rate", new.last_raised_time and new.last_raised_time != old.last_raised_time),
        ("down", "nodes", new.paused_since and not old.paused_since),
        ("up", "nodes", old.paused_since and not new.paused_since),
        ("down", "configured", before.status.concurrency and new.configured < old.configured),
        ("up", "configured", before.status.concurrency and new.configured > old.configured),
    )
    for direction, reason, happened in moves:
        CEILING_CHANGES.labels(direction, reason).inc(bool(happened))


def _missed(task: TaskObject) -> datetime | None:
    return task.status.deadline.missed_time if task.status.deadline else None


def set_tasks(phases: Iterable[TaskPhase]) -> None:
    """Set how many tasks stand in each phase."""
    counts = Tally(phases)
    for phase in TaskPhase:
        TASKS.labels(phase).set(counts[phase])


def set_node_load(source: LoadSource, known: Measure | None) -> None:
    """Set what a source said last of all nodes; what isn't known is never 0 %."""
    percent = known.percent if known else None
    newest = known.newest if known else None
    NODE_PERCENT.labels(source).set(nan if percent is None else float(percent))
    NODES_MEASURED.labels(source).set(known.counted if known else 0)
    age = (known.at - newest).total_seconds() if known and newest else nan
    NODE_SAMPLE_AGE.labels(source).set(age)


def _bounded(role: str) -> str:
    if role in _roles or len(_roles) < MAX_ROLES:
        _roles.add(role)
        return role
    return "other"
