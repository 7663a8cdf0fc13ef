"""The loop carries decisions out, and each of the API server's answers leads on."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from bernstein_operator.api.snapshot import Refusal
from bernstein_operator.api.vocabulary import AdmittedReason
from bernstein_operator.decisions.plan import CreatePod, DeletePod
from bernstein_operator.kube.errors import UnavailableError
from tests.unit.control.cluster import CONFIG_MAPS, PODS, ROOT, Cluster, operating
from tests.unit.objects import (
    RUN_UID,
    Raw,
    attempt,
    name_of_pod,
    owned_by,
    pod,
    raw_run,
    raw_task,
    running,
    status,
    task,
)

UNSEEN = {"phase": "Pending", "observedGeneration": -1}
NODE = "/api/v1/nodes/node-1"
POD = name_of_pod()
QUOTA = "pods is forbidden: exceeded quota: q"


def plain_run(**spec: Any) -> Raw:
    return raw_run(max_agents=2, status=UNSEEN, **spec)


def plain_task() -> Raw:
    return raw_task(status=UNSEEN)


def task_status(cluster: Cluster) -> Raw:
    found: Raw = cluster.objects[f"{ROOT}/agenttasks/t"]["status"]
    return found


def waits_for(cluster: Cluster) -> str | None:
    conditions = task_status(cluster).get("conditions", [])
    return next((one["reason"] for one in conditions if one["type"] == "Admitted"), None)


async def test_the_intent_is_stored_before_the_pod_is_asked_for() -> None:
    async with operating(plain_run(), plain_task()) as cluster:
        await cluster.until(lambda: cluster.created(PODS))
        asked = [(one.method, one.path) for one in cluster.asked if "bernsteinruns" not in one.path]
    assert asked == [("PATCH", f"{ROOT}/agenttasks/t/status"), ("POST", PODS)]
    assert task_status(cluster)["attempts"][0]["podName"] == POD


async def test_a_refused_pod_uses_up_no_attempt_and_says_why() -> None:
    async with operating(plain_run(), plain_task()) as cluster:
        cluster.refuse(PODS, 403, QUOTA)
        await cluster.until(lambda: waits_for(cluster) == "QuotaExceeded")
        assert (task_status(cluster)["attempt"], task_status(cluster)["attempts"]) == (0, [])
        assert cluster.created(PODS) == [POD], "and it isn't asked for again at once"


async def test_a_task_says_that_a_webhook_keeps_its_pod_back() -> None:
    said = 'Internal error occurred: failed calling webhook "w.example": failed to call webhook: refused'
    async with operating(plain_run(), plain_task()) as cluster:
        cluster.refuse(PODS, 500, said, reason="InternalError")
        await cluster.until(lambda: waits_for(cluster) == "PodForbidden")
        assert task_status(cluster)["attempt"] == 0, "it holds no slot meanwhile"


async def test_a_pod_of_our_own_that_is_there_already_is_taken_over() -> None:
    async with operating(plain_run(), plain_task()) as cluster:
        ours = {
            "name": POD,
            "uid": "p",
            "resourceVersion": "50",
            "ownerReferences": owned_by("AgentTask", "t", "t-uid"),
        }
        cluster.objects[f"{PODS}/{POD}"] = {"metadata": ours, "status": {"phase": "Pending"}}
        await cluster.until(lambda: any(one.method == "GET" for one in cluster.asked))
    assert task_status(cluster)["attempt"] == 1
    assert "endTime" not in task_status(cluster)["attempts"][0]


@pytest.mark.parametrize(
    ("run", "of_task"),
    [
        pytest.param({"cancel": "true"}, {}, id="of its run"),
        pytest.param({}, {"metadata": {"annotations": {"bernstein.run/cancel": "true"}}}, id="its own"),
    ],
)
async def test_no_pod_is_asked_for_once_a_cancel_was_seen(run: Raw, of_task: Raw) -> None:
    async with operating(plain_run(), plain_task()) as cluster:
        cluster.refuse(PODS, 403, QUOTA)
        await cluster.until(lambda: waits_for(cluster) == "QuotaExceeded")
        decided = task(status=status(attempt()))
        cluster.writer.world.put_run(raw_run(version=900, **run))
        cluster.writer.world.put_task(raw_task(version=900, status=UNSEEN, **of_task))
        await cluster.writer.act(decided, CreatePod())
        assert cluster.created(PODS) == [POD], "only the one that was refused"


async def test_somebody_elses_pod_is_left_alone() -> None:
    async with operating(plain_run(), plain_task()) as cluster:
        cluster.objects[f"{PODS}/{POD}"] = {"metadata": {"name": POD, "uid": "p", "resourceVersion": "50"}}
        await cluster.until(lambda: waits_for(cluster) == "PodNameConflict")
    assert {one.method for one in cluster.asked if one.path.startswith(PODS)} == {"POST", "GET"}


def envelope_left(cluster: Cluster, *, owner: str = "t-uid", **envelope: Any) -> Raw:
    """Put a ConfigMap in the place of the first attempt's."""
    metadata = {"name": POD, "uid": "c", "ownerReferences": owned_by("AgentTask", "t", owner)}
    left = {"metadata": metadata, "data": {"envelope.json": json.dumps(envelope)}}
    cluster.objects[f"{CONFIG_MAPS}/{POD}"] = left
    return left


