"""What people ask for by annotation: which of it is new, and what is kept of it.

An annotation stays on its object, so seeing it says nothing about whether it was obeyed. Each request is kept
in status with its value; one whose value was the latest of its verb is done. So nothing acts twice, taking an
annotation off takes nothing back, and a retry needs a new value each time.
"""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Final

from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.names import ANNOTATION_ACTOR, GROUP
from bernstein_operator.api.pod import Metadata
from bernstein_operator.api.task_status import KEPT_REQUESTS, UNKNOWN_ACTOR, Request

IGNORED: Final = "Ignored: "
"""How the effect of a request begins that changed nothing."""
ONLY_TRUE: Final = f'{IGNORED}only exactly "true" acts.'
"""Effect of a cancel or drain with another value."""
TRUE: Final = "true"
_VALUE_LIMIT: Final = 256
_DIGITS: Final = 12
_ACTOR_LIMIT: Final = 253


def new_value(meta: Metadata, requests: Iterable[Request], verb: CommandVerb) -> str | None:
    """Return the value that a person gave a verb's annotation, None where it is absent or was seen before."""
    value = meta.annotation(f"{GROUP}/{verb}")
    latest = latest_of(requests, verb)
    return None if value is None or (latest and latest.value == _cut(value)) else value


def latest_of(requests: Iterable[Request], verb: CommandVerb) -> Request | None:
    """Return the latest request of a verb."""
    return next((one for one in reversed(tuple(requests)) if one.verb is verb), None)


def actor_of(meta: Metadata) -> str:
    """Return who wrote the latest command, as the cluster's admission stamped it."""
    return (meta.annotation(ANNOTATION_ACTOR) or UNKNOWN_ACTOR)[:_ACTOR_LIMIT]


def request(meta: Metadata, verb: CommandVerb, value: str, effect: str, *, now: datetime) -> Request:
    """Return the record of a request that was seen now."""
    return Request(verb=verb, value=_cut(value), actor=actor_of(meta), time=now, effect=effect)


def kept(requests: Iterable[Request], *new: Request) -> tuple[Request, ...]:
    """Return the last ten requests with ``new`` ones added; the latest of each verb is never dropped."""
    every = (*requests, *new)
    latest = {one.verb: one for one in every}
    surplus = len(every) - KEPT_REQUESTS
    droppable = [one for one in every if latest[one.verb] is not one][: max(0, surplus)]
    return tuple(one for one in every if not any(one is dropped for dropped in droppable))


def _cut(value: str) -> str:
    """Return a value as it is kept; two long ones that differ at their ends only still differ."""
    if len(value) <= _VALUE_LIMIT:
        return value
    mark = f"… {sha256(value.encode()).hexdigest()[:_DIGITS]}"
    return f"{value[: _VALUE_LIMIT - len(mark)]}{mark}"
