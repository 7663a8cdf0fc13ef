"""The release itself: gone and back while agents work, and bound to one namespace."""

from e2e.release import NAME, Release
from e2e.scenarios.cast import profile, steady_run, task
from tests.support.kube import Kube, eventually
from tests.support.recorder import PodRecorder
from tests.support.tasks import attempts, result_classes, wait_phase


def test_runs_outlive_the_release_and_go_on_with_the_next(
    kube: Kube, release: Release, recorder: PodRecorder
) -> None:
    for manifest in (profile(), steady_run(), task("sleep 5", "say Done.")):
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


def test_roles_in_one_namespace_are_enough_for_it(
    kube: Kube, release: Release, recorder: PodRecorder
) -> None:
    recorder.operator_down()
    release.install(f"watchNamespaces={{{kube.namespace}}}", "profile.create=false")
    try:
        recorder.operator_up()
        for manifest in (profile(), steady_run(), task("say Done.")):
            kube.apply(manifest)
        done = wait_phase(kube, "t", "Succeeded")
        eventually(lambda: len(kube.events_of("t")) >= 2, what="the attempt's two events")
    finally:
        recorder.operator_down()
        release.install()
        recorder.operator_up()
    assert result_classes(done) == ["success"]
    assert not [role for role in kube.items("roles") if role["metadata"]["name"] == NAME]
