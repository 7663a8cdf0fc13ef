"""One attempt from its envelope to its result.

The steps are few and always the same: make the tree, write the prompt, run the agent, look at its commits,
push them or save what there is. Each can fail in its own way; here is the one place where that becomes a
result.
"""

from dataclasses import dataclass, replace
from typing import Final

from bernstein_agent.adapters import adapter_for
from bernstein_agent.allowance import Allowance
from bernstein_agent.child import ChildEnd
from bernstein_agent.completion import (
    ANNOUNCEMENT_SECONDS,
    Completion,
    Reporter,
    completion,
    nudge,
    without_commit,
)
from bernstein_agent.console import Console
from bernstein_agent.contract import (
    Envelope,
    Reason,
    Repository,
    Result,
    ResultClass,
    ResultSubject,
)
from bernstein_agent.failure import AttemptError, StepTimeoutError, Verdict, transient_error
from bernstein_agent.git import Git, GitError, explain
from bernstein_agent.judgement import TERMINATED, deadline_verdict
from bernstein_agent.observation import Observation
from bernstein_agent.orders import settled
from bernstein_agent.place import Place
from bernstein_agent.processes import Supervisor
from bernstein_agent.prompt import compile_prompt
from bernstein_agent.publish import leftovers, own_head, push, rescue
from bernstein_agent.turns import Turn, Turns
from bernstein_agent.watch import Watch
from bernstein_agent.workspace import Start, prepare, write_identity
from bernstein_agent.zipped import own_command

_RESCUE_MESSAGE: Final = "Unfinished work of {task}, attempt {attempt}\n\n{message}\n"


@dataclass(slots=True)
class _Progress:
    """What there is to tell about an attempt so far."""

    start: Start | None = None
    end: ChildEnd | None = None
    head: str | None = None
    continued: str | None = None
    branch: str | None = None
    rescue_branch: str | None = None


