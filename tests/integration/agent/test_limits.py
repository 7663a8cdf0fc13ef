"""Limits in a real attempt: the banner, the final turn, the stop, and what the operator's answers do.

The agents are scripts and shells run by the packed program, the operator's endpoint is a real server.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bernstein_agent.contract import (
    Budget,
    BudgetMode,
    Continuation,
    Envelope,
    Instruction,
    Notice,
    Prices,
    Reason,
    Reporting,
    Result,
    ResultClass,
    Usage,
)
from tests.integration.agent.bench import Bench, changed, envelope, repository, script
from tests.integration.agent.gitserver import Remote
from tests.support.endpoint import Endpoint, endpoint

BRANCH = "bernstein/demo/build"
RESCUE = "bernstein/demo/build.rescue-1"
TASK_BUDGET = (ResultClass.TASK_BUDGET, Reason.TASK_BUDGET_EXHAUSTED)
BUDGET = (ResultClass.BUDGET, Reason.BUDGET_EXHAUSTED)
SUCCESS = (ResultClass.SUCCESS, Reason.COMPLETED)
HARD = BudgetMode.HARD
DIME = "spend usd=0.10"
DOLLAR = 1_000_000
PAUSE = "sleep 10"
"""Where an agent is interrupted: just before it, or in it."""
SAVE = ("commit Save the parser", "say Saved.")


@pytest.fixture
def operator() -> Iterator[Endpoint]:
    """Return an endpoint that accepts whatever it gets."""
    with endpoint() as served:
        yield served


def limited(remote: Remote, budget: Budget, *lines: str) -> Envelope:
    """Return an envelope for a scripted agent that begins with a file it doesn't commit."""
    order = envelope(script("write parser.py: 1", *lines), repo=repository(remote.url))
    return replace(order, budget=budget)


def reporting(order: Envelope, operator: Endpoint, directory: Path, **changes: object) -> Envelope:
    """Return the envelope of an attempt that reports to ``operator``."""
    token = directory / "token"
    token.write_text("a-token")
    where = Reporting(url=operator.url, token_file=str(token), interval_seconds=1)
    return changed(order, reporting=where, **changes)


def outcome(result: Result) -> tuple[ResultClass, str]:
    """Return class and reason."""
    return result.result_class, result.reason


def test_a_prompt_begins_with_the_banner(bench: Bench) -> None:
    order = envelope(args=("sh", "-c", 'head -n 2 "$BERNSTEIN_PROMPT_FILE"; bernstein-agent notices'))
    budget = Budget(tokens=64_000, cost_micros=1_500_000, steps=30)
    line = (
        "[budget] tokens left: 64,000 of 64,000 (100%) | $0.00 of $1.50 | steps: 0 of 30"
        " | mode: graceful-finish-on-low"
    )
    assert bench.run(replace(order, budget=budget)).result.summary == f"{line}\n{line}"


LOW = {
    "exactly 20 % of tokens left": (Budget(tokens=1000, own=True), ["spend input=700 output=100"], 20),
    "exactly 20 % of dollars left": (Budget(cost_micros=DOLLAR, own=True), [DIME] * 8, 20),
    "at its last step": (Budget(steps=3), ["steps 2"], 0),
}


@pytest.mark.parametrize(("budget", "spending", "percent"), LOW.values(), ids=LOW)
def test_an_agent_with_little_left_gets_a_final_turn_to_commit(
    bench: Bench, remote: Remote, budget: Budget, spending: list[str], *, percent: int
) -> None:
    with bench.running(limited(remote, budget, *spending, PAUSE, *SAVE)) as attempt:
        ended = attempt.ended()
        prompt = (attempt.workspace / "prompt.md").read_text()
    result = ended.result
    assert (outcome(result), result.finish_percent, result.summary) == (SUCCESS, percent, "Saved.")
    assert remote.files(BRANCH) >= {"parser.py"}
    assert result.steps == (4 if budget.steps else 2)
    assert prompt.startswith("[budget] tokens left: ")
    assert "\n\nYour budget is nearly used up. This is your final turn. Commit the work" in prompt


