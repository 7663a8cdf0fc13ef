"""An attempt that goes on: it is confirmed once its Pod is seen, and stopped where a limit says so."""

from dataclasses import replace
from datetime import datetime

from bernstein_operator.api.conditions import find
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import SETTLED_PHASES, AdmittedReason, ConditionType, TaskPhase
from bernstein_operator.decisions.attempt import (
    SHOW_WAITING_AFTER,
    confirm,
    open_attempt,
    waiting_text,
)
from bernstein_operator.decisions.conditions import Standing
from bernstein_operator.decisions.course import Course, Question
from bernstein_operator.decisions.plan import CreatePod
from bernstein_operator.decisions.stopping import keep_limits


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


def _confirmed(course: Course, pod: Pod, *, now: datetime) -> Course:
    if pod.started_at:
        status = confirm(course.status, pod).model_copy(update={"phase": TaskPhase.RUNNING})
        return replace(course, status=status, standing=Standing())
    text = _steady(waiting_text(pod, now=now), course.status)
    if not text:
        return course
    standing = Standing(AdmittedReason.POD_WAITING, text, admitted=True)
    return replace(course, status=confirm(course.status, pod), standing=standing)
