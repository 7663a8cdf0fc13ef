"""One envelope carried out, with all that surrounds the attempt: its clocks, its limits, its reports.

The result is left for the kubelet before it is reported, because a server may not answer and a grace may end.
"""

from collections.abc import Callable
from datetime import datetime

from bernstein_agent.allowance import Allowance
from bernstein_agent.console import Console
from bernstein_agent.contract import Envelope, Instruction, Result, ResultSubject, digest_of
from bernstein_agent.observation import Observation
from bernstein_agent.place import Place
from bernstein_agent.processes import Supervisor
from bernstein_agent.reporting import Reporter
from bernstein_agent.runner import Attempt
from bernstein_agent.watch import Watch


def run_envelope(
    text: str,
    envelope: Envelope,
    place: Place,
    *,
    supervisor: Supervisor,
    console: Console,
    now: datetime,
    leave: Callable[[Result], None],
) -> Result:
    """Carry out an envelope, beginning at ``now``, and return its result once ``leave`` has got it.

    ``text`` is the envelope's document, to which the result is bound.
    """
    allowance = _allowance(envelope, place, supervisor=supervisor, now=now)
    seen = Observation(envelope.payload.prices)
    watch = Watch(envelope.budget, tally=lambda: seen.tally, now=supervisor.now)
    reporter = _reporter(envelope, seen, watch, supervisor=supervisor, console=console)
    attempt = Attempt(
        envelope,
        place,
        supervisor=supervisor,
        allowance=allowance,
        console=console,
        seen=seen,
        watch=watch,
        reporter=reporter,
    )
    result = attempt.run(digest=digest_of(text))
    leave(result)
    if reporter:
        reporter.close(result, until=allowance.reporting())
    return result


def _allowance(envelope: Envelope, place: Place, *, supervisor: Supervisor, now: datetime) -> Allowance:
    began = supervisor.now()
    seconds = float(envelope.payload.timeout_seconds)
    if envelope.deadline:
        seconds = min(seconds, (envelope.deadline - now).total_seconds())
    return Allowance(
        now=supervisor.now,
        began=began,
        ends=began + seconds,
        stop=supervisor.stop,
        step_seconds=place.git_seconds,
    )


def _reporter(
    envelope: Envelope, seen: Observation, watch: Watch, *, supervisor: Supervisor, console: Console
) -> Reporter | None:
    """Return who reports on the attempt from now on, None where nobody listens."""
    reporting = envelope.payload.reporting
    if reporting is None:
        return None

    def take(instruction: Instruction) -> None:
        watch.take(instruction)
        supervisor.wake()

    reporter = Reporter(
        reporting,
        ResultSubject(id=envelope.subject.id, attempt=envelope.payload.attempt),
        tally=lambda: seen.tally,
        take=take,
        now=supervisor.now,
        note=console.note,
    )
    watch.listen(lambda: reporter.accepted_at)
    reporter.start()
    return reporter
