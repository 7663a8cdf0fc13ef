"""Full and complete lists of our own kinds: at the start, and again and again as a check on the watches.

The first decision waits for these lists. Who stood by before it became the leader lists once more: what its
watches have brought may be older than its lease. Otherwise kopf's watches bring the changes; but a watch can
lose some, and never reports what was deleted while it was down. So every few minutes the versions of all
objects are compared with what is known, which costs a fraction of a list, and whatever differs is read again.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson

from bernstein_operator.api.objects import Key
from bernstein_operator.api.pod import Metadata
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import ApiError, NotFoundError
from bernstein_operator.kube.lists import list_all, list_versions
from bernstein_operator.kube.resources import PROFILES, RUNS, TASKS, Resource
from bernstein_operator.world.world import World

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = (120.0, 240.0)
_BACKOFF_SECONDS: Final = (0.5, 10.0)


class Sync:
    """Keeps the world complete; ``namespaces`` holds one empty text for the whole cluster."""

    def __init__(self, api: KubeApi, world: World, *, namespaces: tuple[str, ...]) -> None:
        self._api = api
        self._world = world
        self._namespaces = namespaces
        self.complete = asyncio.Event()

    async def run(self) -> None:
        """List everything once, then check for ever."""
        await self._until_done(self._list_everything)
        self.complete.set()
        while True:
            await asyncio.sleep(random.uniform(*CHECK_SECONDS))
            await self._until_done(self._check)

    async def refresh(self, *others: Callable[[], Awaitable[object]]) -> None:
        """List everything again, and have ``others`` do the same; returns when all of it is known."""
        for step in (self._list_everything, *others):
            await self._until_done(step)

    async def _until_done(self, step: Callable[[], Awaitable[object]]) -> None:
        backoff = _BACKOFF_SECONDS[0]
        while True:
            try:
                await step()
            except ApiError as error:
                log.warning("list failed", extra={"error": str(error)})
                await asyncio.sleep(backoff * random.uniform(0.5, 1.5))
                backoff = min(backoff * 2, _BACKOFF_SECONDS[1])
            else:
                return

    async def _list_everything(self) -> None:
        # Runs before their tasks, profiles before both: each finds what it refers to.
        for resource, put in self._kinds().items():
            # Before the list: what is made after it is missing from it, not gone.
            known = self._world.versions(resource.kind)
            listing = await list_all(self._api, resource, namespaces=self._namespaces, decode=orjson.loads)
            for raw in listing.items:
                put(raw)
            listed = {(raw["metadata"]["namespace"], raw["metadata"]["name"]) for raw in listing.items}
            for key in known.keys() - listed:
                await self._read(resource, key)
        self._world.recall_departed()

    async def nothing_missed(self, run: Key) -> bool:
        """Return whether all tasks of a run are known as they are; what was missed is read now.

        Watches may lie behind by as long as the API server refuses them. What can't be taken back, as a run's
        end, isn't concluded from them alone.
        """
        namespace, name = run
        known = {task.meta.key: task.meta.version for task in self._world.roster(run).tasks.values()}
        found = await list_versions(
            self._api, TASKS, namespaces=[namespace], fields=f"spec.runRef.name={name}"
        )
        return not await self._heal(TASKS, known=known, found=found)

    async def _check(self) -> None:
        for resource in self._kinds():
            # What is known must be read first: an object made after the list is missing from it, not gone.
            known = self._world.versions(resource.kind)
            found = await list_versions(self._api, resource, namespaces=self._namespaces)
            await self._heal(resource, known=known, found=found)

    async def _heal(self, resource: Resource, *, known: Mapping[Key, int], found: Mapping[Key, int]) -> int:
        """Read again what differs and return how many objects that were."""
        newer = [key for key, version in found.items() if version > known.get(key, 0)]
        stale = [*newer, *(key for key in known if key not in found)]
        for key in stale:
            await self._read(resource, key)
        return len(stale)

    async def _read(self, resource: Resource, key: Key) -> None:
        put = self._kinds()[resource]
        # Whoever takes the name while the answer is on its way isn't the one that is gone.
        meant = self._find(resource, key)
        try:
            put(orjson.loads(await self._api.get(resource, *key)))
        except NotFoundError:
            if meant:
                self._drop(resource, meant)

    def _find(self, resource: Resource, key: Key) -> Metadata | None:
        world = self._world
        finders = {TASKS: world.task, RUNS: world.run, PROFILES: world.profile}
        found = finders[resource](key)
        return found.meta if found else None

    def _drop(self, resource: Resource, meta: Metadata) -> None:
        world = self._world
        {TASKS: world.drop_task, RUNS: world.drop_run, PROFILES: world.drop_profile}[resource](meta)

    def _kinds(self) -> dict[Resource, Callable[[Mapping[str, Any]], object]]:
        world = self._world
        return {PROFILES: world.put_profile, RUNS: world.put_run, TASKS: world.put_task}
