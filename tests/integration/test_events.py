"""Events: each transition is told exactly once, in words that scripts can match, also across restarts."""

from collections import Counter

from tests.support.builders import hand_profile, inline_task, kwok_profile, make_run, make_task
from tests.support.clock import now
from tests.support.faults import Drop, Rule
from tests.support.kube import Kube, Manifest, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import fail, set_pod_running, stamp, succeed, wait_pod
from tests.support.proxy import FaultProxy
from tests.support.tasks import holds_for, wait_phase, wait_run

EVENTS = "events.events.k8s.io"
CONTROLLER = "bernstein.run/operator"
RETRY = {"limit": 1, "backoffSeconds": 1, "maxBackoffSeconds": 1}

EXPECTED = {
    # (object, reason): type, action
    ("r", "RunStarted"): ("Normal", "Admit"),
    ("r", "RunFinished"): ("Warning", "Finish"),
    ("r-good", "AttemptStarted"): ("Normal", "Start"),
    ("r-good", "AttemptSucceeded"): ("Normal", "Finish"),
    ("r-bad", "AttemptStarted"): ("Normal", "Start"),
    ("r-bad", "AttemptFailed"): ("Warning", "Finish"),
    ("r-bad", "RetryScheduled"): ("Normal", "Retry"),
    ("r-bad", "Escalated"): ("Normal", "Escalate"),
    ("r-behind", "BlockedByFailure"): ("Warning", "Block"),
}
TWICE = {("r-bad", "AttemptStarted"), ("r-bad", "AttemptFailed")}
WANTED = Counter({key: 1 + (key in TWICE) for key in EXPECTED})


def ours(kube: Kube) -> list[Manifest]:
    """Return the operator's events in the namespace."""
    return [one for one in kube.items(EVENTS) if one.get("reportingController") == CONTROLLER]


def told(kube: Kube) -> Counter[tuple[str, str]]:
    """Return how often each reason was told of each object."""
    return Counter((one["regarding"]["name"], one["reason"]) for one in ours(kube))


def run_with_a_retry(kube: Kube) -> None:
    """Let a run come to its end in which one task succeeds, one fails twice and one is blocked."""
    kube.create(kwok_profile())
    kube.create(
        make_run(
            tasks=[
                inline_task("good"),
                inline_task("bad", role="kwok-fail", retry=RETRY),
                inline_task("behind", dependsOn=["bad"]),
            ]
        )
    )
    wait_run(kube, "r", "Failed")


def test_every_transition_is_told_once_also_across_a_restart(kube: Kube, operator: OperatorProcess) -> None:
    run_with_a_retry(kube)
    eventually(lambda: told(kube) == WANTED, what="all events")
    for one in ours(kube):
        about = one["regarding"]
        kind, resource = (
            ("BernsteinRun", "bernsteinruns") if about["name"] == "r" else ("AgentTask", "agenttasks")
        )
        assert about["kind"] == kind
        assert about["uid"] == kube.get(resource, about["name"])["metadata"]["uid"]
        assert (one["type"], one["action"]) == EXPECTED[about["name"], one["reason"]]
        assert 0 < len(one["note"].encode()) <= 1024
        assert one["eventTime"]
        assert one["reportingInstance"]
        assert one["metadata"]["name"].startswith(f"{about['name']}.")
        if one["reason"].startswith("Attempt"):
            assert (one["related"]["kind"], one["related"]["name"][-3:-1]) == ("Pod", "-a")

    before = {one["metadata"]["name"]: one["metadata"]["uid"] for one in ours(kube)}
    operator.restart(kill=True)
    holds_for(2, lambda: told(kube) == WANTED, what="each event exactly once")
    assert {one["metadata"]["name"]: one["metadata"]["uid"] for one in ours(kube)} == before
    assert not [one for one in operator.log_entries() if one.get("message") == "events not listed"]


def test_events_that_a_killed_operator_owed_are_told_by_the_next(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    lost = proxy.add(Rule(action=Drop(), verbs="create", resource="events"))
    run_with_a_retry(kube)
    assert not ours(kube)
    operator.kill()
    proxy.remove(lost)
    operator.start()
    eventually(lambda: told(kube) == WANTED, what="all events")


def test_two_attempts_within_one_second_are_told_apart(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 1, "backoffSeconds": 0, "maxBackoffSeconds": 0}))
    second = now()
    for attempt in (1, 2):
        pod = set_pod_running(kube, wait_pod(kube, "t", attempt=attempt), started=second)
        wait_phase(kube, "t", "Running")
        (fail if attempt == 1 else succeed)(kube, pod)
    wait_phase(kube, "t", "Succeeded")
    wanted = {"AttemptStarted": 2, "AttemptFailed": 1, "RetryScheduled": 1, "AttemptSucceeded": 1}
    eventually(
        lambda: told(kube) >= Counter({("t", reason): count for reason, count in wanted.items()}),
        timeout=10,
        what=f"all events of both attempts that started at {stamp(second)}",
    )


def test_a_pause_and_a_resumption_are_told_each_time(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(tasks=[inline_task("a", suspend=True)]))
    for _ in range(2):
        kube.patch("bernsteinruns", "r", {"spec": {"suspend": True}})
        wait_run(kube, "r", "Paused")
        kube.patch("bernsteinruns", "r", {"spec": {"suspend": False}})
        kube.wait_for(
            "bernsteinruns", "r", lambda run: run["status"]["phase"] != "Paused", what="that it goes on"
        )
    kube.annotate("agenttasks", "r-a", cancel="true")
    wait_run(kube, "r", "Failed")
    eventually(
        lambda: (
            told(kube)
            == {
                ("r", "RunPaused"): 2,
                ("r", "RunResumed"): 2,
                ("r-a", "Cancelled"): 1,
                ("r", "RunFinished"): 1,
            }
        ),
        what="both pauses",
    )
