"""Which nodes a profile's Pods may run on: labels, taints, and whether a node takes anything at all."""

from typing import Any

import pytest

from bernstein_operator.api.load import Node, Taint
from bernstein_operator.api.profile import PodShape
from bernstein_operator.decisions.placement import placement, takes

GPU = Taint("gpu", "NoSchedule", "yes")


def shape(**options: Any) -> PodShape:
    return PodShape.model_validate(options)


@pytest.mark.parametrize(
    ("wanted", "labels", "fits"),
    [
        pytest.param({}, {}, True, id="nothing is asked for"),
        pytest.param({"pool": "a"}, {"pool": "a", "zone": "1"}, True, id="all labels are there"),
        pytest.param({"pool": "a"}, {"pool": "b"}, False, id="another value"),
        pytest.param({"pool": "a"}, {}, False, id="no such label"),
        pytest.param({"pool": "a", "zone": "1"}, {"pool": "a"}, False, id="one of two"),
        pytest.param({"pool": ""}, {"pool": ""}, True, id="an empty value"),
    ],
)
def test_a_node_needs_every_label(wanted: dict[str, str], labels: dict[str, str], fits: bool) -> None:
    assert takes(Node(labels=labels), placement(shape(nodeSelector=wanted))) is fits


@pytest.mark.parametrize(
    ("tolerations", "taints", "fits"),
    [
        pytest.param([], [], True, id="no taint"),
        pytest.param([], [GPU], False, id="a taint that isn't tolerated"),
        pytest.param([], [Taint("gpu", "PreferNoSchedule")], True, id="a taint that only advises"),
        pytest.param([], [Taint("gone", "NoExecute")], False, id="a taint that throws out"),
        pytest.param([{"key": "gpu", "value": "yes"}], [GPU], True, id="Equal is meant without an operator"),
        pytest.param([{"key": "gpu", "operator": "Equal", "value": "no"}], [GPU], False, id="another value"),
        pytest.param([{"key": "gpu"}], [GPU], False, id="an empty value is a value"),
        pytest.param([{"key": "gpu"}], [Taint("gpu", "NoSchedule")], True, id="both values are empty"),
        pytest.param([{"key": "gpu", "operator": "Exists"}], [GPU], True, id="any value"),
        pytest.param([{"key": "tpu", "operator": "Exists"}], [GPU], False, id="another key"),
        pytest.param([{"operator": "Exists"}], [GPU, Taint("x", "NoExecute")], True, id="everything"),
        pytest.param(
            [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}], [GPU], False, id="another effect"
        ),
        pytest.param(
            [{"key": "gpu", "operator": "Exists"}], [GPU, Taint("x", "NoSchedule")], False, id="one of two"
        ),
    ],
)
def test_a_pod_has_to_bear_every_taint(
    tolerations: list[dict[str, str]], taints: list[Taint], fits: bool
) -> None:
    assert takes(Node(taints=tuple(taints)), placement(shape(tolerations=tolerations))) is fits


def test_a_node_that_takes_nothing_counts_for_nobody() -> None:
    everything = placement(shape(tolerations=[{"operator": "Exists"}]))
    assert not takes(Node(usable=False), everything)