class Attempt:
    """Carries out one envelope."""

    def __init__(
        self,
        envelope: Envelope,
        place: Place,
        *,
        supervisor: Supervisor,
        allowance: Allowance,
        console: Console,
        seen: Observation,
        watch: Watch,
        reporter: Reporter | None,
    ) -> None:
        """Take over an envelope and its place.

        ``seen`` gets what its program is seen to do, and ``watch`` keeps its limits. Without a ``reporter``
        nobody hears of it before its end, and no agent is told to continue.
        """
        self._payload = envelope.payload
        self._envelope = envelope
        self._place = place
        self._supervisor = supervisor
        self._allowance = allowance
        self._console = console
        self._seen = seen
        self._watch = watch
        self._reporter = reporter
        self._progress = _Progress()
        self._git = Git(
            supervisor,
            place.clone,
            environ=place.environ,
            identity=self._payload.git,
            redact=console.redact,
        )

    def run(self, *, digest: str) -> Result:
        """Do the work and return its result; whatever goes wrong is in there."""
        verdict = settled(
            self._verdict(), budget=self._watch.budget, tally=self._seen.tally, final=self._watch.final
        )
        if not verdict.succeeded and self._payload.repository and self._progress.end:
            verdict = self._rescued(verdict, self._payload.repository)
        self._console.note(f"{verdict.result_class} ({verdict.reason}): {verdict.message}")
        return self._result(verdict, digest=digest)

    def _verdict(self) -> Verdict:
        try:
            return self._work()
        except AttemptError as error:
            return error.verdict
        except StepTimeoutError as error:
            return self._out_of_time(str(error))
        except GitError as error:
            return explain(error, doing="preparing the clone").verdict
        except OSError as error:
            # A full disk, a missing mount: the machine's fault, and another one may do better.
            return transient_error(Reason.RUNNER_ERROR, f"the runner failed: {error}").verdict

    def _work(self) -> Verdict:
        if self._allowance.now() >= self._allowance.ends:
            return deadline_verdict(self._allowance.seconds)
        turns = self._turns()
        self._prepare()
        turn = self._ended(turns.first(compile_prompt(self._payload)))
        if self._is_to_continue(turn, turns):
            turn = self._ended(turns.next(nudge(self._payload.title)))
        return self._judged(turn)

    def _turns(self) -> Turns:
        return Turns(
            self._payload,
            self._place,
            adapter=adapter_for(self._payload),
            supervisor=self._supervisor,
            allowance=self._allowance,
            console=self._console,
            seen=self._seen,
            watch=self._watch,
        )

    def _ended(self, turn: Turn) -> Turn:
        self._progress.end = turn.end
        return turn

    def _is_to_continue(self, turn: Turn, turns: Turns) -> bool:
        """Return whether an agent that left no commit is to be told so, once that is on record."""
        if self._progress.start is None or self._payload.commit_optional or turns.over:
            return False
        found = completion(
            exited_well=turn.verdict.succeeded,
            head=self._own_head(self._progress.start) if turn.verdict.succeeded else None,
            can_go_on=turns.can_go_on,
            may_continue=self._payload.may_continue,
        )
        self._console.note(f"the check of the agent's commits found: {found}")
        return found is Completion.CONTINUE and self._announced(self._console.redact(turns.session))

    def _own_head(self, start: Start) -> str | None:
        try:
            return own_head(self._git, start, self._allowance.saving())
        except GitError:
            return None

    def _announced(self, session: str) -> bool:
        """Have the continuation put on record first, so that a task's second one is refused."""
        latest = self._allowance.now() + ANNOUNCEMENT_SECONDS

        def until() -> float:
            return min(latest, self._allowance.work())

        if self._reporter is None or not self._reporter.announce(session, until=until):
            self._console.note("the agent isn't told of it: the operator has not put that on record")
            return False
        self._progress.continued = session
        return True

    def _judged(self, turn: Turn) -> Verdict:
        repository, start = self._payload.repository, self._progress.start
        if not (turn.verdict.succeeded and repository and start):
            return turn.verdict
        if self._payload.commit_optional and not self._own_head(start):
            return turn.verdict
        return self._published(repository, start)

    def _prepare(self) -> None:
        place, payload = self._place, self._payload
        write_identity(place.home, payload.git)
        place.clone.mkdir(parents=True, exist_ok=True)
        if payload.repository:
            self._console.note(f"cloning {payload.repository.url}")
            self._progress.start = prepare(
                self._git, payload.repository, payload.dependencies, self._allowance
            )
            self._console.note(f"starting from {self._progress.start.head}")
        place.mailbox.open(own_command())

    def _published(self, repository: Repository, start: Start) -> Verdict:
        until = self._allowance.saving()
        try:
            head = own_head(self._git, start, until)
            left = 0 if head else leftovers(self._git, until)
        except GitError as error:
            text = f"HEAD of the clone can't be read: {error.said}"
            return Verdict(ResultClass.AGENT, Reason.HEAD_UNKNOWN, text)
        if not head:
            prose, allowed = self._seen.prose, self._payload.allow_no_change
            return without_commit(left=left, prose=prose, allow_no_change=allowed)
        self._progress.head = head
        self._console.note(f"pushing {head} to {repository.branch}")
        push(
            self._git,
            repository,
            commit=head,
            start=start,
            allowance=self._allowance,
            sleep=self._pause,
        )
        self._progress.branch = repository.branch
        return Verdict(ResultClass.SUCCESS, Reason.COMPLETED, self._pushed(repository.branch, head))

    def _pause(self, seconds: float) -> None:
        self._console.note(f"the push failed; trying again in {seconds:g} s")
        self._supervisor.sleep(seconds)

    def _pushed(self, branch: str, head: str) -> str:
        try:
            left = leftovers(self._git, self._allowance.saving())
        except (GitError, StepTimeoutError):
            left = 0
        more = f"; {left} uncommitted files were left behind" if left else ""
        return f"pushed {head[:12]} to {branch}{more}"

    def _rescued(self, verdict: Verdict, repository: Repository) -> Verdict:
        start = self._progress.start
        if start is None:
            return verdict
        message = _RESCUE_MESSAGE.format(
            task=self._payload.task,
            attempt=self._payload.attempt,
            message=self._console.redact(verdict.message),
        )
        try:
            self._progress.head = self._progress.head or own_head(self._git, start, self._allowance.saving())
            saved = rescue(self._git, repository, start=start, message=message, allowance=self._allowance)
        except (GitError, OSError) as error:
            return _with(verdict, f"its unfinished work could not be saved: {error}")
        except StepTimeoutError:
            return _with(verdict, "its unfinished work could not be saved in time")
        if saved:
            self._console.note(f"saved unfinished work on {repository.rescue_branch}")
            self._progress.rescue_branch = repository.rescue_branch
        # The branch isn't named in the message: the same failure twice should read the same.
        return verdict

    def _out_of_time(self, program: str) -> Verdict:
        if self._allowance.now() >= self._allowance.ends:
            return deadline_verdict(self._allowance.seconds)
        if self._allowance.stop.at is not None:
            return TERMINATED
        text = f"{program} gave no answer within {self._place.git_seconds:g} s"
        return transient_error(Reason.GIT_UNAVAILABLE, text).verdict

    def _result(self, verdict: Verdict, *, digest: str) -> Result:
        progress, redact = self._progress, self._console.redact
        tally, final = self._seen.tally, self._watch.final
        base = progress.start.base if progress.start else None
        return Result(
            subject=ResultSubject(id=self._envelope.subject.id, attempt=self._payload.attempt),
            result_class=verdict.result_class,
            reason=verdict.reason,
            exit_code=progress.end.exit_code if progress.end else None,
            head_before=base,
            head_after=progress.head or base,
            branch=progress.branch,
            rescue_branch=progress.rescue_branch,
            usage=tally.usage,
            steps=tally.steps,
            tool_calls=tally.tool_calls,
            finish_percent=final.percent if final else None,
            summary=redact(self._seen.summary),
            message=redact(verdict.message),
            abandonment=verdict.abandonment,
            retry_after_seconds=verdict.retry_after_seconds,
            continued=progress.continued,
            question=verdict.question,
            digest=digest,
        )


def _with(verdict: Verdict, addition: str) -> Verdict:
    return replace(verdict, message=f"{verdict.message}; {addition}")
