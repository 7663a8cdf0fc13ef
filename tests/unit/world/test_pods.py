"""No older picture of a Pod replaces a newer one, and none that is gone comes back."""

import pytest

from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Sighting
from bernstein_operator.world.pods import PodStore
from tests.unit.objects import at, owned_by, pod, running


def store(*pods: Pod) -> PodStore:
    kept = PodStore()
    for one in pods:
        kept.put(one)
    return kept


@pytest.mark.parametrize(
    ("version", "is_news"),
    [
        pytest.param(4, False, id="older"),
        pytest.param(5, False, id="the same"),
        pytest.param(6, True, id="newer"),
    ],
)
def test_only_a_newer_state_is_news(version: int, is_news: bool) -> None:
    kept = store(pod(version=5))
    newer = pod(version=version, phase="Running")
    assert kept.put(newer) is is_news
    assert kept.of_task("t-uid") == (Sighting(newer if is_news else pod(version=5)),)


def test_a_pod_that_is_gone_does_not_come_back() -> None:
    kept = store(pod(version=5))
    assert kept.bury(pod(version=6))
    assert not kept.put(pod(version=7))
    assert not kept.bury(pod(version=8))
    assert kept.of_task("t-uid") == (Sighting(pod(version=6), gone=True),)


def test_the_latest_words_of_a_pod_are_kept_whoever_tells_of_its_end() -> None:
    kept = store(pod(version=9, phase="Failed"))
    kept.bury(pod(version=5, phase="Running", agent=running()))
    (sighting,) = kept.of_task("t-uid")
    assert (sighting.gone, sighting.pod.status.phase) == (True, "Failed")


def test_an_end_that_comes_before_any_news_is_kept() -> None:
    kept = PodStore()
    assert kept.bury(pod(version=3))
    assert not kept.put(pod(version=2))


def test_a_new_pod_under_the_name_of_one_that_is_gone_is_another() -> None:
    kept = store(pod(version=5))
    kept.bury(pod(version=6))
    again = pod(version=7, uid="another")
    assert kept.put(again)
    assert kept.of_task("t-uid") == (Sighting(again),)
    assert not kept.bury(pod(version=8)), "news of the first's end says nothing of the second"
    assert kept.of_task("t-uid") == (Sighting(again),)


@pytest.mark.parametrize(
    ("version", "listed", "missing"),
    [
        pytest.param(5, [], True, id="older than the list"),
        pytest.param(10, [], True, id="exactly as old as the list"),
        pytest.param(11, [], False, id="newer than the list"),
        pytest.param(5, [pod(version=5)], False, id="in the list"),
        pytest.param(5, [pod(version=9, uid="another")], True, id="its name is another's by now"),
    ],
)
def test_a_deletion_is_inferred_only_for_what_is_not_newer(
    version: int, listed: list[Pod], missing: bool
) -> None:
    kept = store(pod(version=version))
    assert bool(kept.missing_from(listed, version=10)) is missing


def test_what_is_gone_is_missing_from_no_list() -> None:
    kept = store(pod(version=5))
    kept.bury(pod(version=6))
    assert kept.missing_from([], version=10) == []


def test_last_words_are_dropped_except_for_the_open_attempts() -> None:
    kept = store(pod(1, version=1), pod(2, version=2), pod(3, version=3))
    kept.bury(pod(1, version=4))
    kept.bury(pod(2, version=5))
    kept.forget_gone("t-uid", keep=pod(2).metadata.name)
    assert [(one.pod.metadata.name, one.gone) for one in kept.of_task("t-uid")] == [
        (pod(2).metadata.name, True),
        (pod(3).metadata.name, False),
    ]


@pytest.mark.parametrize(
    ("owner", "uid"),
    [
        pytest.param(owned_by("AgentTask", "t", "t-uid"), "t-uid", id="a task"),
        pytest.param(owned_by("ReplicaSet", "rs", "rs-uid"), "", id="somebody else's Pod with our labels"),
        pytest.param([], "", id="nobody"),
    ],
)
def test_whose_pod_it_is(owner: list[dict[str, object]], uid: str) -> None:
    assert pod(owner=owner).task_uid == uid


def test_that_a_pod_is_left_to_its_node_outlasts_news_of_it() -> None:
    kept = store(pod(version=5))
    assert kept.leave(pod(version=5), until=at(30))
    kept.put(pod(version=6))
    assert kept.of_task("t-uid") == (Sighting(pod(version=6), left_until=at(30)),)


@pytest.mark.parametrize("present", [True, False], ids=["another of its name", "none"])
def test_a_pod_that_is_not_there_is_left_to_nobody(present: bool) -> None:
    kept = store(*[pod(version=5)] * present)
    assert not kept.leave(pod(version=5, uid="another"), until=at(30))
