"""When nodes are too busy: which readings count, and both sides of every boundary."""

from decimal import Decimal
from fractions import Fraction

import pytest

from bernstein_operator.api.concurrency import SpawningPause
from bernstein_operator.api.load import LoadSource, Measure, Node, Placement, Reading, Sample, Signal
from bernstein_operator.decisions.saturation import judge, measure, rules_of
from tests.unit.load import ANYWHERE, load, measured, node, reading, sample, signal
from tests.unit.objects import at

LITTLE = Fraction(1, 10**9)
RULES = rules_of(SpawningPause())
CPU, LOAD = LoadSource.CPU, LoadSource.LOAD
BEFORE = at(-100)


def of_load(*measures: Measure, failure: str = "") -> Signal:
    return signal(*measures, source=LOAD, failure=failure)


# --- what a reading means -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "percent"),
    [
        pytest.param({"a": sample(50)}, 50, id="one node"),
        pytest.param({"a": sample(50), "b": sample(100)}, 75, id="the mean, not the maximum"),
        pytest.param({"a": sample(0)}, 0, id="idle"),
        pytest.param({"a": sample(150)}, 150, id="more than it can give: the system's own share"),
        pytest.param(
            {"a": sample(1), "b": sample(1), "c": sample(2)}, Fraction(4, 3), id="exact, not rounded"
        ),
    ],
)
def test_a_reading_is_the_mean_of_what_each_node_uses(samples: dict[str, Sample], percent: float) -> None:
    assert measure(reading(samples), ANYWHERE, source=CPU).percent == percent


def test_usage_is_taken_of_what_each_node_can_give() -> None:
    small, large = node(cores=1), node(cores=4)
    of_one = reading({"a": sample(50), "b": sample(50)}, nodes={"a": small, "b": large})
    # One core is in use on each: all of the first, a quarter of the second.
    assert measure(of_one, ANYWHERE, source=CPU).percent == Fraction(125, 2)


@pytest.mark.parametrize(
    ("taken", "counts"),
    [
        pytest.param(-59.999999, True, id="a microsecond before three windows have passed"),
        pytest.param(-60, False, id="exactly three windows old"),
        pytest.param(-600, False, id="ten minutes old"),
        pytest.param(5, True, id="of a clock that is ahead"),
    ],
)
def test_a_sample_counts_while_it_is_younger_than_three_windows(taken: float, counts: bool) -> None:
    found = measure(reading({"a": sample(95, taken=taken, window=20)}), ANYWHERE, source=CPU)
    assert (found.percent is not None, found.counted) == (counts, int(counts))


@pytest.mark.parametrize(
    ("fresh", "nodes", "known"),
    [
        pytest.param(1, 1, True, id="all"),
        pytest.param(2, 4, True, id="exactly half"),
        pytest.param(1, 3, False, id="less than half"),
        pytest.param(2, 3, True, id="more than half"),
        pytest.param(1, 2, True, id="one of two"),
        pytest.param(0, 3, False, id="none: never 0 %"),
        pytest.param(0, 0, False, id="no node"),
    ],
)
def test_half_of_the_nodes_have_to_be_measured(fresh: int, nodes: int, known: bool) -> None:
    names = [f"n{number}" for number in range(nodes)]
    samples = {name: sample(95) for name in names[:fresh]}
    found = measure(reading(samples, nodes={name: node() for name in names}), ANYWHERE, source=CPU)
    assert found.percent == (Fraction(95) if known else None)
    assert (found.counted, found.nodes) == (fresh, nodes)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(node(usable=False), id="not Ready or cordoned"),
        pytest.param(node(pool="b"), id="not of the pool"),
        pytest.param(None, id="no more there"),
    ],
)
def test_a_node_that_the_run_cannot_use_has_no_say(other: Node | None) -> None:
    nodes = {"a": node(pool="a"), **({"b": other} if other else {})}
    both = reading({"a": sample(10), "b": sample(100)}, nodes=nodes)
    found = measure(both, {Placement(frozenset({("pool", "a")}))}, source=CPU)
    assert (found.percent, found.counted, found.nodes) == (Fraction(10), 1, 1)


def test_the_nodes_of_all_profiles_count() -> None:
    nodes = {"a": node(pool="a"), "b": node(pool="b"), "c": node(pool="c")}
    all_of_them = reading({"a": sample(10), "b": sample(30), "c": sample(100)}, nodes=nodes)
    pools = [Placement(frozenset({("pool", name)})) for name in ("a", "b")]
    assert measure(all_of_them, pools, source=CPU).percent == 20


def test_a_node_of_which_nobody_knows_what_it_can_give_is_not_measured() -> None:
    nodes = {"a": node(), "b": node(cores=0), "c": node(cores=0)}
    found = measure(reading({name: sample(50) for name in nodes}, nodes=nodes), ANYWHERE, source=CPU)
    assert (found.percent, found.counted, found.nodes) == (None, 1, 3)


