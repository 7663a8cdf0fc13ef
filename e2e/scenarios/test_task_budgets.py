"""Agents under a budget of their own: how they are told, how they land, who helps them on."""

import json
from pathlib import Path

from bernstein_operator.api.names import ANNOTATION_ENVELOPE
from e2e.scenarios.cast import command, profile, script, steady_run, task
from e2e.scenarios.git_server import GitServer
from e2e.scenarios.readings import Readings
from tests.support.builders import make_task
from tests.support.fixtures import Cluster
from tests.support.kube import Kube, Kubectl, eventually
from tests.support.plugin import Plugin
from tests.support.pods import pods_of
from tests.support.tasks import attempts, result_classes, wait_phase

ROLE = "lander"
"""Nobody else's, so that its metrics are this test's."""
LADDER = [{"name": "small"}, {"name": "large"}]


def test_an_agent_is_told_of_its_budget_and_while_it_works_of_its_deadline(
    kube: Kube, kubectl: Kubectl
) -> None:
    notices = '"$BERNSTEIN_NOTICES_FILE"'
    program = f'head -n 1 "$BERNSTEIN_PROMPT_FILE"; until grep -s "is over at" {notices}; do sleep 0.5; done'
    limited = task("lazy", timeout=60)
    limited["spec"] |= {"budget": {"usd": "1.50", "tokens": 64000, "steps": 30}, "deadlineWarningSeconds": 58}
    for manifest in (command("sh", "-c", program), steady_run(), limited):
        kube.apply(manifest)
    done = wait_phase(kube, "t", "Succeeded")
    said = kubectl("logs", attempts(done)[0]["podName"]).splitlines()
    banner = (
        "[budget] tokens left: 64,000 of 64,000 (100%) | $0.00 of $1.50 | steps: 0 of 30"
        " | mode: graceful-finish-on-low"
    )
    assert banner in said
    warned = {one["limit"]: one["at"] for one in done["status"]["deadline"]["warned"]}
    assert (
        f"timeoutSeconds is over at {warned['timeoutSeconds']}. You are stopped then: commit before." in said
    )
    assert [line for line in said if "startTimeoutSeconds" in line] == [], "it has started"


def test_an_agent_that_is_low_on_its_budget_commits_in_its_final_turn(
    kube: Kube, git_server: GitServer, readings: Readings
) -> None:
    def finished() -> list[float]:
        low = "bernstein_task_budget_remaining_at_finish_pct"
        names = ("bernstein_task_budget_graceful_finish_total", f"{low}_count", f"{low}_sum")
        return [readings.count(name, role=ROLE) for name in names]

    before = finished()
    # Asked between spend and sleep, it goes on with its sleep.
    prompt = script("write half.txt: half", "spend input=850", "sleep 15", "commit Save what there is")
    repository = {**git_server.repository, "pushBranchPrefix": f"{kube.namespace}/"}
    limited = make_task(prompt=prompt, role=ROLE, budget={"tokens": 1000}, retry={"limit": 0})
    for manifest in (profile(), steady_run(repository=repository), limited):
        kube.apply(manifest)
    done = wait_phase(kube, "t", "Succeeded")
    [attempt] = attempts(done)
    assert (attempt["finishPercent"], attempt["usage"]["inputTokens"]) == (15, 850)
    assert git_server.content(attempt["branch"], "half.txt") == "half\n"
    eventually(lambda: "GracefulFinish" in "\n".join(kube.events_of("t")), what="the event GracefulFinish")
    eventually(
        lambda: [now - then for now, then in zip(finished(), before, strict=True)] == [1, 1, 15],
        what="one more graceful finish in the metrics, with 15 % left",
    )


def test_an_agent_with_nothing_left_waits_for_a_person_and_goes_on(
    kube: Kube, cluster: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    prompt = script("on attempt 1: spend input=1000", "on attempt 1: hang", "print going on")
    budget = {"tokens": 1000, "mode": "hard-stop-on-zero"}
    limited = make_task(prompt=prompt, scope="large", budget=budget, retry={"limit": 0})
    for manifest in (profile(models=LADDER), steady_run(), limited):
        kube.apply(manifest)
    waiting = wait_phase(kube, "t", "AwaitingInput")
    [attempt] = attempts(waiting)
    assert (attempt["resultClass"], attempt["model"]) == ("task_budget", "large")
    assert attempt["suggestedModel"] == "small"
    eventually(lambda: "DowngradeSuggested" in "\n".join(kube.events_of("t")), what="DowngradeSuggested")

    kubectl("patch", "agenttask/t", "--type=merge", '--patch={"spec":{"budget":{"tokens":3000}}}')
    plugin = Plugin(cluster.kubectl, cluster.kubeconfig, kube.namespace, tmp_path)
    plugin("answer", "t", "Finish it with two thousand more.")
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["task_budget", "success"]
    annotations = pods_of(kube, "t")[1]["metadata"]["annotations"]
    payload = json.loads(annotations[ANNOTATION_ENVELOPE])["payload"]
    assert payload["exchange"]["answer"] == "Finish it with two thousand more."
    assert payload["exchange"]["question"] == waiting["status"]["question"]["text"]
