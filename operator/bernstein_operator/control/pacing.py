"""How often a run's status is written where nobody waits for what is new in it.

Every freed slot and every report changes a number of it. What people or decisions wait for is written at
once; the rest has time, and amounts, which change as long as anybody works, have more of it than counts.
"""

from typing import Final

from bernstein_operator.api.run import BernsteinRunStatus

RUN_STATUS_SECONDS: Final = 5.0
"""Counts in a run's status are written at most so often; a change of phase or reason at once."""
RUN_USAGE_SECONDS: Final = 10.0
"""The same of what was spent and reserved, where nothing else has changed."""


def least_gap(stored: BernsteinRunStatus, wanted: BernsteinRunStatus) -> float:
    """Return how many seconds lie at least between the last write and one that isn't urgent."""
    only_usage = wanted.model_copy(update={"budget": stored.budget}) == stored
    return RUN_USAGE_SECONDS if only_usage else RUN_STATUS_SECONDS
