"""Hears of runs, tasks and profiles."""

from collections.abc import Callable, Mapping
from typing import Any

import kopf

from bernstein_operator.api.names import GROUP, VERSION
from bernstein_operator.api.pod import Metadata
from bernstein_operator.world.world import World

_Put = Callable[[Mapping[str, Any]], object]
_Drop = Callable[[Metadata], None]


def listen(registry: kopf.OperatorRegistry, world: World) -> None:
    """Have kopf report our three kinds to the world."""
    kinds: dict[str, tuple[_Put, _Drop]] = {
        "bernsteinruns": (world.put_run, world.drop_run),
        "agenttasks": (world.put_task, world.drop_task),
        "agentprofiles": (world.put_profile, world.drop_profile),
    }
    for plural, (put, drop) in kinds.items():
        # The full name: for a short one kopf scans every API group, and a broken one would stop the start.
        kopf.on.event(GROUP, VERSION, plural, registry=registry, id=plural)(_handler(put, drop))


def _handler(put: _Put, drop: _Drop) -> Callable[..., Any]:
    async def heard(type: str | None, body: kopf.Body, **_: object) -> None:  # noqa: A002 - kopf's name
        if type == "DELETED":
            drop(
                Metadata(
                    name=body.metadata.name or "",
                    namespace=body.metadata.namespace or "",
                    uid=body.metadata.uid or "",
                    resource_version=body.metadata.get("resourceVersion", ""),
                )
            )
        else:
            put(body)

    return heard
