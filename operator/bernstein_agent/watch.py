"""Keeping an attempt's limits while its program runs.

The operator's answers arrive in one thread, what the program spends in another, and the program is waited for
in a third. What each of them knows comes together here, so that a program never gets two orders at once.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

from bernstein_agent.allowance import Clock
from bernstein_agent.contract import Budget, BudgetMode, Instruction
from bernstein_agent.countdown import format_countdown
from bernstein_agent.orders import FINAL_TURN_SECONDS, UNHEARD_SECONDS, Cause, Order, order_of
from bernstein_agent.tally import Tally


class Watch:
    """The limits of one attempt, and what was said about them since it began."""

    def __init__(self, budget: Budget, *, tally: Callable[[], Tally], now: Clock) -> None:
        """Take over the limits; ``tally`` tells what has been used of them."""
        self._given = budget
        self._tally = tally
        self._now = now
        self._wanted = Instruction()
        self._warnings: dict[str, str] = {}
        self._heard: Callable[[], float] | None = None
        self._final: Order | None = None
        self._final_began = 0.0
        self._lock = threading.Lock()

    def listen(self, heard: Callable[[], float]) -> None:
        """Ask ``heard`` when the operator last accepted a report; until then nobody waits for one."""
        self._heard = heard

    def take(self, instruction: Instruction) -> None:
        """Take the operator's word for what is wanted from now on; a warning stays said."""
        with self._lock:
            self._wanted = instruction
            self._warnings.update((warning.id, warning.text) for warning in instruction.warnings)

    @property
    def budget(self) -> Budget:
        """The limits as they are now."""
        wanted = self._wanted
        tokens = self._given.tokens if wanted.tokens is None else wanted.tokens
        cost = self._given.cost_micros if wanted.cost_micros is None else wanted.cost_micros
        return replace(self._given, tokens=tokens, cost_micros=cost)

    @property
    def final(self) -> Order | None:
        """Why the program was given its final turn; None where it wasn't."""
        return self._final

    def begin_final_turn(self, order: Order) -> None:
        """From now on only what stops the program counts, and the final turn's own time."""
        self._final, self._final_began = order, self._now()

    def order(self, *, can_go_on: bool) -> Order | None:
        """Return what the program has to do now; None where it may go on.

        One that can't be told anything after its end gets no final turn. It finds what it should know among
        the notices, and is stopped once nothing is left.
        """
        order = self._order(can_go_on=can_go_on)
        if order and order.cause is None:
            return order
        if self._final:
            late = self._now() - self._final_began >= FINAL_TURN_SECONDS
            return Order(self._final.verdict) if late else None
        if order is None or can_go_on:
            return order
        deaf = order.cause is Cause.UNHEARD and self._unheard(UNHEARD_SECONDS + FINAL_TURN_SECONDS)
        return Order(order.verdict) if deaf else None

    def notices(self) -> str:
        """Return what an agent should know now: the banner, then one line for each warning and wish."""
        order = self._order(can_go_on=True)
        with self._lock:
            lines = [format_countdown(self.budget, self._tally()), *self._warnings.values()]
        return "\n".join([*lines, *([order.notice] if order and order.cause else [])]) + "\n"

    def headed(self, text: str) -> str:
        """Return what a turn is told, with the banner at its head."""
        return f"{format_countdown(self.budget, self._tally())}\n\n{text}"

    def _order(self, *, can_go_on: bool) -> Order | None:
        budget = self.budget
        if self._final:
            # The final turn comes on top of the steps.
            budget = replace(budget, steps=None)
        elif not can_go_on:
            budget = replace(budget, mode=BudgetMode.HARD)
        return order_of(budget, self._tally(), wanted=self._wanted, unheard=self._unheard(UNHEARD_SECONDS))

    def _unheard(self, seconds: float) -> bool:
        return self._heard is not None and self._now() - self._heard() >= seconds
