"""What busy nodes do to a run: a pause in its status, conditions and events, and the ceiling afterwards."""

from decimal import Decimal
from typing import Any

import pytest

from bernstein_operator.api.load import LoadSource, Measure, NodeLoad
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.builders.run_notices import run_notices
from bernstein_operator.decisions.pausing import is_news
from bernstein_operator.decisions.plan import RunDecision
from bernstein_operator.decisions.run import decide_run
from tests.unit.load import load, measured, signal
from tests.unit.objects import at, raw_run, reasons, run, run_snapshot

WORK: dict[str, Any] = {"phases": {TaskPhase.RUNNING: 1, TaskPhase.PENDING: 3}, "live": 1, "waiting": 3}
TEXT = (
    "CPU use: 95.0 %, the mean of 1 of 1 nodes, newest sample 0 s old;"
    " nothing starts above 90 %, again below 85 %."
)


def cpu(percent: float, *, read: float) -> NodeLoad:
    """Return what two readings in a row say."""
    return load(signal(measured(percent, read=read - 10), measured(percent, read=read)))


GONE = load(signal(failure="gone"))


class Life:
    """A run that is decided again and again, each time from what was stored before."""

    def __init__(self, **spec: Any) -> None:
        self.spec = {"max_agents": 4, **spec}
        self.run = run(**self.spec)

    def decide(self, known: NodeLoad | None, *, now: float, **facts: Any) -> RunDecision:
        decision = decide_run(run_snapshot(self.run, load=known, **{**WORK, **facts}), now=at(now))
        self.run = RunObject.parse(raw_run(status=decision.status.manifest(), **self.spec))
        return decision

    @property
    def concurrency(self) -> dict[str, Any]:
        assert self.run.status.concurrency
        return self.run.status.concurrency.model_dump(exclude_defaults=True)

    @property
    def conditions(self) -> dict[str, tuple[str, str]]:
        shown = ("SpawningPaused", "NodeMetricsAvailable", "Reconciling")
        return {kind: said for kind, said in reasons(self.run.status.conditions).items() if kind in shown}

    @property
    def events(self) -> dict[str, Any]:
        return {str(one.reason): one.at for one in run_notices(self.run) if one.reason != "RunStarted"}


def test_a_run_on_busy_nodes_starts_nothing_and_says_why() -> None:
    life = Life()
    decision = life.decide(cpu(95, read=20), now=20)
    assert (decision.free, decision.urgent, decision.status.phase) == (0, True, "Running")
    assert life.concurrency == {
        "configured": 4,
        "live": 1,
        "paused_since": at(20),
        "held_before_pause": 4,
        "reason": "SpawningPaused",
        "message": TEXT,
    }
    paused = ("True", "SpawningPaused")
    assert life.conditions == {"SpawningPaused": paused, "Reconciling": paused}
    assert life.events == {"SpawningPaused": at(20)}


def test_a_pause_is_written_once_however_the_load_moves() -> None:
    life = Life()
    life.decide(cpu(95, read=20), now=20)
    before = life.run.status
    for second, percent in ((30, 99), (40, 86), (50, 85)):
        assert life.decide(cpu(percent, read=second), now=second).status == before


def test_spawning_goes_on_under_the_ceiling_that_there_was() -> None:
    life = Life()
    life.decide(cpu(95, read=20), now=20)
    decision = life.decide(cpu(84, read=30), now=30)
    assert (decision.free, decision.urgent) == (3, True)
    assert life.concurrency == {"configured": 4, "effective": 4, "live": 1, "resumed_time": at(30)}
    assert life.conditions["SpawningPaused"] == ("False", "NodesIdle")
    assert life.events == {"SpawningResumed": at(30)}
    stored = life.run.status
    assert life.decide(cpu(20, read=40), now=40).status == stored, "and nothing more is written"


def test_a_second_pause_is_another_one() -> None:
    life = Life()
    for second, percent in ((20, 95), (30, 50), (50, 95)):
        life.decide(cpu(percent, read=second), now=second)
    assert life.concurrency["paused_since"] == at(50)
    assert life.events == {"SpawningPaused": at(50)}


def test_a_pause_is_known_before_it_is_stored() -> None:
    """A write that is put off must not move the moment in which the pause began."""
    first = decide_run(run_snapshot(run(), load=cpu(95, read=20), **WORK), now=at(20)).status.concurrency
    again = run_snapshot(run(), load=cpu(86, read=30), ceiling=first, **WORK)
    assert decide_run(again, now=at(30)).status.concurrency == first


def test_a_pause_of_which_nothing_can_be_said_stays() -> None:
    life = Life()
    life.decide(cpu(95, read=20), now=20)
    before = life.run.status
    assert life.decide(None, now=1000).status == before


def test_without_metrics_the_pause_ends_and_the_run_says_so() -> None:
    life = Life()
    life.decide(cpu(95, read=20), now=20)
    lost = load(signal(measured(95, read=10), measured(95, read=20), failure="gone"))
    assert life.decide(lost, now=79.9).free == 0
    assert life.decide(lost, now=80).free == 3
    unknown = ("False", "MetricsUnavailable")
    assert life.conditions["SpawningPaused"] == life.conditions["NodeMetricsAvailable"] == unknown
    assert life.events == {"SpawningResumed": at(80), "NodeMetricsUnavailable": at(80)}


