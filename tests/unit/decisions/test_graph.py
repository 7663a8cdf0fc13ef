"""Cycles are found from each of their members, and from nobody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bernstein_operator.decisions.graph import cycle_through

Graph = dict[str, list[str]]


def cycle(name: str, graph: Graph) -> tuple[str, ...]:
    return cycle_through(name, lambda one: graph.get(one, []))


@pytest.mark.parametrize(
    ("graph", "members"),
    [
        pytest.param({"a": ["a"]}, ("a",), id="itself"),
        pytest.param({"a": ["b"], "b": ["a"]}, ("a", "b"), id="two"),
        pytest.param({"b": ["c"], "c": ["a"], "a": ["b"]}, ("a", "b", "c"), id="three, each before its need"),
        pytest.param(
            {"a": ["x", "b"], "b": ["a"], "x": []}, ("a", "b"), id="beside a need that is none of it"
        ),
    ],
)
def test_every_member_tells_the_cycle_in_the_same_words(graph: Graph, members: tuple[str, ...]) -> None:
    assert {cycle(one, graph) for one in members} == {members}


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        pytest.param("a", {}, id="no needs"),
        pytest.param("a", {"a": ["b"], "b": ["c"]}, id="a chain"),
        pytest.param("a", {"a": ["b", "c"], "b": ["d"], "c": ["d"]}, id="a diamond"),
        pytest.param("a", {"a": ["b"], "b": ["c"], "c": ["b"]}, id="it leads into a cycle and is not on it"),
        pytest.param("a", {"b": ["b"]}, id="somebody else's"),
    ],
)
def test_who_is_on_no_cycle(name: str, graph: Graph) -> None:
    assert cycle(name, graph) == ()


def test_of_two_cycles_the_shorter_is_told() -> None:
    assert cycle("a", {"a": ["b", "z"], "b": ["c"], "c": ["a"], "z": ["a"]}) == ("a", "z")


def test_a_cycle_longer_than_any_stack() -> None:
    size = 20_000
    graph = {f"{one:05}": [f"{(one + 1) % size:05}"] for one in range(size)}
    found = cycle("12345", graph)
    assert (len(found), found[:2]) == (size, ("00000", "00001"))


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=4)))
def test_what_is_told_is_a_cycle_through_the_task(graph: Graph) -> None:
    for name in "abcdef":
        members = cycle(name, graph)
        for one, following in zip(members, members[1:] + members[:1], strict=True):
            assert following in graph[one]
        assert bool(members) == (name in _reachable(name, graph))
        assert not members or name in members


def _reachable(name: str, graph: Graph) -> set[str]:
    found: set[str] = set()
    todo = list(graph.get(name, []))
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += graph.get(one, [])
    return found
