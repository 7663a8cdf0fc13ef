"""Why no more agents of a run are live: it speaks for all its tasks that wait for nothing but a slot.

Otherwise each of them would have to say it, and thousands would be written for every slot that changes hands.
"""

from collections.abc import Iterator

from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.snapshot import RunSnapshot
from bernstein_operator.api.vocabulary import RunReason
from bernstein_operator.decisions.conditions import Standing


def progress(snapshot: RunSnapshot, *, ceiling: ConcurrencyStatus, more: bool) -> Standing:
    """Return the first cause that keeps tasks from starting; ``more`` says that some are yet to be made."""
    return next(_causes(snapshot, ceiling, more=more), Standing(RunReason.TASKS_ACTIVE, ""))


def _causes(snapshot: RunSnapshot, ceiling: ConcurrencyStatus, *, more: bool) -> Iterator[Standing]:
    if snapshot.refused:
        yield Standing(RunReason.TASK_CREATION_REFUSED, snapshot.refused)
    if not more and not sum(snapshot.phases.values()):
        yield Standing(RunReason.NO_TASKS, "The run has no task yet; it doesn't end without one.")
    if ceiling.configured == 0:
        text = "The ceiling is 0, by concurrency.maxAgents or the operator's own limit: nothing starts."
        yield Standing(RunReason.CEILING_ZERO, text)
    if snapshot.pause:
        yield Standing(RunReason.SPAWNING_PAUSED, snapshot.pause.message)
    if snapshot.waiting and snapshot.live >= ceiling.effective:
        yield Standing(RunReason.AT_CEILING, _full_text(ceiling))
    if snapshot.waiting and snapshot.operator_room == 0:
        text = "As many agents are live as the operator allows all runs together; they take turns."
        yield Standing(RunReason.AT_OPERATOR_CEILING, text)


def _full_text(ceiling: ConcurrencyStatus) -> str:
    reduced = f", {ceiling.configured} configured" if ceiling.effective < ceiling.configured else ""
    return f"No slot is free ({ceiling.live} of {ceiling.effective} held{reduced}); further tasks queue."