def test_a_load_average_is_a_percentage_already() -> None:
    value = Sample(Fraction(310), at(0), sample(0).window)
    by_node = reading({"a": value}, nodes={"a": node(cores=0)})
    for_all = Reading(at(0), {}, {}, value)
    assert measure(by_node, ANYWHERE, source=LOAD).percent == 310
    assert measure(for_all, (), source=LOAD).percent == 310


# --- when spawning pauses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measures", "paused"),
    [
        pytest.param([measured(91), measured(91, read=10)], True, id="two in a row above"),
        pytest.param([measured(90 + LITTLE), measured(90 + LITTLE, read=10)], True, id="by very little"),
        pytest.param([measured(90), measured(91, read=10)], False, id="the first exactly at it"),
        pytest.param([measured(91), measured(90, read=10)], False, id="the second exactly at it"),
        pytest.param([measured(91)], False, id="one reading"),
        pytest.param([measured(91), measured(50, read=10), measured(91, read=20)], False, id="not in a row"),
        pytest.param(
            [measured(50), measured(91, read=10), measured(91, read=20)], True, id="the last two in a row"
        ),
        pytest.param([measured(91), measured(91, read=10, taken=0)], False, id="the same samples read twice"),
        pytest.param(
            [measured(91), measured(91, read=10, taken=0), measured(91, read=20)],
            True,
            id="one read twice, and another",
        ),
        pytest.param(
            [measured(91), measured(None, read=10), measured(91, read=20)], True, id="nothing in between"
        ),
        pytest.param(
            [measured(91, window=10), measured(91, read=29, window=10)], True, id="a gap that is bridged"
        ),
        pytest.param(
            [measured(91, window=10), measured(91, read=30, window=10)], False, id="a gap that is too long"
        ),
        pytest.param([measured(None), measured(None, read=10)], False, id="nothing is known"),
        pytest.param([], False, id="nothing was read"),
    ],
)
def test_spawning_pauses_after_so_many_readings_in_a_row_above_the_threshold(
    measures: list[Measure], paused: bool
) -> None:
    last = measures[-1].at if measures else at(0)
    assert judge(load(signal(*measures)), RULES, paused=None, now=last).paused is paused


@pytest.mark.parametrize(("samples", "paused"), [(1, True), (3, True), (4, False)])
def test_the_run_says_how_many_readings_it_takes(samples: int, paused: bool) -> None:
    three = [measured(99, read=10.0 * number) for number in range(3)]
    rules = rules_of(SpawningPause(samples=samples))
    assert judge(load(signal(*three)), rules, paused=None, now=at(20)).paused is paused


@pytest.mark.parametrize(
    ("percent", "paused"),
    [
        pytest.param(91, True, id="above the threshold"),
        pytest.param(86, True, id="between"),
        pytest.param(85, True, id="exactly the threshold less the margin"),
        pytest.param(85 - LITTLE, False, id="below it by very little"),
        pytest.param(0, False, id="idle"),
    ],
)
def test_spawning_goes_on_below_the_threshold_less_the_margin(percent: Fraction, paused: bool) -> None:
    verdict = judge(load(signal(measured(percent))), RULES, paused=BEFORE, now=at(0))
    assert (verdict.paused, verdict.known, verdict.unknown) == (paused, True, "")


@pytest.mark.parametrize(
    ("threshold", "margin", "percent", "paused"),
    [
        pytest.param(50, 0, 50, True, id="without a margin exactly at the threshold"),
        pytest.param(50, 0, 50 - LITTLE, False, id="without a margin just below"),
        pytest.param(4, 5, 1, True, id="a margin of more than all: exactly 1 %"),
        pytest.param(4, 5, 1 - LITTLE, False, id="a margin of more than all: below 1 %"),
    ],
)
def test_the_run_says_where_the_boundaries_are(
    threshold: int, margin: int, percent: Fraction, paused: bool
) -> None:
    rules = rules_of(SpawningPause(node_cpu_percent=threshold, resume_margin_percent=margin))
    assert judge(load(signal(measured(percent))), rules, paused=BEFORE, now=at(0)).paused is paused


@pytest.mark.parametrize(
    ("now", "paused"),
    [
        pytest.param(59.999999, True, id="held while three windows haven't passed since the last reading"),
        pytest.param(60, False, id="no say once exactly three windows have"),
    ],
)
def test_a_pause_outlives_its_last_reading_by_three_windows(now: float, paused: bool) -> None:
    lost = load(signal(measured(95), failure="gone"))
    verdict = judge(lost, RULES, paused=BEFORE, now=at(now))
    assert (verdict.paused, verdict.known) == (paused, paused)
    assert verdict.unknown == ("" if paused else "CPU use: gone.")