def test_missing_metrics_are_told_once_and_that_they_are_back() -> None:
    life = Life()
    decision = life.decide(GONE, now=0)
    assert (decision.free, decision.urgent) == (3, True)
    assert life.conditions["NodeMetricsAvailable"] == ("False", "MetricsUnavailable")
    assert life.events == {"NodeMetricsUnavailable": at(0)}
    before = life.run.status
    assert life.decide(GONE, now=10).status == before
    life.decide(cpu(20, read=20), now=20)
    assert life.conditions["NodeMetricsAvailable"] == ("True", "MetricsAvailable")
    assert life.events == {}


def test_a_run_on_idle_nodes_says_nothing_of_them() -> None:
    life = Life()
    life.decide(cpu(20, read=10), now=10)
    assert set(life.conditions) == {"Reconciling"}
    assert life.concurrency == {"configured": 4, "effective": 4, "live": 1}


def test_how_the_operator_was_installed_is_a_condition_and_no_event() -> None:
    life = Life()
    decision = life.decide(load(forbidden="It may not"), now=0)
    assert decision.free == 3
    assert life.conditions["NodeMetricsAvailable"] == ("False", "NodesOutOfReach")
    assert life.events == {}


def test_a_run_that_has_ended_tells_nothing_of_nodes_any_more() -> None:
    life = Life()
    life.decide(cpu(95, read=20), now=20)
    over = {"phases": {TaskPhase.SUCCEEDED: 4}, "live": 0, "waiting": 0}
    assert life.decide(cpu(95, read=30), now=30, **over).status.phase == "Succeeded"
    assert life.conditions == {}


@pytest.mark.parametrize(
    ("spec", "readings", "paused"),
    [
        pytest.param({"nodeCpuPercent": 50}, [measured(51), measured(51, read=10)], True, id="threshold"),
        pytest.param({"samples": 1}, [measured(91)], True, id="samples"),
        pytest.param({"samples": 3}, [measured(91), measured(91, read=10)], False, id="more samples"),
    ],
)
def test_the_spec_says_when(spec: dict[str, int], readings: list[Measure], paused: bool) -> None:
    life = Life(concurrency={"maxAgents": 4, "pause": spec}, max_agents=None)
    life.decide(load(signal(*readings)), now=10)
    assert ("SpawningPaused" in life.conditions) is paused


@pytest.mark.parametrize(
    ("config", "spec", "paused"),
    [
        pytest.param(RunConfig(cpu_pause_threshold=Decimal("249.5")), {}, True, id="the ConfigMap's"),
        pytest.param(RunConfig(cpu_pause_threshold=Decimal(250)), {}, False, id="exactly the ConfigMap's"),
        pytest.param(
            RunConfig(cpu_pause_threshold=Decimal(100)), {"nodeLoadPercent": 300}, False, id="the run's own"
        ),
        pytest.param(RunConfig(), {"nodeLoadPercent": 200}, True, id="only the run's own"),
        pytest.param(None, {}, False, id="one that wasn't read yet"),
    ],
)
def test_the_configmap_says_above_which_load_average(
    config: RunConfig | None, spec: dict[str, int], paused: bool
) -> None:
    twice = signal(measured(250), measured(250, read=10), source=LoadSource.LOAD)
    life = Life(concurrency={"maxAgents": 4, "pause": spec}, max_agents=None)
    life.decide(load(twice), now=10, config=config)
    assert ("SpawningPaused" in life.conditions) is paused


@pytest.mark.parametrize(("margin", "phase"), [(0, "False"), (5, "True")])
def test_the_spec_says_how_far_below(margin: int, phase: str) -> None:
    life = Life(concurrency={"maxAgents": 4, "pause": {"resumeMarginPercent": margin}}, max_agents=None)
    life.decide(cpu(95, read=20), now=20)
    life.decide(cpu(86, read=30), now=30)
    assert life.conditions["SpawningPaused"][0] == phase


@pytest.mark.parametrize(
    ("stored", "now", "news"),
    [
        pytest.param(None, cpu(20, read=20), False, id="idle as before"),
        pytest.param(None, cpu(95, read=20), True, id="busy now"),
        pytest.param(None, GONE, True, id="not known any more"),
        pytest.param(cpu(95, read=10), cpu(95, read=20), False, id="busy as before"),
        pytest.param(cpu(95, read=10), cpu(50, read=20), True, id="idle again"),
        pytest.param(GONE, GONE, False, id="not known as before"),
        pytest.param(GONE, cpu(20, read=20), True, id="known again"),
        pytest.param(GONE, load(signal(failure="slow")), True, id="not known for another reason"),
    ],
)
def test_a_look_is_news_where_it_changes_what_is_stored(
    stored: NodeLoad | None, now: NodeLoad, news: bool
) -> None:
    life = Life()
    life.decide(stored, now=10)
    assert is_news(run_snapshot(life.run, load=now), now=at(20)) is news
