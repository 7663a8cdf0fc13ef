"""One endless watch that misses nothing.

A watch ends when the server likes, and its place in history can be forgotten (410). Then only a new list
helps, and what the list no longer holds was deleted meanwhile: the deletion has to be inferred, since nobody
will ever report it. Each observation says how exactly its moment is known.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import aiohttp

from tests.support import clock
from tests.support.timeline import Change, Kind, Observation, observation

PATHS = {
    Kind.POD: "/api/v1/pods",
    Kind.TASK: "/apis/bernstein.run/v1alpha1/agenttasks",
    Kind.RUN: "/apis/bernstein.run/v1alpha1/bernsteinruns",
}

_CHANGES = {"ADDED": Change.ADDED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}
_PAUSE_SECONDS = 0.2
_GONE = 410
_NOT_NOW = frozenset({429, 500, 503})


class HistoryLostError(Exception):
    """The API server no longer knows what happened since the version that was asked for."""


@dataclass(frozen=True)
class Listing:
    """All objects of a kind at one resourceVersion, by UID."""

    version: int
    objects: Mapping[str, Mapping[str, Any]]


class Watched:
    """The objects of one kind, followed for ever; each change is handed to ``note`` once and in order."""

    def __init__(
        self,
        kind: Kind,
        session: aiohttp.ClientSession,
        *,
        note: Callable[[Observation], None],
        now: clock.Clock,
    ) -> None:
        self.kind = kind
        self._session = session
        self._note = note
        self._now = now
        self._lock = Lock()
        self._known: dict[str, Mapping[str, Any]] = {}
        self._deleted: set[str] = set()
        self._version = 0

    def has_reached(self, listing: Listing) -> bool:
        """Return whether everything that ``listing`` shows, and every deletion before it, was seen."""
        with self._lock:
            fresh = all(
                uid in self._deleted or self._is_known(uid, version_of(manifest))
                for uid, manifest in listing.objects.items()
            )
            return fresh and not any(
                version_of(manifest) <= listing.version and uid not in listing.objects
                for uid, manifest in self._known.items()
            )

    def _is_known(self, uid: str, version: int) -> bool:
        return uid in self._known and version_of(self._known[uid]) >= version

    async def list(self) -> Listing:
        """Return what the API server holds now; waits while it can't say (a CRD just installed: 429)."""
        while True:
            async with self._session.get(PATHS[self.kind]) as answer:
                if answer.status not in _NOT_NOW:
                    answer.raise_for_status()
                    listed = json.loads(await answer.read())
                    break
            await asyncio.sleep(_PAUSE_SECONDS)
        objects = {item["metadata"]["uid"]: item for item in listed["items"]}
        return Listing(int(listed["metadata"]["resourceVersion"]), objects)

    async def begin(self) -> None:
        """Note what is there; ``follow`` goes on from here."""
        listing = await self.list()
        for manifest in listing.objects.values():
            self._take(Change.LISTED, manifest, since=self._now())
        self._version = listing.version

    async def follow(self) -> None:
        """Watch until cancelled."""
        lost_at: float | None = None
        while True:
            try:
                if lost_at is not None:
                    await self._relist(since=lost_at)
                    lost_at = None
                await self._watch()
            except HistoryLostError:
                lost_at = self._now()
            except (aiohttp.ClientError, TimeoutError):
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _watch(self) -> None:
        query = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": str(self._version)}
        async with self._session.get(PATHS[self.kind], params=query) as answer:
            if answer.status == _GONE:
                raise HistoryLostError
            answer.raise_for_status()
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._read(json.loads(line))

    def _read(self, event: Mapping[str, Any]) -> None:
        manifest = event["object"]
        if event["type"] == "ERROR":
            raise HistoryLostError if manifest.get("code") == _GONE else aiohttp.ClientError(str(manifest))
        if event["type"] != "BOOKMARK":
            self._take(_CHANGES[event["type"]], manifest, since=self._now())
        self._version = version_of(manifest)

    async def _relist(self, *, since: float) -> None:
        """Note what changed in the gap. Deletions go first: what took a dead Pod's place came after it."""
        listing = await self.list()
        for uid in self._known.keys() - listing.objects.keys():
            self._take(Change.DELETED, self._known[uid], since=since, version=listing.version)
        for uid, manifest in listing.objects.items():
            if uid not in self._known:
                self._take(Change.ADDED, manifest, since=since, version=listing.version)
            elif not self._is_known(uid, version_of(manifest)):
                self._take(Change.MODIFIED, manifest, since=since)
        self._version = listing.version

    def _take(
        self, change: Change, manifest: Mapping[str, Any], *, since: float, version: int | None = None
    ) -> None:
        kept = _without_managed_fields(manifest)
        seen = observation(self.kind, change, kept, time=self._now(), since=since, version=version)
        with self._lock:
            if change is Change.DELETED:
                self._known.pop(seen.uid, None)
                self._deleted.add(seen.uid)
            else:
                self._known[seen.uid] = kept
        self._note(seen)


def version_of(manifest: Mapping[str, Any]) -> int:
    """Return the object's resourceVersion."""
    return int(manifest["metadata"]["resourceVersion"])


def _without_managed_fields(manifest: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in manifest["metadata"].items() if key != "managedFields"}
    return {**manifest, "metadata": kept}
