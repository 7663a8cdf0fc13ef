"""A status condition, field for field as Kubernetes' own ``metav1.Condition``.

``kubectl wait``, Helm, Flux and Argo CD read conditions, not phases. They ignore one whose
``observedGeneration`` is behind the object's, so every condition carries it.
"""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from bernstein_operator.api.base import Generation, Model, Moment
from bernstein_operator.api.vocabulary import ConditionStatus, ConditionType


class Condition(Model):
    """One thing that is so, is not so, or can't be known."""

    type: Annotated[str, Field(max_length=316, pattern=r"^[A-Za-z][A-Za-z0-9]*$")]
    """What it is about, in CamelCase."""
    status: ConditionStatus
    """True, False or Unknown."""
    reason: Annotated[
        str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$")
    ]
    """Why, as one CamelCase word of a closed list."""
    message: Annotated[str, Field(max_length=1024)] = ""
    """Why, for people."""
    last_transition_time: Moment
    """When the status last changed from one value to another."""
    observed_generation: Generation = 0
    """The metadata.generation that this was concluded from."""


def find(conditions: Iterable[Condition], kind: ConditionType) -> Condition | None:
    """Return the condition of type ``kind``, or None where it isn't set."""
    return next((condition for condition in conditions if condition.type == kind), None)
