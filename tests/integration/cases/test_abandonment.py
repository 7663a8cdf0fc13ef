"""ABND-1 and ABND-3: the ledger never fills up, and what was given up stays so, with one row."""

import json

import pytest

from bernstein_operator.api.names import ANNOTATION_NEXT_SEGMENT
from bernstein_operator.decisions.ledger import SEGMENT_LIMIT
from tests.support.builders import hand_profile, make_run, make_task
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest
from tests.support.ledger import filler, rows, segments, size, wait_rows
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, make_result, pods_of, set_pod_running, succeed, wait_pod
from tests.support.tasks import holds_for, wait_phase


def abandoned_tasks(kube: Kube, *names: str) -> list[Manifest]:
    """Make tasks that people have given up before anybody looked."""
    abandon = {"bernstein.run/abandon": "out_of_scope: needs a product decision"}
    return [kube.create(make_task(name, annotations=abandon)) for name in names]


@pytest.mark.parametrize(
    ("total", "seen_first"),
    [
        pytest.param(1_048_000, False, id="nearly full at the start"),
        pytest.param(1_048_000, True, id="nearly full, and not by this operator"),
        pytest.param(SEGMENT_LIMIT, False, id="at exactly 900 KiB"),
    ],
)
def test_abnd_1_a_full_segment_is_sealed_and_the_next_one_opened(
    kube: Kube, start_operator: StartOperator, total: int, seen_first: bool
) -> None:
    run = kube.create(make_run(suspend=True))
    if seen_first:
        start_operator()
    full = kube.create(filler(run, total=total))
    assert size(full["data"]) == total
    if not seen_first:
        start_operator()

    one = abandoned_tasks(kube, "t")
    wait_rows(kube, one)
    further = abandoned_tasks(kube, *(f"t{number}" for number in range(50)))
    found = wait_rows(kube, [*one, *further])

    assert len(found) == len(full["data"]) + 51
    assert found.items() >= full["data"].items(), "none is trimmed"
    first, second = (
        kube.wait_for(
            "configmaps", full["metadata"]["name"], lambda one: one.get("immutable"), what="sealed"
        ),
        segments(kube)[1],
    )
    assert first["metadata"]["annotations"][ANNOTATION_NEXT_SEGMENT] == second["metadata"]["name"]
    assert size(second["data"]) <= SEGMENT_LIMIT
    assert "immutable" not in second
    counted = kube.wait_for(
        "bernsteinruns",
        "r",
        lambda found: found["status"].get("abandonments", {}).get("total") == len(full["data"]) + 51,
        what="the count of all rows",
    )
    assert counted["status"]["abandonments"]["ledger"] == first["metadata"]["name"]


def test_abnd_3_an_abandoned_task_stays_so_and_has_one_row(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    task = kube.create(make_task(role="qa"))
    pod = wait_pod(kube, "t")
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    wait_phase(kube, "t", "Running")
    kube.annotate("agenttasks", "t", abandon="blocked_by_external: waits for a key")
    wait_phase(kube, "t", "Abandoned")
    first = wait_rows(kube, [task])
    assert (
        json.loads(first[task["metadata"]["uid"]]).items()
        >= {
            "task_id": "t",
            "role": "qa",
            "reason": "blocked_by_external",
            "detail": "waits for a key",
            "adapter": "script",
            "attempts": 1,
            "run": "r",
            "namespace": kube.namespace,
        }.items()
    )

    for number in range(10):
        kube.annotate("agenttasks", "t", abandon=f"out_of_scope: {number}", note=str(number))
    operator.restart()
    end_pod(kube, pod, result=make_result(pod, cost_usd="0.50"))
    kube.patch("agenttasks", "t", {"spec": {"priority": 1}})
    kube.wait_for(
        "agenttasks",
        "t",
        lambda found: found["status"].get("usage", {}).get("costUsd") == "0.50",
        what="spent",
    )
    holds_for(2, lambda: rows(kube) == first, what="the one row, byte for byte")
    assert wait_phase(kube, "t", "Abandoned")["status"]["abandonment"]["reason"] == "blocked_by_external"
    assert len(pods_of(kube, "t")) == 1

    kube.delete("agenttasks", "t")
    kube.wait_gone("agenttasks", "t")
    operator.restart(kill=True)
    holds_for(2, lambda: rows(kube) == first, what="the row of the deleted task")


def test_abnd_3_what_an_agent_gives_up_has_its_row(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    task = kube.create(make_task())
    pod = wait_pod(kube, "t")
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    result = make_result(pod, result_class="abandoned", reason="Abandoned", cost_usd="0.25")
    end_pod(kube, pod, result=result)
    first = wait_rows(kube, [task])
    row = json.loads(first[task["metadata"]["uid"]])
    assert row.items() >= {"attempts": 1, "cost_to_date_usd": "0.25", "reason": "other"}.items()
    succeed(kube, pod)
    holds_for(2, lambda: rows(kube) == first, what="the one row")
