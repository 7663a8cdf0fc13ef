"""What is to become of a task: the one place where its phase is decided.

Read from top to bottom: an attempt that is over is closed, a cancel is obeyed, a task without an attempt
waits or starts, an attempt that goes on is confirmed or stopped, and the conditions say so. Level-triggered:
only what is there counts, never which event brought it, so a lost event or a restart changes nothing.
"""

from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.conditions import find
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Sighting, TaskSnapshot
from bernstein_operator.api.task import AgentTaskStatus, BlockedBy, CancelRequest, TaskDefaults
from bernstein_operator.api.vocabulary import (
    ENDED_RUN_PHASES,
    SETTLED_PHASES,
    AdmittedReason,
    AttemptReason,
    BlockCause,
    ConditionStatus,
    ConditionType,
    TaskPhase,
)
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.decisions.attempt import (
    SHOW_WAITING_AFTER,
    begin,
    close,
    confirm,
    find_end,
    open_attempt,
    waiting_text,
)
from bernstein_operator.decisions.conditions import Standing, Wanted, merge, task_conditions
from bernstein_operator.decisions.dependencies import judge
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.plan import Action, CreatePod, TaskDecision, earliest
from bernstein_operator.decisions.retry import Counters, GiveUp, next_step
from bernstein_operator.decisions.stopping import clear_away, keep_limits
from bernstein_operator.decisions.waiting import first_gate, invalid_gate

TELL_QUEUED_AFTER: Final = timedelta(seconds=5)
"""A task that gets its slot within this time isn't told that it queues: that would be a write for nothing."""


@dataclass(frozen=True, slots=True)
class _Course:
    """A task's status on its way through the steps, and what its conditions are to say."""

    status: AgentTaskStatus
    standing: Standing | None = None
    actions: tuple[Action, ...] = ()
    candidate: Candidate | None = None
    wake: tuple[datetime | None, ...] = ()


@dataclass(frozen=True, slots=True)
class _Question:
    """What every step needs: the picture, the spec with its defaults, and the time."""

    snapshot: TaskSnapshot
    effective: EffectiveTask
    now: datetime

    @property
    def has_repository(self) -> bool:
        """Whether success means a commit."""
        run = self.snapshot.run
        return bool(run and run.spec and run.spec.repository)

    def sighting(self, pod: str) -> Sighting | None:
        """Return what is known of the task's Pod of that name."""
        return next((one for one in self.snapshot.sightings if one.pod.metadata.name == pod), None)


def decide(snapshot: TaskSnapshot, *, now: datetime) -> TaskDecision:
    """Say what is to become of a task. No side effects."""
    task = snapshot.task
    if task.meta.deletion_timestamp:
        # Its Pods are owned by it: garbage collection takes them.
        return TaskDecision(status=task.status)
    effective = task.effective(_defaults(snapshot))
    if effective is None or not task.status_readable:
        return TaskDecision(status=_unreadable(snapshot, now=now))
    question = _Question(snapshot, effective, now)
    course = _cancelled(_closed(_Course(task.status), question), question)
    course = _going_on(course, question) if open_attempt(course.status) else _waiting(course, question)
    rest = clear_away(course.status, snapshot, now=now)
    return TaskDecision(
        status=_with_conditions(course, question),
        actions=(*course.actions, *rest.actions),
        candidate=course.candidate,
        wake=earliest((*course.wake, *rest.moments)),
    )


def decide_refused(snapshot: TaskSnapshot, outcome: Outcome, *, now: datetime) -> AgentTaskStatus:
    """Return the status of a task whose open attempt ended as ``outcome`` says without ever having a Pod."""
    effective = snapshot.task.effective(_defaults(snapshot))
    status = close(snapshot.task.status, outcome, None)
    if effective is None:
        return status
    question = _Question(snapshot, effective, now)
    return _with_conditions(_after(status, outcome, question), question)


def _defaults(snapshot: TaskSnapshot) -> TaskDefaults | None:
    run = snapshot.run
    return run.spec.task_defaults if run and run.spec else None


# --- an attempt that is over ------------------------------------------------------------------------------


def _closed(course: _Course, question: _Question) -> _Course:
    attempt = open_attempt(course.status)
    if not attempt:
        return course
    end = find_end(
        attempt,
        question.sighting(attempt.pod_name),
        effective=question.effective,
        has_repository=question.has_repository,
        now=question.now,
    )
    if not end:
        return course
    status = close(course.status, end.outcome, end.pod)
    if status.phase in SETTLED_PHASES:
        return replace(course, status=status)
    return _after(status, end.outcome, question)


