"""Who of a run's waiting tasks may start now: the run's ceiling, its turn among all runs, and politeness.

The run's own decision says how many slots are free. Beyond that the operator's limits on all runs together
count, and a namespace that has just refused Pods gets no more than its probe.
"""

from bernstein_operator.api.objects import Key
from bernstein_operator.control.holds import Holds
from bernstein_operator.decisions.reserving import UNLIMITED_FUNDS, Funds, Till
from bernstein_operator.world.world import World


def hand_out(
    world: World, holds: Holds, run: Key, *, free: int, funds: Funds = UNLIMITED_FUNDS
) -> float | None:
    """Give a run's next tasks up to ``free`` slots, and shares of its ``funds``.

    Returns in how many seconds to ask again, if at all.
    """
    till = Till(funds)
    # A run in which nothing waits must not use up the one try that a refusing namespace grants.
    wanted = min(free, world.startable(run, till))
    share = world.turns.share(run, wanted)
    allowed, ask_again = holds.allowance(run[0], share)
    world.grant(run, free=allowed, till=till)
    given = len(till.given)
    # What a refusing namespace, or too little money, can't use goes on to the next run in the line.
    world.turns.given(run, given, still_wanted=wanted - given if given == share else 0)
    return ask_again
