"""What an attempt is told: the envelope, from the task, its run and its profile.

Everything in it is stored somewhere already, so that the same attempt always gets the same envelope, also
from an operator that was restarted in between.
"""

from datetime import datetime
from typing import Final

from bernstein_agent import contract
from bernstein_agent.contract import ResultClass
from bernstein_operator.api.choices import Effects
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.names import CONTROLLER, branch_part
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.profile import AgentProfileSpec, Command
from bernstein_operator.api.run import BranchBase, Repository
from bernstein_operator.api.task_status import Attempt
from bernstein_operator.builders.pod import TOKEN_DIRECTORY, TOKEN_FILE
from bernstein_operator.decisions.charging import prices_of
from bernstein_operator.decisions.continuing import may_continue
from bernstein_operator.decisions.deadline import Bounds, bounds_of, timeout_seconds
from bernstein_operator.decisions.task_budget import left
from bernstein_operator.decisions.usage import rise

REPORT_EVERY_SECONDS: Final = 5


def envelope(
    task: TaskObject,
    effective: EffectiveTask,
    *,
    run: RunObject,
    profile: AgentProfileSpec,
    report_url: str = "",
) -> contract.Envelope:
    """Return the envelope of the task's latest attempt, which reports to ``report_url`` if there is one."""
    attempt = task.status.attempts[-1]
    return contract.Envelope(
        correlation_id=run.meta.uid,
        command_id=attempt.pod_name,
        idempotency_key=contract.idempotency_key(task.meta.uid, attempt.number),
        actor=contract.Actor(
            identity=CONTROLLER,
            grant=contract.Grant(profile=f"{task.meta.namespace}/{effective.profile}"),
        ),
        subject=contract.Subject(id=attempt.pod_name, version=attempt.number),
        tenant=task.meta.namespace,
        deadline=_deadline(attempt, bounds_of(task.status, effective, run)),
        budget=_budget(task, effective),
        payload=_payload(task, effective, run=run, profile=profile, report_url=report_url),
    )


def _budget(task: TaskObject, effective: EffectiveTask) -> contract.Budget:
    """Return the attempt's hard limits: those that it was admitted with, and its task's for each attempt."""
    attempt, own = task.status.attempts[-1], effective.budget
    return contract.Budget(
        tool_calls=own.tool_calls,
        steps=own.steps,
        mode=own.mode,
        own=_is_own(task, effective),
        tokens=attempt.cap_tokens,
        cost_micros=attempt.cap_usd.micros if attempt.cap_usd else None,
    )


def _is_own(task: TaskObject, effective: EffectiveTask) -> bool:
    """Whether all of the attempt's limits are what its task has left of its own, and none is its run's."""
    attempt = task.status.attempts[-1]
    spent = rise(attempt.usage, task.status.usage)
    rest = left(effective.budget, spent)
    limited = rest.usd is not None or rest.tokens is not None
    return limited and (attempt.cap_usd, attempt.cap_tokens) == (rest.usd, rest.tokens)


def _reporting(url: str) -> contract.Reporting | None:
    if not url:
        return None
    token = f"{TOKEN_DIRECTORY}/{TOKEN_FILE}"
    return contract.Reporting(url=url, token_file=token, interval_seconds=REPORT_EVERY_SECONDS)


def branch_of(repository: Repository, *, run: str, task: str) -> str:
    """Return the branch that a task's commits are pushed to."""
    return f"{repository.push_branch_prefix}{branch_part(run)}/{branch_part(task)}"


def _deadline(attempt: Attempt, bounds: Bounds) -> datetime:
    """Return the moment after which the Pod may not run any more, so nothing may be begun either.

    The kubelet's clock starts after the intent by as long as scheduling takes; that much is allowed again,
    and what scheduling gates may take. The deadlines of task and run stand in any case.
    """
    longest = bounds.input_timeout + bounds.start_timeout * 2 + bounds.timeout
    return min([attempt.intent_time + longest, *(limit.at for limit in bounds.moments)])


def _payload(
    task: TaskObject, effective: EffectiveTask, *, run: RunObject, profile: AgentProfileSpec, report_url: str
) -> contract.Payload:
    attempt = task.status.attempts[-1]
    repository = run.spec.repository if run.spec else None
    return contract.Payload(
        goal=run.spec.goal if run.spec else "",
        title=effective.title,
        prompt=effective.prompt,
        role=effective.role,
        run=effective.run,
        task=effective.name,
        attempt=attempt.number,
        timeout_seconds=timeout_seconds(bounds_of(task.status, effective, run), intent=attempt.intent_time),
        repository=_repository(repository, task, effective) if repository else None,
        dependencies=_dependencies(task, repository) if repository else (),
        adapter=profile.adapter,
        command=_command(profile.command),
        model=attempt.model,
        effort=contract.Effort(attempt.effort) if attempt.effort else None,
        git=contract.GitIdentity(author_name=profile.git.author_name, author_email=profile.git.author_email),
        previous_attempt=_previous(task),
        prices=prices_of(attempt.model, profile),
        reporting=_reporting(report_url),
        allow_no_change=effective.allow_no_change,
        commit_optional=effective.effects is Effects.NONE,
        may_continue=bool(report_url) and may_continue(task.status, effective, run),
        exchange=_exchange(task),
    )


def _command(command: Command | None) -> contract.Command:
    if command is None:
        return contract.Command()
    return contract.Command(
        args=command.args, resume_args=command.resume_args, session_id_path=command.session_id_path
    )


def _repository(repository: Repository, task: TaskObject, effective: EffectiveTask) -> contract.Repository:
    branch = branch_of(repository, run=effective.run, task=effective.name)
    return contract.Repository(
        url=repository.url,
        ref=repository.ref,
        base_commit=_base_commit(task),
        branch=branch,
        rescue_branch=f"{branch}.rescue-{task.status.attempt}",
    )


def _base_commit(task: TaskObject) -> str | None:
    """Return the commit that the first attempt resolved the ref to: retries start from the same one."""
    return next((one.head_before for one in task.status.attempts if one.head_before), None)


def _dependencies(task: TaskObject, repository: Repository) -> tuple[contract.DependencyRef, ...]:
    if repository.base is BranchBase.REF:
        return ()
    return tuple(
        contract.DependencyRef(name=one.name, commit=one.commit, branch=one.branch)
        for one in task.status.dependencies
        if one.commit and one.branch
    )


def _previous(task: TaskObject) -> contract.PreviousAttempt | None:
    """Return what the attempt before this one found, for its prompt."""
    ended = [one for one in task.status.attempts if one.end_time]
    if not ended:
        return None
    last = ended[-1]
    return contract.PreviousAttempt(
        result_class=ResultClass(last.result_class or ResultClass.AGENT),
        message=last.message or last.reason or "",
        branch=last.branch,
        rescue_branch=last.rescue_branch,
    )


def _exchange(task: TaskObject) -> contract.Exchange | None:
    """Return what the task asked last, with the answer that it goes on with."""
    question, answer = task.status.question, task.status.answer
    if not (question and answer):
        return None
    return contract.Exchange(question=question.text, answer=answer.text)