def large_task() -> Raw:
    return raw_task(status=UNSEEN, prompt="x" * 40_000)


async def test_an_envelope_that_was_left_by_a_refused_pod_is_replaced() -> None:
    async with operating(plain_run(), large_task()) as cluster:
        envelope_left(cluster, deadline="2020-01-01T00:00:00Z")
        await cluster.until(lambda: f"{PODS}/{POD}" in cluster.objects)
    data = cluster.objects[f"{CONFIG_MAPS}/{POD}"]["data"]["envelope.json"]
    [intent] = task_status(cluster)["attempts"]
    assert json.loads(data)["deadline"] > intent["intentTime"]
    [removal] = [one for one in cluster.asked if one.method == "DELETE"]
    assert (removal.path, removal.body) == (f"{CONFIG_MAPS}/{POD}", {"preconditions": {"uid": "c"}})


async def test_an_envelope_that_was_made_before_a_crash_is_kept() -> None:
    async with operating(plain_run(), large_task()) as cluster:
        cluster.refuse(PODS, 503, "overloaded", reason="")
        await cluster.until(lambda: f"{PODS}/{POD}" in cluster.objects)
    assert cluster.created(CONFIG_MAPS) == [POD, POD]
    assert "DELETE" not in {one.method for one in cluster.asked}


async def test_somebody_elses_config_map_is_left_alone() -> None:
    async with operating(plain_run(), large_task()) as cluster:
        left = envelope_left(cluster, owner="another-uid")
        await cluster.until(lambda: waits_for(cluster) == "PodNameConflict")
        assert cluster.objects[f"{CONFIG_MAPS}/{POD}"] is left
    assert cluster.created(PODS) == []


async def test_a_pod_that_can_never_be_fails_the_task() -> None:
    async with operating(plain_run(), plain_task()) as cluster:
        cluster.refuse(PODS, 422, "spec.containers[0].image: Required value", reason="Invalid")
        await cluster.until(lambda: task_status(cluster)["phase"] == "Failed")
    assert task_status(cluster)["attempts"][0]["reason"] == "PodRefused"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param(503, "overloaded", id="the server is not available"),
        pytest.param(
            403, 'error looking up service account ns/default: "default" not found', id="a fresh namespace"
        ),
        pytest.param(409, "Operation cannot be fulfilled on resourcequotas", id="a busy quota"),
    ],
)
async def test_a_passing_trouble_is_only_tried_again(status: int, message: str) -> None:
    async with operating(plain_run(), plain_task()) as cluster:
        cluster.refuse(PODS, status, message, reason="")
        await cluster.until(lambda: f"{PODS}/{POD}" in cluster.objects)
    assert cluster.created(PODS) == [POD, POD]
    assert task_status(cluster)["attempt"] == 1


async def test_a_run_does_not_end_while_a_watch_lags_behind_its_tasks() -> None:
    done = raw_task("done", status={"phase": "Succeeded", "observedGeneration": 1})
    late = raw_task("late", status=UNSEEN)
    async with operating(plain_run(), done, missed=[late]) as cluster:
        await cluster.until(lambda: cluster.created(PODS))
        phases = {asked.body["status"].get("phase") for asked in cluster.asked if "runs/r" in asked.path}
    assert cluster.created(PODS) == [name_of_pod(task="late")]
    assert "Succeeded" not in phases


async def test_a_refused_inline_task_is_told_of_and_tried_again() -> None:
    run, tasks = f"{ROOT}/bernsteinruns/r", f"{ROOT}/agenttasks"
    entries = [{"name": "a", "prompt": "p"}, {"name": "b", "prompt": "p"}]
    async with operating(plain_run(tasks=entries)) as cluster:
        for _ in range(3):
            cluster.refuse(tasks, 403, "no more tasks")
        await cluster.until(lambda: len(cluster.objects[run]["status"].get("createdTasks", ())) == 2)
    assert {f"{tasks}/r-a", f"{tasks}/r-b"} <= set(cluster.objects)
    assert "TaskCreationRefused" in {
        condition["reason"]
        for asked in cluster.asked
        if asked.path == f"{run}/status"
        for condition in asked.body["status"].get("conditions", ())
    }


