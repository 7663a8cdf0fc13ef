"""Writes events, beside the work and never in its way.

Each event's name is made of what it tells, so one that was sent before is answered with 409 and is done. A
post that fails is tried a few times and then dropped: events are for people, status is the record.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

from bernstein_operator.api.names import CONTROLLER
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import AlreadyExistsError, ApiError, NotFoundError, RefusedError
from bernstein_operator.kube.lists import list_versions
from bernstein_operator.kube.resources import EVENTS

log = logging.getLogger(__name__)

_CAPACITY: Final = 10_000
_TRIES: Final = 5
_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Parcel:
    """An event on its way."""

    namespace: str
    body: dict[str, Any]


async def sent_events(api: KubeApi, namespaces: Iterable[str]) -> Collection[tuple[str, str]]:
    """Return namespace and name of each event of ours that is there; none where that can't be known.

    They would be sent once more then, and be answered with 409.
    """
    ours = f"reportingController={CONTROLLER}"
    try:
        return await list_versions(api, EVENTS, namespaces=namespaces, fields=ours)
    except ApiError as error:
        log.warning("events not listed", extra={"error": error.message})
        return ()


class Recorder:
    """Posts events in the background, in the order in which they were handed in."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._queue: asyncio.Queue[Parcel] = asyncio.Queue(_CAPACITY)
        self._told: set[tuple[str, int]] = set()

    def post(self, namespace: str, body: dict[str, Any]) -> None:
        """Hand in an event; returns at once."""
        try:
            self._queue.put_nowait(Parcel(namespace, body))
        except asyncio.QueueFull:
            log.warning("event dropped: too many wait", extra={"reason": body["reason"]})

    async def run(self) -> None:
        """Post until cancelled."""
        while True:
            parcel = await self._queue.get()
            try:
                await self._deliver(parcel)
            finally:
                self._queue.task_done()

    async def flush(self) -> None:
        """Return once everything handed in so far was sent or dropped."""
        await self._queue.join()

    async def _deliver(self, parcel: Parcel) -> None:
        for attempt in range(1, _TRIES + 1):
            try:
                await self._api.create(EVENTS, parcel.namespace, parcel.body)
            except AlreadyExistsError:
                return
            except (RefusedError, NotFoundError) as error:
                self._tell_once(parcel, error)
                return
            except ApiError:
                await asyncio.sleep(_PAUSE_SECONDS * attempt)
            else:
                return
        log.warning("event dropped", extra={"reason": parcel.body["reason"], "namespace": parcel.namespace})

    def _tell_once(self, parcel: Parcel, error: ApiError) -> None:
        # By namespace, not by the message: where a namespace is going away, that names each event.
        if (parcel.namespace, error.status) in self._told:
            return
        self._told.add((parcel.namespace, error.status))
        log.warning("event refused", extra={"namespace": parcel.namespace, "error": error.message})
