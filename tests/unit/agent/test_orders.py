"""What a program has to do: who is obeyed first, what its end counts as, and when a final turn is over."""

import pytest

from bernstein_agent.contract import Budget, BudgetMode, Instruction, Notice, Reason, ResultClass, Usage
from bernstein_agent.failure import Verdict
from bernstein_agent.orders import Cause, Order, order_of, settled
from bernstein_agent.tally import Tally
from bernstein_agent.watch import Watch

BUDGET = ResultClass.BUDGET
TASK_BUDGET = ResultClass.TASK_BUDGET
OWN = Budget(tokens=1000, own=True)
RUNS = Budget(tokens=1000)
HARD = BudgetMode.HARD


def used(tokens: int = 0, micros: int = 0, steps: int = 0, calls: int = 0) -> Tally:
    """Return a tally."""
    return Tally(Usage(input_tokens=tokens, cost_micros=micros), steps, calls)


STOPS = {
    "the task's tokens": (
        OWN,
        used(1000),
        TASK_BUDGET,
        Reason.TASK_BUDGET_EXHAUSTED,
        "nothing is left of the task's budget of 1,000 tokens",
    ),
    "the run's tokens": (
        RUNS,
        used(1000),
        BUDGET,
        Reason.BUDGET_EXHAUSTED,
        "nothing is left of the run's budget of 1,000 tokens",
    ),
    "the run's dollars": (
        Budget(cost_micros=1_500_000),
        used(micros=1_500_000),
        BUDGET,
        Reason.BUDGET_EXHAUSTED,
        "nothing is left of the run's budget of $1.5",
    ),
    "steps, which are always the task's": (
        Budget(steps=3, mode=HARD),
        used(steps=3),
        TASK_BUDGET,
        Reason.TASK_BUDGET_EXHAUSTED,
        "nothing is left of the task's budget of 3 steps",
    ),
    "calls of tools likewise": (
        Budget(tool_calls=3),
        used(calls=4),
        TASK_BUDGET,
        Reason.TASK_BUDGET_EXHAUSTED,
        "nothing is left of the task's budget of 3 tool calls",
    ),
}


@pytest.mark.parametrize(("budget", "tally", "result_class", "reason", "text"), STOPS.values(), ids=STOPS)
def test_it_is_stopped_once_a_limit_is_used_up(
    budget: Budget, tally: Tally, *, result_class: ResultClass, reason: Reason, text: str
) -> None:
    order = order_of(budget, tally, wanted=Instruction(), unheard=False)
    assert order == Order(Verdict(result_class, reason, text))


WISH = Instruction(finish="The run's budget is critical.")
STOP = Instruction(stop=True)

ORDERS: dict[str, tuple[Budget, Tally, Instruction, bool, Cause | None, ResultClass, int | None]] = {
    "its own budget is low": (OWN, used(800), Instruction(), False, Cause.LOW, TASK_BUDGET, 20),
    "what the run has left is low": (RUNS, used(850), Instruction(), False, Cause.LOW, BUDGET, 15),
    "its last step": (
        Budget(tokens=1000, steps=3),
        used(500, steps=3),
        Instruction(),
        False,
        Cause.LOW,
        TASK_BUDGET,
        0,
    ),
    "the operator asks": (OWN, used(799), WISH, False, Cause.OPERATOR, BUDGET, None),
    "the operator stops": (OWN, used(), STOP, False, None, ResultClass.DISRUPTION, None),
    "nobody hears it": (OWN, used(), Instruction(), True, Cause.UNHEARD, ResultClass.TRANSIENT, None),
    "used up comes before a stop": (OWN, used(1000), STOP, True, None, TASK_BUDGET, None),
    "a stop comes before its own low": (OWN, used(800), STOP, True, None, ResultClass.DISRUPTION, None),
    "its own low comes before a wish": (OWN, used(800), WISH, True, Cause.LOW, TASK_BUDGET, 20),
    "a wish comes before silence": (OWN, used(), WISH, True, Cause.OPERATOR, BUDGET, None),
}


@pytest.mark.parametrize("row", ORDERS.values(), ids=ORDERS)
def test_the_first_order_that_applies_counts(
    row: tuple[Budget, Tally, Instruction, bool, Cause | None, ResultClass, int | None],
) -> None:
    budget, tally, wanted, unheard, cause, result_class, percent = row
    order = order_of(budget, tally, wanted=wanted, unheard=unheard)
    assert order
    assert (order.cause, order.verdict.result_class, order.percent) == (cause, result_class, percent)


def test_it_may_go_on_otherwise() -> None:
    assert order_of(OWN, used(799), wanted=Instruction(), unheard=False) is None


