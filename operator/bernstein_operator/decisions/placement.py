"""Which nodes a profile's Pods may run on, by the scheduler's own rules.

Only what a profile can say counts: its node selector and its tolerations. A node that is full still counts:
that it is busy is what is asked.
"""

from typing import Final

from bernstein_operator.api.load import Node, Placement, Taint
from bernstein_operator.api.profile import PodShape, TaintEffect, Toleration, TolerationOperator

_REPELLING: Final = frozenset({TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE})
"""PreferNoSchedule keeps nobody off."""


def placement(shape: PodShape) -> Placement:
    """Return where Pods of that shape may run."""
    return Placement(frozenset((shape.node_selector or {}).items()), shape.tolerations)


def takes(node: Node, where: Placement) -> bool:
    """Whether a node is usable, has the labels, and has no taint that keeps the Pod off."""
    if not node.usable or any(node.labels.get(name) != value for name, value in where.selector):
        return False
    repelling = (taint for taint in node.taints if taint.effect in _REPELLING)
    return all(any(_bears(one, taint) for one in where.tolerations) for taint in repelling)


def _bears(toleration: Toleration, taint: Taint) -> bool:
    """As the scheduler has it: what isn't said fits everything, and Equal is meant where no operator is."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator is TolerationOperator.EXISTS or (toleration.value or "") == taint.value
