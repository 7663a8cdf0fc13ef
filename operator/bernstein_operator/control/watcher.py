"""Takes what informers report of Pods into the world, and doubts an end that nobody announced.

A watch by label says "deleted" of a Pod that only lost the label, too. Whoever takes a label off a live
agent's Pod would make it vanish, and the next attempt would start beside it. A real deletion is announced by
deletionTimestamp. Where that is missing, the Pod is read once more before it is taken for gone, and one that
is still there gets its labels back.
"""

import asyncio
import logging
import random
from typing import Any, Final

from msgspec import json

from bernstein_operator.api.pod import Pod
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import ApiError, NotFoundError, NotLeaderError
from bernstein_operator.kube.lists import Listing
from bernstein_operator.kube.resources import PODS
from bernstein_operator.world.world import World

log = logging.getLogger(__name__)

_POD: Final = json.Decoder(Pod)
_BACKOFF_SECONDS: Final = (0.2, 10.0)


class PodWatcher:
    """Takes the reports of one namespace's informer into the world; an empty text means all namespaces."""

    def __init__(self, api: KubeApi, world: World, namespace: str) -> None:
        self._api = api
        self._world = world
        self._namespace = namespace
        self._doubted: dict[str, asyncio.Task[None]] = {}

    def seen(self, pod: Pod) -> None:
        """Take note of a Pod as it is."""
        self._world.seen(pod)

    def gone(self, pod: Pod) -> None:
        """Take note of a Pod's end, or ask whether it was one."""
        if pod.metadata.deletion_timestamp or pod.terminal:
            self._world.gone(pod)
        else:
            self._doubt(pod)

    def listed(self, listing: Listing[Pod]) -> None:
        """Take note of all Pods, and of the end of those that the list lacks."""
        for pod in listing.items:
            self._world.seen(pod)
        for pod in self._world.pods_missing_from(listing.items, version=listing.version):
            if self._namespace in ("", pod.metadata.namespace):
                self.gone(pod)

    async def settled(self) -> None:
        """Wait until nothing is doubted any more."""
        while self._doubted:
            await asyncio.wait(self._doubted.values())

    def _doubt(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if uid in self._doubted:
            return
        self._doubted[uid] = asyncio.create_task(self._find_out(pod))
        self._doubted[uid].add_done_callback(lambda _: self._doubted.pop(uid))

    async def _find_out(self, pod: Pod) -> None:
        """Ask until there is an answer; the Pod holds its slot until then."""
        backoff, longest = _BACKOFF_SECONDS
        while True:
            try:
                found = await self._relabelled(pod)
            except ApiError as error:
                log.warning("Pod not read", extra={"object": pod.metadata.name, "error": str(error)})
                await asyncio.sleep(backoff * random.uniform(0.5, 1.5))
                backoff = min(backoff * 2, longest)
            else:
                self._world.seen(found) if found else self._world.gone(pod)
                return

    async def _relabelled(self, pod: Pod) -> Pod | None:
        """Return the Pod with the labels that it had, None where it is gone."""
        meta = pod.metadata
        try:
            found = _POD.decode(await self._api.get(PODS, meta.namespace, meta.name))
            if found.metadata.uid != meta.uid:
                return None
            if found.metadata.deletion_timestamp:
                return found
            body: dict[str, Any] = {"metadata": {"uid": meta.uid, "labels": meta.labels or {}}}
            return _POD.decode(await self._api.patch(PODS, meta.namespace, meta.name, body))
        except NotFoundError:
            return None
        except NotLeaderError:
            # Whoever leads puts them back; whoever comes to lead lists again and gets here again.
            return pod
