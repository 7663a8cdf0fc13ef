"""An attempt that goes on: it is confirmed once its Pod is seen, and stopped where a limit says so."""

from dataclasses import replace
from datetime import datetime

from bernstein_operator.api.conditions import find
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Sighting
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import SETTLED_PHASES, AdmittedReason, ConditionType, TaskPhase
from bernstein_operator.decisions.attempt import (
    SHOW_WAITING_AFTER,
    confirm,
    open_attempt,
    update,
    waiting_text,
)
from bernstein_operator.decisions.conditions import Standing
from bernstein_operator.decisions.course import Course, Question
from bernstein_operator.decisions.plan import CreatePod
from bernstein_operator.decisions.stopping import keep_limits, left_text


def going_on(course: Course, question: Question) -> Course:
    """Return what becomes of a task while its attempt goes on."""
    attempt = open_attempt(course.status)
    sighting = question.sighting(attempt.pod_name) if attempt else None
    if not sighting:
        text = f"Attempt {course.status.attempt} has its slot."
        standing = Standing(AdmittedReason.ADMITTED, text, admitted=True)
        return replace(course, standing=standing, actions=(CreatePod(),))
    pod = sighting.pod
    if course.status.phase not in SETTLED_PHASES:
        course = _left_to_node(_confirmed(_gated(course, pod, question), pod, now=question.now), sighting)
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


def _confirmed(course: Course, pod: Pod, *, now: datetime) -> Course:
    if pod.started_at:
        status = confirm(course.status, pod).model_copy(update={"phase": TaskPhase.RUNNING})
        return replace(course, status=status, standing=Standing())
    text = _steady(_told(course.status, pod, now=now), course.status)
    if not text:
        return course
    standing = Standing(AdmittedReason.POD_WAITING, text, admitted=True)
    return replace(course, status=confirm(course.status, pod), standing=standing)


def _told(status: AgentTaskStatus, pod: Pod, *, now: datetime) -> str:
    text, until = waiting_text(pod, now=now), status.attempts[-1].gated_until
    if not (text and pod.gated and until):
        return text
    return (
        f"{text} startTimeoutSeconds don't count behind scheduling gates, until {until:%Y-%m-%dT%H:%M:%SZ}."
    )


def _gated(course: Course, pod: Pod, question: Question) -> Course:
    """Keep until when scheduling gates hold the Pod, at most, and when they were found to be gone."""
    known, now = course.status.attempts[-1].gated_until, question.now
    created = pod.metadata.creation_timestamp or now
    longest = created + question.bounds(course.status).input_timeout
    until = longest if pod.gated else min(known, now) if known else None
    if until == known:
        return course
    return replace(course, status=update(course.status, gated_until=until))


def _left_to_node(course: Course, sighting: Sighting) -> Course:
    """Say that the Pod should have ended, where its node was found able to see to it."""
    if not sighting.left_until:
        return course
    standing = Standing(AdmittedReason.ADMITTED, left_text(sighting.pod), admitted=True)
    return replace(course, standing=standing)