def test_a_final_turn_is_told_why() -> None:
    order = order_of(OWN, used(), wanted=WISH, unheard=False)
    assert order
    assert order.prompt.startswith(
        "You are asked to finish. The run's budget is critical. This is your final turn. Commit the work"
    )
    assert "final turn" not in order.notice


NO_COMMIT = Verdict(ResultClass.BUSINESS, Reason.NO_COMMIT, "the agent ended well and left no commit")
FAILED = Verdict(ResultClass.AGENT, Reason.NON_ZERO_EXIT, "the agent exited with code 3")
DONE = Verdict(ResultClass.SUCCESS, Reason.COMPLETED, "pushed")
SPENT = "nothing is left of the task's budget of 1,000 tokens; "


def low(budget: Budget) -> Order | None:
    """Return the order of a budget that is low."""
    return order_of(budget, used(800), wanted=Instruction(), unheard=False)


def asked() -> Order | None:
    """Return the order of an operator that asks to finish."""
    return order_of(OWN, used(), wanted=WISH, unheard=False)


SETTLED = {
    "no final turn": (OWN, used(), None, NO_COMMIT, (ResultClass.BUSINESS, NO_COMMIT.message)),
    "its own final turn is judged as any": (OWN, used(900), low(OWN), NO_COMMIT, (ResultClass.BUSINESS, "")),
    "for the run's budget": (RUNS, used(900), low(RUNS), NO_COMMIT, (BUDGET, "")),
    "on the operator's wish": (OWN, used(), asked(), NO_COMMIT, (BUDGET, "")),
    "a failure stays one": (OWN, used(), asked(), FAILED, (ResultClass.AGENT, FAILED.message)),
    "a success stays one": (RUNS, used(1000), low(RUNS), DONE, (ResultClass.SUCCESS, "pushed")),
    "a success that took all": (OWN, used(1000), None, DONE, (ResultClass.SUCCESS, "pushed")),
    "a failure that took all": (OWN, used(1000), None, FAILED, (TASK_BUDGET, SPENT + FAILED.message)),
    "no commit, and all is taken": (OWN, used(1000), None, NO_COMMIT, (TASK_BUDGET, SPENT)),
    "a failure that left a token": (OWN, used(999), None, FAILED, (ResultClass.AGENT, FAILED.message)),
    "all steps, which an attempt has anew": (
        Budget(steps=3, own=True, mode=HARD),
        used(steps=3),
        None,
        FAILED,
        (ResultClass.AGENT, FAILED.message),
    ),
    "the run's tokens are the run's": (RUNS, used(1000), None, FAILED, (ResultClass.AGENT, FAILED.message)),
}


@pytest.mark.parametrize("row", SETTLED.values(), ids=SETTLED)
def test_what_the_end_counts_as(
    row: tuple[Budget, Tally, Order | None, Verdict, tuple[ResultClass, str]],
) -> None:
    budget, tally, final, verdict, (result_class, text) = row
    found = settled(verdict, budget=budget, tally=tally, final=final)
    assert (found.result_class, found.message[: len(text)]) == (result_class, text)


class Surroundings:
    """A watch with a clock and a tally that a test moves."""

    def __init__(self, budget: Budget) -> None:
        self.time = 1000.0
        self.tally = Tally()
        self.heard = 1000.0
        self.watch = Watch(budget, tally=lambda: self.tally, now=lambda: self.time)

    def order(self, *, can_go_on: bool = True) -> Order | None:
        """Return the order of the moment."""
        return self.watch.order(can_go_on=can_go_on)


SILENCE = {
    "just under ten minutes": (599.9, True, None),
    "ten minutes": (600.0, True, Cause.UNHEARD),
    "ten minutes, and it can't be told": (600.0, False, None),
}


@pytest.mark.parametrize(("seconds", "can_go_on", "cause"), SILENCE.values(), ids=SILENCE)
def test_without_an_accepted_report_it_finishes(seconds: float, can_go_on: bool, cause: Cause | None) -> None:
    around = Surroundings(Budget())
    around.watch.listen(lambda: around.heard)
    around.time += seconds
    order = around.order(can_go_on=can_go_on)
    assert (order.cause if order else None) is cause


@pytest.mark.parametrize(("seconds", "stopped"), [(719.9, False), (720.0, True)], ids=["before", "then"])
def test_one_that_cant_be_told_is_stopped_two_minutes_later(seconds: float, stopped: bool) -> None:
    around = Surroundings(Budget())
    around.watch.listen(lambda: around.heard)
    around.time += seconds
    order = around.order(can_go_on=False)
    assert (order is not None) is stopped
    assert not order or order.verdict.reason == Reason.REPORTS_REFUSED


def test_where_nobody_listens_silence_means_nothing() -> None:
    around = Surroundings(Budget())
    around.time += 10_000
    assert around.order() is None