def test_the_final_turn_is_told_what_is_left(bench: Bench, remote: Remote) -> None:
    budget = Budget(tokens=64_000, cost_micros=1_500_000, steps=30)
    with bench.running(limited(remote, budget, "spend output=51200 usd=0.42", PAUSE, *SAVE)) as attempt:
        attempt.ended()
        banner = (attempt.workspace / "prompt.md").read_text().splitlines()[0]
    assert banner == (
        "[budget] tokens left: 12,800 of 64,000 (20%) | $0.42 of $1.50 | steps: 1 of 30"
        " | mode: graceful-finish-on-low"
    )


ENOUGH = {
    "a token more than 20 % left": (Budget(tokens=1000), ["spend input=799"]),
    "a micro-dollar more than 20 % left": (Budget(cost_micros=DOLLAR), ["spend usd=0.799999"]),
    "a step before its last": (Budget(steps=3), ["steps 1"]),
    "its only step": (Budget(steps=1), []),
    "little left, in the hard mode": (Budget(tokens=1000, steps=2, mode=HARD), ["spend input=999"]),
    "exactly all calls of tools": (Budget(tool_calls=3), ["call Bash 3 times"]),
    "nine times 0.10 against 1.00": (Budget(cost_micros=DOLLAR, mode=HARD), [DIME] * 9),
}


@pytest.mark.parametrize(("budget", "spending"), ENOUGH.values(), ids=ENOUGH)
def test_an_agent_with_enough_left_goes_on(
    bench: Bench, remote: Remote, budget: Budget, spending: list[str]
) -> None:
    ended = bench.run(limited(remote, budget, *spending, "sleep 0.5", *SAVE))
    assert (outcome(ended.result), ended.result.finish_percent) == (SUCCESS, None)
    assert "stopping the agent" not in ended.log


USED_UP = {
    "exactly all tokens": (
        Budget(tokens=1000, mode=HARD, own=True),
        ["spend input=999", "spend output=1"],
        TASK_BUDGET,
    ),
    "ten times 0.10 against 1.00": (
        Budget(cost_micros=DOLLAR, mode=HARD, own=True),
        [DIME] * 10,
        TASK_BUDGET,
    ),
    "all that its run has left": (Budget(cost_micros=DOLLAR, mode=HARD), [DIME] * 10, BUDGET),
    "exactly all steps": (Budget(steps=3, mode=HARD), ["steps 2"], TASK_BUDGET),
    "a call of a tool too many": (Budget(tool_calls=3), ["call Bash 4 times"], TASK_BUDGET),
    "all at once, gracefully": (Budget(tokens=1000, own=True), ["spend input=1000"], TASK_BUDGET),
}


@pytest.mark.parametrize(("budget", "spending", "end"), USED_UP.values(), ids=USED_UP)
def test_an_agent_with_nothing_left_is_stopped_and_its_work_saved(
    bench: Bench, remote: Remote, budget: Budget, spending: list[str], *, end: tuple[ResultClass, Reason]
) -> None:
    ended = bench.run(limited(remote, budget, *spending, "hang", *SAVE))
    result = ended.result
    assert (outcome(result), result.finish_percent, result.branch) == (end, None, None)
    assert result.message.startswith("nothing is left of the ")
    assert "parser.py" in remote.files(RESCUE)


def test_a_final_turn_may_use_up_the_rest(bench: Bench, remote: Remote) -> None:
    budget = Budget(tokens=1000, own=True)
    ended = bench.run(limited(remote, budget, "spend input=900", PAUSE, "spend input=100", "hang", *SAVE))
    assert (outcome(ended.result), ended.result.finish_percent) == (TASK_BUDGET, 10)
    assert ended.result.usage.input_tokens == 1000


def test_a_final_turn_is_judged_as_any_other(bench: Bench, remote: Remote) -> None:
    ended = bench.run(limited(remote, Budget(tokens=1000, own=True), "spend input=900", PAUSE))
    assert outcome(ended.result) == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert (ended.result.finish_percent, ended.result.steps) == (10, 2)
    assert "parser.py" in remote.files(RESCUE)
    assert "the check of the agent's commits" not in ended.log, "there is no further turn to be told of it in"


PRICES = Prices(input_micros=3_000_000, output_micros=15_000_000, cached_micros=300_000)


@pytest.mark.parametrize("prices", [PRICES, None], ids=["priced", "without a price"])
def test_tokens_whose_cost_isnt_told_are_priced(bench: Bench, prices: Prices | None) -> None:
    order = envelope(script("spend input=100000 output=10000 cached=1000 usd=unknown"))
    usage = bench.run(changed(order, prices=prices)).result.usage
    assert (usage.cost_micros, usage.cost_unknown) == ((450_300, False) if prices else (0, True))


