"""Patches say only what changes, and applying one gives what was wanted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.builders.patch import difference, status_patch, stop_patch
from tests.unit.objects import at, attempt, merged, pod, status, task

LEAVES = st.integers() | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES | st.lists(LEAVES, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


@given(old=OBJECTS, new=OBJECTS)
def test_applying_the_difference_gives_the_new_object(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merged(old, difference(old, new)) == new


@given(same=OBJECTS)
def test_between_equals_there_is_no_difference(same: dict[str, Any]) -> None:
    assert difference(same, same) == {}


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1, "b": 2}, {"b": 2}, id="a new field"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {"b": None}, id="a field that is gone"),
        pytest.param({"a": {"x": 1, "y": 2}}, {"a": {"x": 3, "y": 2}}, {"a": {"x": 3}}, id="inside"),
        pytest.param({"a": [1, 2]}, {"a": [1, 3]}, {"a": [1, 3]}, id="a list as a whole"),
        pytest.param({"a": {"x": 1}}, {"a": 5}, {"a": 5}, id="an object becomes a number"),
        pytest.param({"a": 5}, {"a": {"x": 1}}, {"a": {"x": 1}}, id="a number becomes an object"),
    ],
)
def test_what_a_patch_says(old: dict[str, Any], new: dict[str, Any], patch: dict[str, Any]) -> None:
    assert difference(old, new) == patch


def test_a_status_patch_holds_only_for_what_it_was_concluded_from() -> None:
    before = task(version=7, status=status(attempt()))
    patch = status_patch(before.meta, stored=before.status, wanted=status(attempt(), phase="Running"))
    assert patch == {"metadata": {"resourceVersion": "7", "uid": "t-uid"}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        pytest.param(status(attempt()), status(attempt()), id="equal"),
        pytest.param(AgentTaskStatus(), AgentTaskStatus(summary=None), id="absent and unset are one"),
    ],
)
def test_there_is_no_patch_where_nothing_changes(stored: AgentTaskStatus, wanted: AgentTaskStatus) -> None:
    assert status_patch(task().meta, stored=stored, wanted=wanted) is None


def test_stopping_is_one_patch_on_that_very_pod() -> None:
    assert stop_patch(pod(uid="p-uid"), stop="deadline", now=at(5)) == {
        "metadata": {
            "uid": "p-uid",
            "annotations": {
                "bernstein.run/stop": "deadline",
                "bernstein.run/stop-time": "2026-01-01T12:00:05+00:00",
            },
        },
        "spec": {"activeDeadlineSeconds": 1},
    }
