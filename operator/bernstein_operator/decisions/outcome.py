"""How an attempt ended, read from its Pod.

Several parties have a say: the operator that stopped it, the kernel, the node, the kubelet, and last the
agent's own result. They are asked in that order, because an agent that was killed can't know why, and what
an agent writes can't widen what it may do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from bernstein_agent.contract import ContractError, Result, ResultClass, parse_result
from bernstein_operator.api.choices import LimitKind
from bernstein_operator.api.pod import Pod, PodPhase, Terminated
from bernstein_operator.api.vocabulary import AttemptReason
from bernstein_operator.decisions.deadline import Limit

IMPOSSIBLE_IMAGE: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
"""Waiting reasons that no amount of time heals."""

EARLY: Final = timedelta(seconds=5)
"""So long before its limit an agent may have ended and still be taken at its word that it was the limit: its
node's clock isn't the operator's, and what is reported is cut to whole seconds."""
_DISRUPTIONS: Final = frozenset(
    {"Evicted", "Preempting", "Terminated", "Shutdown", "NodeLost", "NodeShutdown"}
)
_SYSEXITS: Final = range(64, 79)
_SIGKILLED: Final = 137
_CLAIMABLE: Final = frozenset(
    {
        ResultClass.SUCCESS,
        ResultClass.BUSINESS,
        ResultClass.AGENT,
        ResultClass.DEADLINE,
        ResultClass.CONTRACT,
        ResultClass.TRANSIENT,
        ResultClass.OOM,
        ResultClass.CAPACITY,
        ResultClass.DISRUPTION,
        ResultClass.TASK_BUDGET,
        ResultClass.BUDGET,
        ResultClass.ABANDONED,
        ResultClass.ASKED,
    }
)
"""What an agent's result may say of itself; whatever else it says counts as a failure of its own."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """An attempt's end.

    Attributes:
        result_class: what it counts as.
        reason: CamelCase, for conditions and scripts.
        message: one line for people.
        exit_code: the agent container's, None where it never ended by itself.
        ended_at: when.
        result: the runner's own word, where it could be read.
        limit: which limit ended it, where one did.
    """

    result_class: ResultClass
    reason: str
    message: str
    exit_code: int | None
    ended_at: datetime
    result: Result | None
    limit: LimitKind | None = None


def classify(
    pod: Pod,
    *,
    gone: bool,
    limit: Limit,
    has_repository: bool,
    now: datetime,
    posted: Result | None = None,
) -> Outcome:
    """Say how the attempt of ``pod`` ended; the Pod is over, or ``gone`` from the cluster.

    ``limit`` is the earliest of those that held for it, ``posted`` the result that its runner reported.
    """
    ended = pod.agent.terminated
    result = result_of(pod, posted)
    verdict = next(_verdicts(pod, ended, result=result, gone=gone, limit=limit, repo=has_repository))
    result_class, reason, message = verdict
    by_limit = result_class is ResultClass.DEADLINE and not _within(ended, limit, tolerance=EARLY)
    return Outcome(
        result_class=result_class,
        reason=reason,
        message=message,
        exit_code=ended.exit_code if ended else None,
        ended_at=(ended.finished_at if ended else None) or now,
        result=result,
        limit=limit.kind if by_limit else None,
    )


def result_of(pod: Pod, posted: Result | None = None) -> Result | None:
    """Return the runner's result if it is there, can be read, and is about this very Pod.

    The termination message is its last word. What was ``posted`` before stands in where that was lost, and
    where it is the very same result with nothing cut off.
    """
    told = _message_of(pod)
    whole = posted if posted and posted.subject.id == pod.metadata.name else None
    if told and whole and told != parse_result(whole.to_termination_message()):
        return told
    return whole or told


def _message_of(pod: Pod) -> Result | None:
    ended = pod.agent.terminated
    if not ended or not ended.message:
        return None
    try:
        result = parse_result(ended.message)
    except ContractError:
        return None
    return result if result.subject.id == pod.metadata.name else None


_Verdict: TypeAlias = tuple[ResultClass, str, str]


def _verdicts(
    pod: Pod, ended: Terminated | None, *, result: Result | None, gone: bool, limit: Limit, repo: bool
) -> Iterator[_Verdict]:
    """Yield what each party says, the strongest first; the last one always says something."""
    by_itself = result is not None and result.result_class is not ResultClass.DISRUPTION
    finished_in_time = by_itself and _within(ended, limit)
    if pod.stop_class and not finished_in_time:
        yield _stopped(pod.stop_class, limit)
    if _killed_for_memory(pod):
        yield ResultClass.OOM, AttemptReason.OOM_KILLED, "The container used more memory than its limit."
    if not by_itself:
        yield from _node_says(pod, ended, gone=gone)
    if pod.status.reason == AttemptReason.DEADLINE_EXCEEDED and not finished_in_time:
        never_began = limit.kind is LimitKind.START_TIMEOUT
        yield _stopped(AttemptReason.START_TIMEOUT if never_began else ResultClass.DEADLINE, limit)
    if result:
        yield _claimed(result, ended, repo=repo)
    yield _without_result(pod, ended)


def _within(ended: Terminated | None, limit: Limit, *, tolerance: timedelta = timedelta()) -> bool:
    """Whether the agent ended before its limit: such a result stands, however late it is seen."""
    if not (ended and ended.started_at and ended.finished_at):
        return False
    return ended.finished_at + tolerance < limit.at


def _stopped(stop: str, limit: Limit) -> _Verdict:
    match stop:
        case ResultClass.DEADLINE:
            # A Pod that lost its container's status has lost that it started, too.
            of_pod = limit.kind in (LimitKind.START_TIMEOUT, LimitKind.TIMEOUT)
            text = f"Stopped at {f'its {LimitKind.TIMEOUT}' if of_pod else limit.called}."
            return ResultClass.DEADLINE, AttemptReason.DEADLINE_EXCEEDED, text
        case AttemptReason.START_TIMEOUT:
            text = "Its agent container did not start within startTimeoutSeconds."
            return ResultClass.TRANSIENT, AttemptReason.START_TIMEOUT, text
        case ResultClass.BUDGET:
            text = "Stopped: its run's budget is used up, or nearly, and others come first."
            return ResultClass.BUDGET, AttemptReason.BUDGET_EXHAUSTED, text
        case ResultClass.ABANDONED:
            return ResultClass.ABANDONED, AttemptReason.ABANDONED, "Stopped: a person gave the task up."
        case _:
            return _called_off(stop)


def _called_off(stop: str) -> _Verdict:
    """Return the verdict on an attempt that nobody wants any more."""
    if stop == AttemptReason.QUARANTINED:
        return ResultClass.CANCELLED, AttemptReason.QUARANTINED, "Stopped: its task is in quarantine."
    if stop == AttemptReason.RUN_GONE:
        return ResultClass.CANCELLED, AttemptReason.RUN_GONE, "Stopped: its run was deleted."
    return ResultClass.CANCELLED, AttemptReason.CANCELLED, "Stopped on request."


def _killed_for_memory(pod: Pod) -> bool:
    states = (pod.agent.terminated, pod.runner.terminated)
    return any(state and state.reason == AttemptReason.OOM_KILLED for state in states)


def _node_says(pod: Pod, ended: Terminated | None, *, gone: bool) -> Iterator[_Verdict]:
    reason, text = pod.status.reason, pod.status.message
    disruption = ResultClass.DISRUPTION
    if reason in _DISRUPTIONS:
        yield disruption, AttemptReason.EVICTED, f"{reason}: {text}" if text else reason
    if pod.disrupted:
        yield disruption, AttemptReason.EVICTED, pod.disrupted.message or pod.disrupted.reason
    if _refused_by_kubelet(pod):
        yield disruption, AttemptReason.KUBELET_REFUSED, f"{reason}: {text}" if text else reason
    succeeded = ended and ended.exit_code == 0
    if (gone or pod.metadata.deletion_timestamp) and not succeeded:
        yield disruption, AttemptReason.POD_DELETED, "Its Pod was deleted while it ran."


def _refused_by_kubelet(pod: Pod) -> bool:
    """Whether a node's kubelet didn't let the Pod in: it failed with a reason and before any container.

    The reasons (OutOfcpu, NodeAffinity, TopologyAffinityError …) are no closed list.
    """
    status = pod.status
    began = pod.agent.terminated or pod.runner.terminated
    failed = status.phase == PodPhase.FAILED and bool(status.reason) and not began
    return failed and status.reason != AttemptReason.DEADLINE_EXCEEDED


def _claimed(result: Result, ended: Terminated | None, *, repo: bool) -> _Verdict:
    """Take the agent's own word as far as it goes; it may be all that is left of a Pod."""
    if result.result_class not in _CLAIMABLE:
        return ResultClass.AGENT, result.reason, result.message
    if result.result_class is not ResultClass.SUCCESS:
        return result.result_class, result.reason, result.message
    if ended and ended.exit_code != 0:
        text = f"The agent claimed success and exited with {ended.exit_code}."
        return ResultClass.AGENT, AttemptReason.NON_ZERO_EXIT, text
    if repo and result.head_after in (None, "", result.head_before):
        return ResultClass.BUSINESS, AttemptReason.NO_COMMIT, "The agent left no new commit."
    return ResultClass.SUCCESS, AttemptReason.COMPLETED, result.message


def _without_result(pod: Pod, ended: Terminated | None) -> _Verdict:
    code = ended.exit_code if ended else None
    if code is None:
        return _never_ran(pod)
    text = f"The agent container ended with exit code {code} and no readable result."
    if code in _SYSEXITS:
        return ResultClass.CONTRACT, AttemptReason.RESULT_MISSING, text
    if code == _SIGKILLED:
        return ResultClass.TRANSIENT, AttemptReason.RESULT_MISSING, f"{text} The system killed it."
    return ResultClass.AGENT, AttemptReason.RESULT_MISSING, text


def _never_ran(pod: Pod) -> _Verdict:
    runner = pod.runner.terminated
    if runner and runner.exit_code:
        text = f"The init container ended with exit code {runner.exit_code}. {runner.message}".strip()
        is_contract = runner.exit_code in _SYSEXITS
        return (
            (ResultClass.CONTRACT if is_contract else ResultClass.TRANSIENT),
            AttemptReason.RESULT_MISSING,
            text,
        )
    text = pod.status.message or "The Pod ended and its kubelet reported no agent container."
    return ResultClass.TRANSIENT, AttemptReason.RESULT_MISSING, text