def _after(status: AgentTaskStatus, outcome: Outcome, question: _Question) -> _Course:
    """Return where a task goes from the end of an attempt."""
    match outcome.result_class:
        case ResultClass.SUCCESS:
            return _settled(status, TaskPhase.SUCCEEDED, outcome.reason, outcome.message, outcome.ended_at)
        case ResultClass.ABANDONED:
            return _settled(status, TaskPhase.ABANDONED, outcome.reason, outcome.message, outcome.ended_at)
        case ResultClass.CANCELLED if outcome.reason != AttemptReason.RUN_GONE:
            return _settled(status, TaskPhase.CANCELLED, outcome.reason, outcome.message, outcome.ended_at)
        case ResultClass.CANCELLED:
            return _Course(status.model_copy(update={"phase": TaskPhase.PENDING}))
        case _:
            return _failed(status, outcome, question)


def _failed(status: AgentTaskStatus, outcome: Outcome, question: _Question) -> _Course:
    step = next_step(
        status.attempt,
        outcome.result_class,
        before=Counters(status.retries, status.disruptions, status.rate_limits),
        policy=question.effective.retry,
        task_uid=question.snapshot.task.meta.uid,
        now=question.now,
    )
    counted = status.model_copy(update=asdict(step.counters))
    if isinstance(step, GiveUp):
        text = f"{outcome.result_class}: {outcome.message or outcome.reason}"
        return _settled(counted, TaskPhase.FAILED, step.reason, text, question.now)
    later = step.at if step.at > question.now else None
    return _Course(counted.model_copy(update={"phase": TaskPhase.PENDING, "next_attempt_time": later}))


def _settled(status: AgentTaskStatus, phase: TaskPhase, reason: str, message: str, at: datetime) -> _Course:
    changes = {"phase": phase, "completion_time": at, "next_attempt_time": None, "blocked_by": None}
    return _Course(status.model_copy(update=changes), Standing(reason=reason, message=message))


# --- a person's word --------------------------------------------------------------------------------------


def _cancelled(course: _Course, question: _Question) -> _Course:
    task, run = question.snapshot.task, question.snapshot.run
    of_run = bool(run and run.cancelled)
    if not (task.cancelled or of_run):
        return course
    text = "Cancelled by annotation." if task.cancelled else "Its run was cancelled."
    if course.status.phase not in SETTLED_PHASES:
        course = _settled(course.status, TaskPhase.CANCELLED, AttemptReason.CANCELLED, text, question.now)
        if task.cancelled and not course.status.cancel_requested:
            request = CancelRequest(time=question.now)
            course = replace(course, status=course.status.model_copy(update={"cancel_requested": request}))
    return _without_pod(course, question, text)


def _without_pod(course: _Course, question: _Question, text: str) -> _Course:
    """Close a cancelled task's attempt if its Pod isn't there: none is asked for, a late one is removed."""
    attempt = open_attempt(course.status)
    if not attempt or question.sighting(attempt.pod_name):
        return course
    outcome = Outcome(ResultClass.CANCELLED, AttemptReason.CANCELLED, text, None, question.now, None)
    return replace(course, status=close(course.status, outcome, None))


# --- a task without an attempt ----------------------------------------------------------------------------


def _waiting(course: _Course, question: _Question) -> _Course:
    if course.status.phase in SETTLED_PHASES:
        return course
    snapshot, now = question.snapshot, question.now
    invalid = invalid_gate(snapshot)
    if invalid:
        status = course.status.model_copy(update={"phase": TaskPhase.PENDING, "blocked_by": None})
        return replace(course, status=status, standing=Standing(invalid.reason, invalid.message))
    timeout = timedelta(seconds=question.effective.dependency_timeout_seconds)
    verdict = judge(snapshot.dependencies, course.status, timeout=timeout, now=now)
    known = {"dependencies": verdict.records, "waiting_since": verdict.waiting_since}
    course = replace(course, status=course.status.model_copy(update=known))
    if verdict.blocked and not snapshot.cycle:
        return _blocked(course, *verdict.blocked)
    free = course.status.model_copy(update={"phase": TaskPhase.PENDING, "blocked_by": None})
    course = replace(course, status=free)
    gate = first_gate(snapshot, free, question.effective, verdict, now=now)
    if gate:
        return replace(course, standing=Standing(gate.reason, gate.message), wake=(gate.until,))
    return _ready(course, question)


def _blocked(course: _Course, phase: TaskPhase, by: BlockedBy) -> _Course:
    missing = by.cause is BlockCause.MISSING
    cause = f"there is no {by.root_cause}" if missing else f"{by.root_cause} is {by.cause}"
    nearest = "" if by.task == by.root_cause else f" (through {by.task})"
    status = course.status.model_copy(update={"phase": phase, "blocked_by": by})
    return replace(course, status=status, standing=Standing(phase, f"Can't start: {cause}{nearest}."))


def _ready(course: _Course, question: _Question) -> _Course:
    """Start the next attempt if there is a slot for it, else queue for one."""
    snapshot, effective, now = question.snapshot, question.effective, question.now
    if snapshot.has_slot and snapshot.run and snapshot.run.spec and not snapshot.run.spec.suspend:
        status = begin(replace(snapshot.task, status=course.status), effective, now=now)
        text = f"Attempt {status.attempt} has its slot."
        standing = Standing(AdmittedReason.ADMITTED, text, admitted=True)
        return replace(course, status=status, standing=standing, actions=(CreatePod(),))
    meta = snapshot.task.meta
    born = meta.creation_timestamp.isoformat() if meta.creation_timestamp else ""
    candidate = Candidate(meta.uid, effective.priority, effective.role, (born, meta.name))
    course = replace(course, candidate=candidate)
    if snapshot.refusal:
        return replace(course, standing=Standing(snapshot.refusal.reason, snapshot.refusal.message))
    return _queued(course, question)