def test_a_price_makes_the_limit_in_dollars_act(bench: Bench, remote: Remote) -> None:
    budget = Budget(cost_micros=300_000, mode=HARD)
    order = limited(remote, budget, "spend input=99999 usd=unknown", "spend input=1 usd=unknown", "hang")
    assert outcome(bench.run(changed(order, prices=PRICES)).result) == BUDGET


UNTOLD = {
    "a scripted agent that spends nothing": (envelope(script("say Done.")), False),
    "a program that tells nothing": (envelope(args=("true",)), True),
    "a program that was never started": (envelope(args=("/nowhere/agent",)), True),
}


@pytest.mark.parametrize(("order", "unknown"), UNTOLD.values(), ids=UNTOLD)
def test_the_cost_is_unknown_where_nobody_told_it(bench: Bench, order: Envelope, unknown: bool) -> None:
    assert bench.run(order).result.usage == Usage(cost_unknown=unknown)


def test_reports_hold_totals_and_the_last_one_the_whole_result(
    bench: Bench, remote: Remote, operator: Endpoint, tmp_path: Path
) -> None:
    lines = ("spend input=1000 usd=0.50 over=2.5", "steps 2", "call Bash", *SAVE)
    ended = bench.run(reporting(limited(remote, Budget(), *lines), operator, tmp_path))
    totals = [report.usage.cost_micros for report in operator.reports]
    assert totals == sorted(totals)
    assert any(0 < total < 500_000 for total in totals)
    last = operator.reports[-1]
    assert (last.usage.cost_micros, last.steps, last.tool_calls) == (500_000, 3, 1)
    assert last.result == ended.result
    assert [report.result for report in operator.reports[:-1]] == [None] * (len(operator.reports) - 1)


def test_an_envelope_that_is_refused_reports_nothing(
    bench: Bench, operator: Endpoint, tmp_path: Path
) -> None:
    order = reporting(envelope(script("say Done.")), operator, tmp_path)
    bench.run(order, env={"BERNSTEIN_POD_NAME": "another-pod"})
    assert operator.reports == []


def told_while_it_hangs(
    bench: Bench, order: Envelope, operator: Endpoint, said: Instruction
) -> tuple[Result, str]:
    """Return the result of an agent that hangs until the operator says something, and its last prompt."""
    with bench.running(order) as attempt:
        attempt.saw("hanging")
        operator.rule = lambda _report: said
        result = attempt.ended().result
        return result, (attempt.workspace / "prompt.md").read_text()


FINISH = Instruction(finish="The run's budget is critical.")
WISHES = {
    "finishes and commits": (("hang", *SAVE), SUCCESS),
    "ignores SIGTERM, finishes and commits": (("hang ignoring SIGTERM", *SAVE), SUCCESS),
    "finishes and has nothing to commit yet": (("hang",), BUDGET),
    "fails in its final turn": (("hang", "fail 3"), (ResultClass.AGENT, Reason.NON_ZERO_EXIT)),
}


@pytest.mark.parametrize(("steps", "end"), WISHES.values(), ids=WISHES)
def test_an_agent_that_the_operator_asks_to_finish(
    bench: Bench,
    remote: Remote,
    operator: Endpoint,
    tmp_path: Path,
    *,
    steps: tuple[str, ...],
    end: tuple[ResultClass, Reason],
) -> None:
    order = reporting(limited(remote, Budget(), *steps), operator, tmp_path)
    result, prompt = told_while_it_hangs(bench, order, operator, FINISH)
    assert (outcome(result), result.finish_percent) == (end, None)
    assert "You are asked to finish. The run's budget is critical. This is your final turn." in prompt


STOPS = {
    "by a word": (Instruction(stop=True), Budget(), (ResultClass.DISRUPTION, Reason.TERMINATED)),
    "by a lower limit of tokens": (Instruction(tokens=100), Budget(tokens=1000, own=True), TASK_BUDGET),
    "by a limit where there was none": (Instruction(cost_micros=0), Budget(), BUDGET),
}