@pytest.mark.parametrize(("now", "paused"), [(89.999999, True), (90, False)])
def test_a_pause_from_before_the_operators_start_is_held_for_a_while(now: float, paused: bool) -> None:
    verdict = judge(load(signal(failure="gone"), since=0), RULES, paused=BEFORE, now=at(now))
    assert (verdict.paused, verdict.unknown) == (paused, "CPU use: gone.")


def test_a_source_that_was_never_known_does_not_hold_a_pause_that_began_without_it() -> None:
    never = load(signal(failure="gone"), of_load(measured(100)), since=-200)
    assert not judge(never, RULES, paused=BEFORE, now=at(0)).paused


def test_what_is_not_known_never_pauses() -> None:
    verdict = judge(load(signal(failure="gone"), since=0), RULES, paused=None, now=at(0))
    assert (verdict.paused, verdict.known) == (False, False)


@pytest.mark.parametrize(
    ("cpu", "average", "was_paused", "paused"),
    [
        pytest.param(50, 301, False, True, id="either pauses: the load average"),
        pytest.param(91, 50, False, True, id="either pauses: CPU use"),
        pytest.param(90, 300, False, False, id="both exactly at theirs"),
        pytest.param(84, 295, True, True, id="both must be low: the load average isn't"),
        pytest.param(85, 294, True, True, id="both must be low: CPU use isn't"),
        pytest.param(84, 294, True, False, id="both are low"),
    ],
)
def test_two_sources(cpu: int, average: int, was_paused: bool, paused: bool) -> None:
    both = [
        signal(measured(cpu), measured(cpu, read=10)),
        of_load(measured(average), measured(average, read=10)),
    ]
    assert judge(load(*both), RULES, paused=BEFORE if was_paused else None, now=at(10)).paused is paused


def test_a_source_without_a_say_keeps_nobody_paused() -> None:
    verdict = judge(load(signal(measured(10)), of_load(failure="away")), RULES, paused=BEFORE, now=at(0))
    assert (verdict.paused, verdict.known) == (False, True)
    assert verdict.unknown == "Load average for each CPU: away."


def test_where_nodes_may_not_be_read_the_other_source_still_acts() -> None:
    busy = load(of_load(measured(400), measured(400, read=10)), forbidden="not allowed")
    verdict = judge(busy, RULES, paused=None, now=at(10))
    assert (verdict.paused, verdict.forbidden, verdict.unknown) == (True, True, "not allowed.")


@pytest.mark.parametrize(
    ("spec", "config", "threshold"),
    [
        pytest.param(None, None, 300, id="built-in"),
        pytest.param(None, Decimal("250.5"), Fraction(501, 2), id="the ConfigMap's"),
        pytest.param(200, Decimal(250), 200, id="the run's own"),
    ],
)
def test_who_says_the_load_threshold(spec: int | None, config: Decimal | None, threshold: Fraction) -> None:
    rules = rules_of(SpawningPause(node_load_percent=spec), load_default=config)
    assert (rules.thresholds[LOAD], rules.thresholds[CPU]) == (threshold, Fraction(90))


# --- what people read ---------------------------------------------------------------------------------------


def test_the_text_says_how_many_nodes_how_old_and_that_it_is_a_mean() -> None:
    known = Measure(at(20), Fraction(1909, 20), 2, 3, at(8), sample(0).window)
    text = judge(load(Signal(CPU, (known,))), RULES, paused=BEFORE, now=at(20)).text
    assert text == (
        "CPU use: 95.5 %, the mean of 2 of 3 nodes, newest sample 12 s old;"
        " nothing starts above 90 %, again below 85 %."
    )


@pytest.mark.parametrize(
    ("of", "text"),
    [
        pytest.param(
            Signal(CPU, (Measure(at(0), None, 1, 3),)),
            "CPU use: 1 of 3 nodes have a fresh sample, at least half of them must.",
            id="too few are measured",
        ),
        pytest.param(
            Signal(CPU, (Measure(at(0), None, 0, 0),)),
            "CPU use: no node is ready that the profiles of the run's unfinished tasks allow.",
            id="there is none",
        ),
        pytest.param(Signal(CPU, (), "no answer"), "CPU use: no answer.", id="the look failed"),
    ],
)
def test_the_text_says_why_nothing_is_known(of: Signal, text: str) -> None:
    assert judge(load(of), RULES, paused=None, now=at(0)).unknown == text


def test_one_value_for_all_nodes_is_called_so() -> None:
    for_all = Measure(at(0), Fraction(400), 1, 0, at(0), sample(0).window)
    text = judge(load(Signal(LOAD, (for_all,))), RULES, paused=BEFORE, now=at(0)).text
    assert "400.0 %, one value for all nodes" in text