def _queued(course: _Course, question: _Question) -> _Course:
    """Say that it queues, unless that is said already, goes without saying, or may be over in a moment."""
    stored, now = question.snapshot.task.status, question.now
    tell_at = (question.snapshot.ready_since or now) + TELL_QUEUED_AFTER
    unwritten = stored.observed_generation < 0 and course.status == stored
    standing = Standing(AdmittedReason.QUEUED, "Waits for a slot of its run.")
    if unwritten:
        return course
    if course.status == stored and now < tell_at:
        return replace(course, wake=(tell_at,))
    return replace(course, standing=standing)


# --- an attempt that goes on ------------------------------------------------------------------------------


def _going_on(course: _Course, question: _Question) -> _Course:
    attempt = open_attempt(course.status)
    sighting = question.sighting(attempt.pod_name) if attempt else None
    if not sighting:
        text = f"Attempt {course.status.attempt} has its slot."
        standing = Standing(AdmittedReason.ADMITTED, text, admitted=True)
        return replace(course, standing=standing, actions=(CreatePod(),))
    pod = sighting.pod
    if course.status.phase not in SETTLED_PHASES:
        course = _confirmed(course, pod, now=question.now)
    ending = keep_limits(course.status, pod, question.snapshot, question.effective, now=question.now)
    show_at = (pod.metadata.creation_timestamp or question.now) + SHOW_WAITING_AFTER
    soon = show_at if not pod.started_at and show_at > question.now else None
    return replace(course, actions=ending.actions, wake=(*ending.moments, soon))


def _steady(text: str, status: AgentTaskStatus) -> str:
    """Return what is said already if it has the same cause: a failing pull is told in alternating words."""
    said = find(status.conditions, ConditionType.ADMITTED)
    same = said and said.reason == AdmittedReason.POD_WAITING and _cause(said.message) == _cause(text)
    return said.message if said and same else text


def _cause(text: str) -> str:
    return text.partition(":")[0]


def _confirmed(course: _Course, pod: Pod, *, now: datetime) -> _Course:
    if pod.started_at:
        status = confirm(course.status, pod).model_copy(update={"phase": TaskPhase.RUNNING})
        return replace(course, status=status, standing=Standing())
    text = _steady(waiting_text(pod, now=now), course.status)
    if not text:
        return course
    standing = Standing(AdmittedReason.POD_WAITING, text, admitted=True)
    return replace(course, status=confirm(course.status, pod), standing=standing)


# --- what the conditions say ------------------------------------------------------------------------------


def _with_conditions(course: _Course, question: _Question) -> AgentTaskStatus:
    stored, status = question.snapshot.task.status, course.status
    standing = course.standing or _said_before(status)
    if not standing:
        return status
    wanted = task_conditions(status.phase, standing, run_ended=_run_ended(question.snapshot))
    return _stamped(status, wanted, stored, question)


def _run_ended(snapshot: TaskSnapshot) -> bool:
    return bool(snapshot.run and snapshot.run.status.phase in ENDED_RUN_PHASES)


def _said_before(status: AgentTaskStatus) -> Standing | None:
    """Return what the conditions say already, for a task about which there is no news."""
    for kind in (ConditionType.COMPLETE, ConditionType.FAILED, ConditionType.ADMITTED):
        found = find(status.conditions, kind)
        if found:
            admitted = kind is ConditionType.ADMITTED and found.status == ConditionStatus.TRUE
            return Standing(found.reason, found.message, admitted=admitted)
    return None


def _stamped(
    status: AgentTaskStatus, wanted: list[Wanted], stored: AgentTaskStatus, question: _Question
) -> AgentTaskStatus:
    generation = question.snapshot.task.meta.generation
    conditions = merge(stored.conditions, wanted, generation=generation, now=question.now)
    return status.model_copy(update={"conditions": conditions, "observed_generation": generation})


def _unreadable(snapshot: TaskSnapshot, *, now: datetime) -> AgentTaskStatus:
    """Return the status of a task whose spec or status can't be read; all else of it is left alone."""
    task, gate = snapshot.task, invalid_gate(snapshot)
    if not gate or task.status.phase != TaskPhase.PENDING:
        return task.status
    standing = Standing(gate.reason, gate.message)
    wanted = task_conditions(task.status.phase, standing, run_ended=_run_ended(snapshot))
    conditions = merge(task.status.conditions, wanted, generation=task.meta.generation, now=now)
    changes = {"conditions": conditions, "observed_generation": task.meta.generation}
    return task.status.model_copy(update=changes)
