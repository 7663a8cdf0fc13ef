"""The label on the leader's own Pod that the Service of the reports selects.

Agents know one address, and only the leader takes their reports. Replicas that stand by refuse them, so a
label that is wrong for a moment, or can't be written, costs a few seconds of reports and nothing else.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from bernstein_operator.api.names import LABEL_LEADER, shorten
from bernstein_operator.api.pod import Metadata
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import ApiError, NotFoundError, UnavailableError
from bernstein_operator.kube.resources import PODS

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 30.0
"""So often it is looked whether the label is where it belongs."""
RETRY_SECONDS: Final = 2.0


class _Pod(msgspec.Struct):
    meta: Metadata = msgspec.field(name="metadata")


class _Pods(msgspec.Struct):
    items: list[_Pod]


_POD: Final = msgspec.json.Decoder(_Pod)
_PODS: Final = msgspec.json.Decoder(_Pods)


class Badge:
    """Keeps the label on the Pod called ``pod`` in ``namespace`` and off all others of the same ``lease``."""

    def __init__(
        self,
        api: KubeApi,
        *,
        namespace: str,
        pod: str,
        lease: str,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._pod = pod
        self._value = shorten(lease)
        self._sleep = sleep
        self._trouble = ""

    async def keep(self) -> None:
        """Put the label on, and see to it until cancelled."""
        while True:
            pause = LOOK_SECONDS
            try:
                await self._put_right()
                self._tell("")
            except UnavailableError as error:
                pause = RETRY_SECONDS
                self._tell(str(error))
            except (ApiError, msgspec.DecodeError) as error:
                self._tell(str(error))
            await self._sleep(pause)

    async def take_off(self) -> None:
        """Take the label off our own Pod; whoever leads next does it otherwise."""
        try:
            if await self._worn():
                await self._write(self._pod, None)
        except (ApiError, msgspec.DecodeError) as error:
            self._tell(str(error))

    async def _put_right(self) -> None:
        if not await self._worn():
            await self._write(self._pod, self._value)
        params = {"labelSelector": f"{LABEL_LEADER}={self._value}"}
        wearing = _PODS.decode(await self._api.list_page(PODS, self._namespace, params=params))
        for other in (one.meta.name for one in wearing.items if one.meta.name != self._pod):
            try:
                await self._write(other, None)
            except NotFoundError:
                continue

    async def _worn(self) -> bool:
        own = _POD.decode(await self._api.get(PODS, self._namespace, self._pod))
        return own.meta.label(LABEL_LEADER) == self._value

    async def _write(self, pod: str, value: str | None) -> None:
        body = {"metadata": {"labels": {LABEL_LEADER: value}}}
        await self._api.patch(PODS, self._namespace, pod, body)

    def _tell(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("leader's label not written", extra={"pod": self._pod, "error": trouble})
        self._trouble = trouble
