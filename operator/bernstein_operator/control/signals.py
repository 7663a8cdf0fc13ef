"""Looks at nodes every few seconds, and has the runs decided again for which that changes something.

What is looked at is somebody else's: the metrics API may be missing, slow or broken for hours. So it has a
connection and a gate of its own, every look ends in time, and whatever a look comes to, the runs are gone
through afterwards: a pause that rests on an old reading ends without any new one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from bernstein_operator.api.load import LoadSource
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES
from bernstein_operator.decisions.pausing import is_news
from bernstein_operator.decisions.saturation import rules_of
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import ApiError, NotFoundError, RefusedError
from bernstein_operator.kube.load_source import LoadQuery, LoadSourceError
from bernstein_operator.kube.nodes import read_nodes, read_usage
from bernstein_operator.telemetry import metrics
from bernstein_operator.world.marks import Marks
from bernstein_operator.world.world import World

log = logging.getLogger(__name__)

LONGEST_LOOK_SECONDS: Final = 10.0
"""Whoever takes longer to answer has no answer."""
SLOWEST_SAMPLES_SECONDS: Final = 60
"""metrics-server's own default: until then the same samples may be read again and again."""
NODES_EVERY: Final = 3
"""Nodes are read with every third look: what they are changes rarely, and their list is long."""
FORBIDDEN: Final = (
    "The operator works in some namespaces only and may not read nodes, so that CPU use has no say"
)


class Signals:
    """Reads nodes and their load into the world; ``clock`` gives the time of day.

    ``interval`` is the time between two looks in seconds; ``everywhere`` says that the operator works in the
    whole cluster: only then may it read nodes.
    """

    def __init__(
        self,
        api: KubeApi,
        world: World,
        marks: Marks,
        *,
        clock: Callable[[], datetime],
        everywhere: bool,
        query: LoadQuery | None,
        interval: int,
    ) -> None:
        self._api = api
        self._world = world
        self._marks = marks
        self._clock = clock
        self._query = query
        self._interval = interval
        self._everywhere = everywhere
        self._sources = [
            *([LoadSource.CPU] if everywhere else ()),
            *([LoadSource.LOAD] if query else ()),
        ]
        self._said: dict[LoadSource, str] = {}
        self._looks = 0

    def begin(self) -> None:
        """Say which sources there are; before the first look."""
        self._world.nodes.begin(self._sources, forbidden="" if self._everywhere else FORBIDDEN)

    async def run(self) -> None:
        """Look for ever."""
        self.begin()
        while True:
            await self.look()
            await asyncio.sleep(self._interval)

    async def look(self) -> None:
        """Ask every source once, and mark the runs for which that changes something."""
        trouble = await _in_time(self._read_nodes()) if self._everywhere else ""
        asked = (_in_time(self._ask(one)) for one in self._sources)
        said = [trouble] * len(self._sources) if trouble else await asyncio.gather(*asked)
        for source, why in zip(self._sources, said, strict=True):
            self._failed(source, why)
        self._conclude()

    async def _read_nodes(self) -> None:
        if self._looks % NODES_EVERY == 0:
            self._world.nodes.nodes = await read_nodes(self._api)
        self._looks += 1

    async def _ask(self, source: LoadSource) -> None:
        if source is LoadSource.CPU:
            samples = await read_usage(self._api)
            self._world.nodes.read(source, samples=samples, now=self._clock())
        elif self._query:
            window = timedelta(seconds=max(self._interval, LONGEST_LOOK_SECONDS))
            loads = await self._query.ask(now=self._clock(), window=window)
            if loads.by_node and not self._everywhere:
                raise LoadSourceError("it tells nodes apart, which the operator may not read")
            self._world.nodes.read(
                source, samples=loads.by_node, everywhere=loads.everywhere, now=self._clock()
            )

    def _failed(self, source: LoadSource, why: str) -> None:
        self._world.nodes.failed(source, why)
        if self._said.get(source, "") != why:
            self._said[source] = why
            log.warning("load of nodes", extra={"source": source, "trouble": why or "none any more"})

    def _conclude(self) -> None:
        """Have the runs decided again for which the load means something else than is stored."""
        now, world = self._clock(), self._world
        world.nodes.looked(now)
        patience = 0
        for run in world.runs:
            if run.status.phase in ENDED_RUN_PHASES or not run.spec:
                continue
            patience = max(patience, rules_of(run.spec.concurrency.pause).samples)
            snapshot = world.run_snapshot(run.meta.key)
            load = world.nodes.load(run, world.roster(run.meta.key))
            if snapshot and is_news(replace(snapshot, load=load), now=now):
                self._marks.run(run.meta.key)
        world.nodes.keep((patience + 1) * ceil(SLOWEST_SAMPLES_SECONDS / self._interval + 1))
        for source in self._sources:
            metrics.set_node_load(source, world.nodes.everything(source))


async def _in_time(look: Awaitable[None]) -> str:
    """Wait for a look, and return why it brought nothing, empty where it did."""
    try:
        async with asyncio.timeout(LONGEST_LOOK_SECONDS):
            await look
    except (ApiError, LoadSourceError, TimeoutError) as error:
        return _in_words(error)
    return ""


def _in_words(error: Exception) -> str:
    """Return what people read of a failed look: the same words each time, since a change is a write."""
    match error:
        case NotFoundError():
            return "the metrics API isn't installed (404)"
        case RefusedError():
            return f"the operator may not read it ({error.status} {error.reason})"
        case ApiError():
            return f"the API server has no answer ({error.status or 'connection lost'})"
        case TimeoutError():
            return f"no answer within {LONGEST_LOOK_SECONDS:.0f} s"
        case _:
            return str(error)
