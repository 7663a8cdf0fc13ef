"""Keeps up with a busy kind: list, watch, and list again whenever the watch may have missed something.

A watch can end at any moment, go silent behind a load balancer, or be told that its version is too old.
Each of these ends in a new list, whose comparison with what is known also yields the deletions that no
watch reported. Bookmarks keep the version fresh while nothing happens, so a quiet watch resumes cheaply.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from typing import Any, Final, Protocol

from msgspec import DecodeError, Raw, Struct, json

from bernstein_operator.api.pod import Pod
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import ApiError, GoneError, UnavailableError
from bernstein_operator.kube.lists import Listing, list_all
from bernstein_operator.kube.resources import PODS

log = logging.getLogger(__name__)

IDLE_SECONDS: Final = 75.0
"""The API server sends a bookmark about once a minute; a stream silent for longer is dead."""
_WATCH_SECONDS: Final = (300, 600)
_BACKOFF_SECONDS: Final = (0.2, 10.0)


class _Event(Struct):
    type: str
    object: Raw


class _Version(Struct, rename="camel"):
    resource_version: str


class _Bookmark(Struct):
    """An object with nothing in it but the version that the watch has come to."""

    metadata: _Version


class PodSink(Protocol):
    """Who is told of Pods."""

    def seen(self, pod: Pod) -> None:
        """Take note of a Pod as it is."""

    def gone(self, pod: Pod) -> None:
        """Take note of a Pod's end, with its last state."""

    def listed(self, listing: Listing[Pod]) -> None:
        """Take note of all Pods there are; whatever else is known and not newer is gone."""


_EVENTS: Final = json.Decoder(_Event)
_POD: Final = json.Decoder(Pod)
_BOOKMARK: Final = json.Decoder(_Bookmark)


class PodInformer:
    """Reports agent Pods of one namespace (or all, by an empty text) to a sink for as long as it runs."""

    def __init__(self, api: KubeApi, sink: PodSink, *, namespace: str, selector: str) -> None:
        self._api = api
        self._sink = sink
        self._namespace = namespace
        self._selector = selector
        self._version: str = ""
        self.synced = asyncio.Event()
        self.connected = False

    async def run(self) -> None:
        """Keep up until cancelled; every trouble is waited out, longer each time."""
        backoff = _BACKOFF_SECONDS[0]
        while True:
            try:
                await self._keep_up()
                backoff = _BACKOFF_SECONDS[0]
            except (ApiError, DecodeError) as error:
                self._lost(error)
                await asyncio.sleep(backoff * random.uniform(0.5, 1.5))
                backoff = min(backoff * 2, _BACKOFF_SECONDS[1])

    async def _keep_up(self) -> None:
        if not self._version:
            self._version = str(await self.relist())
            self.synced.set()
        params = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "labelSelector": self._selector,
            "resourceVersion": self._version,
            "timeoutSeconds": str(random.randint(*_WATCH_SECONDS)),
        }
        async with self._api.watch(PODS, self._namespace, params=params, idle=IDLE_SECONDS) as stream:
            self.connected = True
            async for line in _lines(stream.iter_any()):
                self._take(_EVENTS.decode(line))

    async def relist(self) -> int:
        """Report all Pods there are now, beside the watch; returns the list's version."""
        listing = await list_all(
            self._api, PODS, namespaces=[self._namespace], decode=_POD.decode, selector=self._selector
        )
        self._sink.listed(listing)
        return listing.version

    def _take(self, event: _Event) -> None:
        if event.type == "ERROR":
            raise _watch_error(json.decode(event.object))
        self._version = _BOOKMARK.decode(event.object).metadata.resource_version
        if event.type == "BOOKMARK":
            return
        pod = _POD.decode(event.object)
        if event.type == "DELETED":
            self._sink.gone(pod)
        else:
            self._sink.seen(pod)

    def _lost(self, error: Exception) -> None:
        self.connected = False
        if not isinstance(error, UnavailableError):
            # Whatever else went wrong, the version that it was resumed from may be the reason.
            self._version = ""
        log.warning("watch of pods interrupted", extra={"error": f"{type(error).__name__}: {error}"})


def _watch_error(status: dict[str, Any]) -> ApiError:
    code, message = int(status.get("code") or 0), str(status.get("message") or "")
    return GoneError(status=code, reason=str(status.get("reason") or ""), message=message)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield whole lines; an object may be longer than any buffer of the transport."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield line
