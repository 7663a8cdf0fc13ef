"""The abandonment ledger under trouble: nothing waits for it, and in the end each task has its one row."""

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.faults import Action, BlackHole, Drop, refuse
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, condition
from tests.support.ledger import filler, rows, segments, wait_rows
from tests.support.operator import OperatorProcess
from tests.support.pods import set_pod_running, succeed, wait_pod
from tests.support.proxy import FaultProxy
from tests.support.tasks import wait_phase, wait_run

ABANDON = {"bernstein.run/abandon": "unsafe_change: would drop a table"}
FORBIDDEN = refuse(403, reason="Forbidden", message="configmaps is forbidden")
WRITES = frozenset({"create", "patch"})


def abandoned(kube: Kube, name: str = "t", *, run: str = "r") -> Manifest:
    return kube.create(make_task(name, run=run, annotations=ABANDON))


def wait_writable(kube: Kube, status: str, *, message: str = "") -> Manifest:
    return kube.wait_for(
        "bernsteinruns",
        "r",
        lambda found: (
            condition(found, "LedgerWritable").get("status") == status
            and message in condition(found, "LedgerWritable")["message"]
        ),
        timeout=60,
        what=f"LedgerWritable={status}",
    )


def test_tasks_abandoned_in_the_same_second_have_a_row_each(
    kube: Kube, proxy: FaultProxy, start_operator: StartOperator
) -> None:
    kube.create(make_run(suspend=True))
    tasks = [abandoned(kube, f"t{number}") for number in range(20)]
    start_operator()
    found = wait_rows(kube, tasks)
    assert found.keys() == {task["metadata"]["uid"] for task in tasks}
    writes = [one for one in proxy.records if one.resource == "configmaps" and one.verb in WRITES]
    assert len(writes) < len(tasks), "rows that come together are written together"
    kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: (
            run["status"].get("abandonments", {}).get("byReason")
            == [{"reason": "unsafe_change", "count": 20}]
        ),
        what="the count by reason",
    )
    assert not segments(kube)[0]["metadata"].get("ownerReferences"), "it outlives tasks and run"


@pytest.mark.parametrize(
    ("action", "verbs"),
    [
        pytest.param(FORBIDDEN, WRITES, id="writes are refused"),
        pytest.param(FORBIDDEN, None, id="it can't even be read"),
        pytest.param(BlackHole(), WRITES, id="writes are never answered"),
    ],
)
def test_an_unwritable_ledger_holds_nothing_up(
    kube: Kube,
    proxy: FaultProxy,
    start_operator: StartOperator,
    action: Action,
    verbs: frozenset[str] | None,
) -> None:
    kube.create(hand_profile())
    with proxy.fault(action, verbs=verbs, resource="configmaps"):
        start_operator()
        kube.create(make_run())
        kube.create(make_run("other"))
        task = kube.create(make_task())
        kube.create(make_task("b", depends_on=["t"]))
        kube.create(make_task("o", run="other"))
        pod = set_pod_running(kube, wait_pod(kube, "t"))
        wait_phase(kube, "t", "Running")
        kube.annotate("agenttasks", "t", abandon="unsafe_change: would drop a table")
        wait_phase(kube, "t", "Abandoned")
        wait_phase(kube, "b", "BlockedByAbandon")
        kube.wait_gone("pods", pod["metadata"]["name"])
        wait_run(kube, "r", "Failed")
        said = condition(wait_writable(kube, "False"), "LedgerWritable")
        assert said["reason"] == "LedgerWriteFailed"
        succeed(kube, set_pod_running(kube, wait_pod(kube, "o")))
        wait_run(kube, "other", "Succeeded")
        assert not rows(kube)
    wait_rows(kube, [task])
    wait_writable(kube, "True")
    assert [one for one in kube.events_of("r") if one.startswith("LedgerWriteFailed")]


def test_a_row_that_a_crash_prevented_is_written_by_the_next_operator(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(make_run(suspend=True))
    with proxy.fault(BlackHole(), verbs="create", resource="configmaps") as rule:
        task = abandoned(kube)
        kube.create(make_task("b", depends_on=["t"]))
        wait_phase(kube, "t", "Abandoned")
        kube.wait_for("agenttasks", "t", lambda _: rule.hits, what="the row on its way")
        operator.kill()
    assert not rows(kube)
    operator.start()
    wait_rows(kube, [task])
    wait_phase(kube, "b", "BlockedByAbandon")


@pytest.mark.parametrize("verb", ["create", "patch"])
def test_a_row_whose_answer_was_lost_is_not_written_twice(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess, verb: str
) -> None:
    kube.create(make_run(suspend=True))
    earlier = [abandoned(kube, "earlier")] if verb == "patch" else []
    if earlier:
        wait_rows(kube, earlier)
    with proxy.fault(Drop(forward=True), verbs=verb, resource="configmaps", count=1):
        task = abandoned(kube)
        first = wait_rows(kube, [*earlier, task])
    further = abandoned(kube, "further")
    assert wait_rows(kube, [further]).items() >= first.items()
    assert len(rows(kube)) == len(earlier) + 2


def test_a_row_that_somebody_changed_is_reported_and_left_so(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(suspend=True))
    uid = abandoned(kube)["metadata"]["uid"]
    kube.wait_for("agenttasks", "t", lambda _: uid in rows(kube), what="its row")
    kube.patch("configmaps", segments(kube)[0]["metadata"]["name"], {"data": {uid: "{}"}})
    further = abandoned(kube, "further")
    assert wait_rows(kube, [further])[uid] == "{}"
    wait_writable(kube, "True", message=uid)
    assert [one for one in operator.log_entries() if one.get("task_uid") == uid]


def test_rows_of_a_deleted_segment_are_written_again_for_tasks_that_exist(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(suspend=True))
    kept, gone = abandoned(kube, "kept"), abandoned(kube, "gone")
    wait_rows(kube, [kept, gone])
    kube.delete("agenttasks", "gone")
    kube.delete("configmaps", segments(kube)[0]["metadata"]["name"])
    further = abandoned(kube, "further")
    found = wait_rows(kube, [kept, further])
    assert gone["metadata"]["uid"] not in found


def test_a_name_that_somebody_else_has_is_left_alone(kube: Kube, operator: OperatorProcess) -> None:
    run = kube.create(make_run(suspend=True))
    name = filler(run, total=1000)["metadata"]["name"]
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}
    kube.create(theirs)
    wait_rows(kube, [abandoned(kube)])
    assert kube.get("configmaps", name)["data"] == {"a": "b"}
    assert [one["metadata"]["name"] for one in segments(kube)] == [f"{name}-2"]
