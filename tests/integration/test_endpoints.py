"""The operator's own endpoints: when it says that it is alive and ready, and what it shows of its work."""

import re
from urllib.error import HTTPError

import pytest

from tests.support.builders import inline_task, kwok_profile, make_run
from tests.support.faults import BlackHole, Drop, Rule
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, eventually
from tests.support.operator import OperatorProcess
from tests.support.proxy import FaultProxy
from tests.support.tasks import wait_run

DOCUMENTED = frozenset(
    {
        "bernstein_build_info",
        "bernstein_agents_live",
        "bernstein_agenttasks",
        "bernstein_tasks_finished_total",
        "bernstein_abandonments_total",
        "bernstein_attempts_total",
        "bernstein_usage_reports_total",
        "bernstein_cost_usd_total",
        "bernstein_tokens_total",
        "bernstein_operator_reconcile_total",
        "bernstein_operator_reconcile_time_seconds",
        "bernstein_slot_refill_seconds",
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_retries_total",
        "workqueue_queue_duration_seconds",
        "leader_election_master_status",
        "rest_client_requests_total",
        "rest_client_request_duration_seconds",
    }
)


def answer(operator: OperatorProcess, path: str) -> tuple[int, str]:
    """Return status and text of an endpoint, whatever the status is."""
    try:
        return operator.http(path)
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("resource", ["pods", "agenttasks"])
def test_it_is_alive_but_not_ready_before_its_lists_are_complete(
    proxy: FaultProxy, start_operator: StartOperator, resource: str
) -> None:
    held = proxy.add(Rule(action=BlackHole(), verbs="list", resource=resource))
    operator = start_operator(wait=False)
    eventually(lambda: operator.port, what="that it listens")
    eventually(lambda: held.hits, what="that the list is asked for")
    assert answer(operator, "/healthz") == (200, "ok")
    status, text = answer(operator, "/readyz")
    assert status == 503
    assert text != "ok"
    proxy.remove(held)
    operator.wait_ready()
    assert answer(operator, "/readyz") == (200, "ok")


def test_a_lost_watch_lowers_readiness_until_it_stands_again(
    proxy: FaultProxy, operator: OperatorProcess
) -> None:
    lost = proxy.add(Rule(action=Drop(), verbs=frozenset({"watch", "list"}), resource="pods"))
    proxy.cut_watches("pods")
    eventually(lambda: answer(operator, "/readyz")[0] == 503, what="that it is not ready")
    assert answer(operator, "/healthz")[0] == 200
    proxy.remove(lost)
    operator.wait_ready()


def test_metrics_show_the_documented_names_and_what_was_done(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    bad = inline_task("bad", role="kwok-fail", retry={"limit": 0})
    kube.create(make_run(tasks=[inline_task("good", role="qa"), bad]))
    wait_run(kube, "r", "Failed")
    status, text = answer(operator, "/metrics")
    assert status == 200
    families = set(re.findall(r"^# TYPE (\S+) ", text, flags=re.MULTILINE))
    assert families >= DOCUMENTED
    assert re.search(r"^bernstein_agents_live 0(\.0)?$", text, flags=re.MULTILINE)
    for series in (
        'bernstein_attempts_total{adapter="script",result_class="success"} 1.0',
        'bernstein_attempts_total{adapter="script",result_class="agent"} 1.0',
        'bernstein_tasks_finished_total{adapter="script",phase="Succeeded",role="qa"} 1.0',
        'bernstein_agenttasks{phase="Failed"} 1.0',
        'bernstein_agenttasks{phase="Succeeded"} 1.0',
    ):
        assert series in text
    assert re.search(r"^bernstein_slot_refill_seconds_count 2(\.0)?$", text, flags=re.MULTILINE)
