"""Uninstalling and installing again while agents work."""

from e2e.release import Release
from e2e.scenarios.cast import profile, task
from tests.support.builders import make_run
from tests.support.kube import Kube
from tests.support.recorder import PodRecorder
from tests.support.tasks import attempts, result_classes, wait_phase


def test_runs_outlive_the_release_and_go_on_with_the_next(
    kube: Kube, release: Release, recorder: PodRecorder
) -> None:
    for manifest in (profile(), make_run(), task("sleep 5", "say Done.")):
        kube.apply(manifest)
    running = wait_phase(kube, "t", "Running")
    recorder.operator_down()
    release.uninstall()
    try:
        pod = attempts(running)[0]["podName"]
        kube.wait_for("pods", pod, lambda found: found["status"]["phase"] == "Succeeded", what="Succeeded")
        assert {crd["metadata"]["name"] for crd in kube.items("customresourcedefinitions")} >= {
            f"{plural}.bernstein.run" for plural in ("bernsteinruns", "agenttasks", "agentprofiles")
        }
        assert kube.get("agenttasks", "t")["status"]["phase"] == "Running"
    finally:
        release.install()
    recorder.operator_up()
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["success"]