async def test_refused_inline_tasks_are_not_asked_for_at_every_look_at_their_run() -> None:
    tasks = f"{ROOT}/agenttasks"
    async with operating(plain_run(tasks=[{"name": "a", "prompt": "p"}])) as cluster:
        for _ in range(50):
            cluster.refuse(tasks, 403, "no more tasks")
        await cluster.until(lambda: cluster.created(tasks))
        for number in range(20):
            cluster.writer.world.put_task(raw_task(f"n{number}", status={"phase": "Succeeded"}))
            await asyncio.sleep(0.01)
    assert len(cluster.created(tasks)) == 1


async def test_a_run_in_which_nothing_waits_leaves_the_next_try_to_others() -> None:
    async with operating(plain_run()) as cluster:
        for name in ("x", "y"):
            refusal = Refusal(AdmittedReason.QUOTA_EXCEEDED, QUOTA)
            cluster.holds.refused(("ns", name), f"{name}-uid", refusal)
        cluster.holds.freed("ns")
        run = f"{ROOT}/bernsteinruns/r"
        await cluster.until(lambda: cluster.objects[run]["status"]["observedGeneration"] == 1)
        assert cluster.holds.allowance("ns", 1)[0] == 1


@pytest.mark.parametrize(
    ("force", "grace"),
    [
        pytest.param(False, {}, id="as the Pod itself says, also if it has found a node by now"),
        pytest.param(True, {"gracePeriodSeconds": 0}, id="by force"),
    ],
)
async def test_how_a_pod_without_a_node_is_removed(force: bool, grace: Raw) -> None:
    unscheduled = pod(node="")
    async with operating(plain_run()) as cluster:
        cluster.objects[f"{PODS}/{POD}"] = msgspec.to_builtins(unscheduled)
        await cluster.writer.act(task(), DeletePod(unscheduled, force=force))
    (asked,) = [one for one in cluster.asked if one.method == "DELETE"]
    assert asked.body == {"preconditions": {"uid": unscheduled.metadata.uid}, **grace}


def node(ready: str | None) -> Raw:
    conditions = [{"type": "DiskPressure", "status": "False"}]
    return {"status": {"conditions": [*conditions, *([{"type": "Ready", "status": ready}] if ready else [])]}}


@pytest.mark.parametrize(
    ("found", "forced"),
    [
        pytest.param(node("True"), False, id="Ready"),
        pytest.param(node("False"), True, id="not Ready"),
        pytest.param(node("Unknown"), True, id="not heard of for a while"),
        pytest.param(node(None), True, id="it has never said"),
        pytest.param(None, True, id="missing"),
        pytest.param((403, {"reason": "Forbidden"}), True, id="not to be read by the operator"),
    ],
)
async def test_a_pod_is_removed_by_force_only_where_its_node_is_lost(found: Any, forced: bool) -> None:
    ending = pod(phase="Running", agent=running(), deleted=30)
    async with operating(plain_run(), plain_task()) as cluster:
        if isinstance(found, tuple):
            cluster.denials[NODE] = found
        elif found:
            cluster.objects[NODE] = found
        cluster.objects[f"{PODS}/{POD}"] = msgspec.to_builtins(ending)
        cluster.writer.world.seen(ending)
        await cluster.writer.act(task(), DeletePod(ending, force=True))
        [sighting] = cluster.writer.world.task_snapshot(("ns", "t"), refusal=None).sightings  # type: ignore[union-attr]
    assert NODE in [one.path for one in cluster.asked]
    assert any(one.method == "DELETE" for one in cluster.asked) is forced
    assert (sighting.left_until is None) is forced


async def test_a_node_that_can_not_be_asked_is_asked_again() -> None:
    ending = pod(phase="Running", agent=running(), deleted=30)
    async with operating(plain_run()) as cluster:
        cluster.denials[NODE] = (503, {})
        with pytest.raises(UnavailableError):
            await cluster.writer.act(task(), DeletePod(ending, force=True))
    assert not any(one.method == "DELETE" for one in cluster.asked)


async def test_inline_tasks_that_were_made_are_remembered_though_others_could_not_be() -> None:
    run, tasks = f"{ROOT}/bernsteinruns/r", f"{ROOT}/agenttasks"
    entries = [{"name": name, "prompt": "p"} for name in ("a", "b", "c")]
    async with operating(plain_run(tasks=entries)) as cluster:
        for _ in range(2):
            cluster.refuse(tasks, 503, "overloaded", reason="", name="r-b")
        await cluster.until(lambda: len(cluster.objects[run]["status"].get("createdTasks", ())) == 3)
    remembered = [
        asked.body["status"]["createdTasks"]
        for asked in cluster.asked
        if asked.path == f"{run}/status" and "createdTasks" in asked.body["status"]
    ]
    assert remembered == [["a"], ["a", "b", "c"]]
    assert cluster.created(tasks) == ["r-a", "r-b", "r-b", "r-b", "r-c"]


