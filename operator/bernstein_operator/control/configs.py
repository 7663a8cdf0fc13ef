"""Reads the ConfigMaps that runs name in spec.configFrom, again and again.

They are few and small, and they are people's own: a watch on all ConfigMaps of a cluster would cost more
memory, and more trust, than reading the ones that are named.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from bernstein_operator.api.choices import CapSource
from bernstein_operator.api.objects import Key
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.decisions.run_config import read_config
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import ApiError, NotFoundError, RefusedError
from bernstein_operator.kube.resources import CONFIG_MAPS
from bernstein_operator.world.config import asked_for
from bernstein_operator.world.world import World

log = logging.getLogger(__name__)

READ_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 1.0
"""So often it is looked whether a run names a ConfigMap that hasn't been read yet."""


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


_CONFIG_MAP: Final = msgspec.json.Decoder(_ConfigMap)


class ConfigReader:
    """Keeps the world's configs as they are; ``clock`` gives monotonic seconds."""

    def __init__(self, api: KubeApi, world: World, clock: Callable[[], float]) -> None:
        self._api = api
        self._world = world
        self._clock = clock
        self._read_at: dict[Key, float] = {}

    async def run(self) -> None:
        """Read for ever."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Read what hasn't been read yet, and what was read long enough ago."""
        wanted = asked_for(self._world.runs)
        configs = self._world.configs
        configs.keep_only(wanted)
        now = self._clock()
        for key in sorted(wanted):
            if not configs.known(key) or now - self._read_at.get(key, now) >= READ_SECONDS:
                await self._read(key)
        self._read_at = {key: at for key, at in self._read_at.items() if key in wanted}

    async def _read(self, key: Key) -> None:
        self._read_at[key] = self._clock()
        try:
            config = await self._config_at(key)
        except ApiError as error:
            # What was read before stands, and a run without it waits.
            log.warning("configuration not read", extra={"config_map": "/".join(key), "error": str(error)})
            return
        self._world.configs.put(key, config, runs=self._world.runs)

    async def _config_at(self, key: Key) -> RunConfig:
        namespace, name = key
        try:
            found = _CONFIG_MAP.decode(await self._api.get(CONFIG_MAPS, namespace, name))
        except NotFoundError:
            return _unreadable(f"there is no ConfigMap {name!r}")
        except RefusedError as error:
            return _unreadable(error.message)
        return read_config(found.data or {})


def _unreadable(why: str) -> RunConfig:
    text = f"spec.configFrom: {why[:400]}; a cap that it has set stands, else the next source is tried."
    return RunConfig(warnings=(text,), unreadable=frozenset({CapSource.RUN_CONFIG, CapSource.SEED}))