def test_an_accepted_report_ends_the_silence() -> None:
    around = Surroundings(Budget())
    around.watch.listen(lambda: around.heard)
    around.time += 600
    around.heard = around.time
    assert around.order() is None


FINAL = {
    "a step more": (used(800, steps=30), 0.0, None),
    "time is nearly up": (used(900), 119.9, None),
    "time is up": (used(900), 120.0, TASK_BUDGET),
    "nothing is left": (used(1000), 0.0, TASK_BUDGET),
}


@pytest.mark.parametrize(("tally", "seconds", "result_class"), FINAL.values(), ids=FINAL)
def test_a_final_turn_goes_on_until_nothing_is_left(
    tally: Tally, seconds: float, result_class: ResultClass | None
) -> None:
    around = Surroundings(Budget(tokens=1000, steps=30, own=True))
    around.tally = used(800)
    order = around.order()
    assert order
    around.watch.begin_final_turn(order)
    around.tally, around.time = tally, around.time + seconds
    later = around.order()
    assert later is None or later.cause is None
    assert (later.verdict.result_class if later else None) is result_class


def test_a_final_turn_is_stopped_where_the_operator_says_so() -> None:
    around = Surroundings(OWN)
    around.tally = used(800)
    order = around.order()
    assert order
    around.watch.begin_final_turn(order)
    around.watch.take(STOP)
    later = around.order()
    assert later
    assert later.verdict.result_class is ResultClass.DISRUPTION


UNTOLD = {
    "low": (Budget(tokens=1000, own=True), used(800), None),
    "used up": (Budget(tokens=1000, own=True), used(1000), TASK_BUDGET),
    "its last step": (Budget(steps=3), used(steps=3), TASK_BUDGET),
    "a step before": (Budget(steps=3), used(steps=2), None),
}


@pytest.mark.parametrize(("budget", "tally", "result_class"), UNTOLD.values(), ids=UNTOLD)
def test_a_program_that_cant_be_told_more_goes_on_to_the_end_of_its_budget(
    budget: Budget, tally: Tally, result_class: ResultClass | None
) -> None:
    around = Surroundings(budget)
    around.tally = tally
    order = around.order(can_go_on=False)
    assert (order.verdict.result_class if order else None) is result_class


LIMITS = {
    "as given": (Instruction(), 1000, 2_000_000),
    "raised": (Instruction(tokens=5000, cost_micros=3_000_000), 5000, 3_000_000),
    "lowered": (Instruction(tokens=10, cost_micros=0), 10, 0),
    "one of them": (Instruction(tokens=5000), 5000, 2_000_000),
}


@pytest.mark.parametrize(("said", "tokens", "micros"), LIMITS.values(), ids=LIMITS)
def test_limits_are_what_the_operator_last_said(said: Instruction, tokens: int, micros: int) -> None:
    around = Surroundings(Budget(tokens=1000, cost_micros=2_000_000, steps=9, own=True))
    around.watch.take(said)
    assert around.watch.budget == Budget(tokens=tokens, cost_micros=micros, steps=9, own=True)


def test_a_raised_limit_takes_an_order_back() -> None:
    around = Surroundings(OWN)
    around.tally = used(800)
    assert around.order()
    around.watch.take(Instruction(tokens=2000))
    assert around.order() is None


def test_a_wish_that_isnt_repeated_is_withdrawn() -> None:
    around = Surroundings(OWN)
    around.watch.take(WISH)
    assert around.order()
    around.watch.take(Instruction())
    assert around.order() is None


def test_notices_are_the_banner_the_warnings_and_the_wish() -> None:
    around = Surroundings(OWN)
    warning = Notice(id="deadline:1", text="The run ends in 5 min.")
    around.watch.take(Instruction(warnings=(warning,)))
    around.watch.take(Instruction(warnings=(warning,), finish="The run's budget is critical."))
    assert around.watch.notices() == (
        "[budget] tokens left: 1,000 of 1,000 (100%) | $0.00 of $0.00 | steps: 0 of 0"
        " | mode: graceful-finish-on-low\n"
        "The run ends in 5 min.\n"
        "You are asked to finish. The run's budget is critical. Commit the work that is done, begin nothing"
        " new, and say in a few sentences what is done and what isn't.\n"
    )


def test_every_prompt_has_the_banner_at_its_head() -> None:
    around = Surroundings(Budget(tokens=64_000, cost_micros=1_500_000, steps=30))
    around.tally = Tally(Usage(output_tokens=45_580, cost_micros=420_000), 7)
    line = (
        "[budget] tokens left: 18,420 of 64,000 (28%) | $0.42 of $1.50 | steps: 7 of 30"
        " | mode: graceful-finish-on-low"
    )
    assert around.watch.headed("Do it.\n") == f"{line}\n\nDo it.\n"