async def test_inline_tasks_that_were_made_before_a_crash_are_only_remembered() -> None:
    entries = [{"name": name, "prompt": "p"} for name in ("a", "b")]
    made = raw_task("r-a", owner=RUN_UID, status=UNSEEN)
    async with operating(plain_run(tasks=entries), made) as cluster:
        run = f"{ROOT}/bernsteinruns/r"
        await cluster.until(lambda: cluster.objects[run]["status"].get("createdTasks") == ["a", "b"])
    assert cluster.created(f"{ROOT}/agenttasks") == ["r-b"]


async def test_a_refusal_is_told_for_as_long_as_the_next_try_is_awaited() -> None:
    run, tasks = f"{ROOT}/bernsteinruns/r", f"{ROOT}/agenttasks"
    entries = [{"name": name, "prompt": "p"} for name in ("a", "b")]
    async with operating(plain_run(tasks=entries)) as cluster:
        for _ in range(2):
            cluster.refuse(tasks, 403, "no more tasks", name="r-a")
        await cluster.until(lambda: cluster.created(tasks).count("r-a") == 2)
        told = [
            condition["reason"]
            for asked in cluster.asked
            if asked.path == f"{run}/status"
            for condition in asked.body["status"].get("conditions", ())
        ]
    first = told.index("TaskCreationRefused")
    assert set(told[first:]) == {"TaskCreationRefused"}


def waits_behind() -> Raw:
    return raw_task("b", status=UNSEEN, dependsOn=["t"])


def given_up() -> Raw:
    return raw_task(status=UNSEEN, metadata={"annotations": {"bernstein.run/abandon": "out_of_scope"}})


def blocked(cluster: Cluster) -> bool:
    return bool(cluster.objects[f"{ROOT}/agenttasks/b"]["status"]["phase"] == "BlockedByAbandon")


def told_of_ledger(status: Raw) -> tuple[str, str] | None:
    said = (one for one in status.get("conditions", []) if one["type"] == "LedgerWritable")
    return next(((one["status"], one["reason"]) for one in said), None)


def turn(cluster: Cluster, path: str, *, phase: str | None = None) -> int:
    """Return which of all requests was the first write to ``path``, of a status that says ``phase``."""
    return next(
        number
        for number, one in enumerate(cluster.asked)
        if one.path == path and one.method != "GET" and one.body.get("status", {}).get("phase") == phase
    )


async def test_an_abandonment_is_stored_then_written_down_and_then_followed() -> None:
    async with operating(plain_run(), given_up(), waits_behind()) as cluster:
        await cluster.until(lambda: blocked(cluster))
    stored = turn(cluster, f"{ROOT}/agenttasks/t/status", phase="Abandoned")
    followed = turn(cluster, f"{ROOT}/agenttasks/b/status", phase="BlockedByAbandon")
    assert stored < turn(cluster, CONFIG_MAPS) < followed


async def test_a_row_that_is_refused_is_asked_for_again_and_holds_nothing_up() -> None:
    run = f"{ROOT}/bernsteinruns/r"
    async with operating(plain_run(), given_up(), waits_behind()) as cluster:
        for _ in range(3):
            cluster.refuse(CONFIG_MAPS, 403, "configmaps is forbidden")
        await cluster.until(lambda: blocked(cluster))
        await cluster.until(
            lambda: told_of_ledger(cluster.objects[run]["status"]) == ("True", "LedgerWritten")
        )
    told = [told_of_ledger(one.body["status"]) for one in cluster.asked if one.path == f"{run}/status"]
    assert ("False", "LedgerWriteFailed") in told
    assert len(cluster.created(CONFIG_MAPS)) == 4


async def test_an_illegal_move_is_logged_once_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    began = {"number": 1, "podName": POD, "intentTime": "2026-01-01T12:00:00Z"}
    edited = {"phase": "BlockedByFailure", "observedGeneration": 1, "attempt": 1, "attempts": [began]}
    async with operating(plain_run(), raw_task(status=edited)) as cluster:
        for version in (1, 2, 3):
            cluster.writer.world.seen(pod(version=version, phase="Running", agent=running()))
            await cluster.until(lambda: "illegal move" in caplog.messages)
            await asyncio.sleep(0.05)
    assert caplog.messages.count("illegal move") == 1
    assert task_status(cluster) == edited
    assert not [one for one in cluster.asked if "agenttasks" in one.path or one.path.startswith(PODS)]