@pytest.mark.parametrize(("said", "budget", "end"), STOPS.values(), ids=STOPS)
def test_an_agent_that_the_operator_stops(
    bench: Bench,
    remote: Remote,
    operator: Endpoint,
    tmp_path: Path,
    *,
    said: Instruction,
    budget: Budget,
    end: tuple[ResultClass, Reason],
) -> None:
    order = reporting(limited(remote, budget, "spend input=100", "hang", *SAVE), operator, tmp_path)
    result, _prompt = told_while_it_hangs(bench, order, operator, said)
    assert outcome(result) == end
    assert "parser.py" in remote.files(RESCUE)


def test_a_raised_limit_lets_it_go_on(
    bench: Bench, remote: Remote, operator: Endpoint, tmp_path: Path
) -> None:
    operator.rule = lambda _report: Instruction(tokens=10_000)
    order = envelope(
        script("write parser.py: 1", "sleep 3", "spend input=1500", "sleep 0.5", *SAVE),
        repo=repository(remote.url),
    )
    ended = bench.run(reporting(replace(order, budget=Budget(tokens=1000)), operator, tmp_path))
    assert (outcome(ended.result), ended.result.finish_percent) == (SUCCESS, None)


def test_a_running_agent_hears_a_warning(bench: Bench, operator: Endpoint, tmp_path: Path) -> None:
    operator.rule = lambda _report: Instruction(warnings=(Notice(id="deadline:1", text="5 min are left."),))
    steps = "until bernstein-agent notices | grep '^5 min'; do sleep 0.2; done"
    ended = bench.run(reporting(envelope(args=("sh", "-c", steps)), operator, tmp_path))
    assert (outcome(ended.result), ended.result.summary) == (SUCCESS, "5 min are left.")


CONTINUED = {
    "allowed": (Continuation.ALLOWED, SUCCESS),
    "refused": (Continuation.REFUSED, (ResultClass.BUSINESS, Reason.NO_COMMIT)),
}


@pytest.mark.parametrize(("answer", "end"), CONTINUED.values(), ids=CONTINUED)
def test_a_lazy_agent_is_told_once_the_operator_has_that_on_record(
    bench: Bench,
    remote: Remote,
    operator: Endpoint,
    tmp_path: Path,
    *,
    answer: Continuation,
    end: tuple[ResultClass, Reason],
) -> None:
    operator.rule = lambda report: Instruction(continuation=None if report.continues is None else answer)
    order = reporting(limited(remote, Budget(), "lazy", *SAVE), operator, tmp_path, may_continue=True)
    result = bench.run(order).result
    announced = {report.continues for report in operator.reports} - {None}
    assert outcome(result) == end
    assert len(announced) == 1
    assert result.continued == (announced.pop() if answer is Continuation.ALLOWED else None)


def test_a_lazy_agent_with_little_left_is_told_that_this_is_its_final_turn(
    bench: Bench, remote: Remote, operator: Endpoint, tmp_path: Path
) -> None:
    operator.rule = lambda report: Instruction(
        continuation=None if report.continues is None else Continuation.ALLOWED
    )
    order = limited(remote, Budget(steps=1), "lazy", *SAVE)
    with bench.running(reporting(order, operator, tmp_path, may_continue=True)) as attempt:
        result = attempt.ended().result
        prompt = (attempt.workspace / "prompt.md").read_text()
    assert (outcome(result), result.finish_percent, result.steps) == (SUCCESS, 0, 2)
    assert "has no new commit" in prompt
    assert "This is your final turn." in prompt


def test_one_with_nothing_left_isnt_told_at_all(
    bench: Bench, remote: Remote, operator: Endpoint, tmp_path: Path
) -> None:
    operator.rule = lambda _report: Instruction(continuation=Continuation.ALLOWED)
    order = limited(remote, Budget(steps=1, mode=HARD), "lazy", *SAVE)
    ended = bench.run(reporting(order, operator, tmp_path, may_continue=True))
    assert outcome(ended.result) == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert {report.continues for report in operator.reports} == {None}


def test_a_server_that_never_answers_holds_nothing_up(
    bench: Bench, silent_server: str, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("a-token")
    url = silent_server.replace("git://", "http://")
    where = Reporting(url=url, token_file=str(token), interval_seconds=1)
    with bench.running(changed(envelope(script("hang")), reporting=where)) as attempt:
        attempt.saw("hanging")
        ended = attempt.stopped_by_kubelet()
    assert outcome(ended.result) == (ResultClass.DISRUPTION, Reason.TERMINATED)
    assert ended.exit_code == 1
