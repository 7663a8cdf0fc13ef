"""kopf as the process's shell: its settings, its login, and when our own loop starts and stops.

On its way out kopf cancels whatever was started in its event loop after itself, so the loop is started and
stopped inside its own start-up and clean-up.
"""

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import uniform
from typing import Any, Final

import kopf

from bernstein_operator.api.names import GROUP
from bernstein_operator.control import clock
from bernstein_operator.kube.connection import Connection

CREDENTIALS_LAST: Final = timedelta(seconds=60)
"""Tokens rotate: kopf asks for them again after this time."""


class EndlessBackoffs:
    """Pauses between kopf's attempts at a request; kopf ends the operator where they run out."""

    def __iter__(self) -> Iterator[float]:
        """Yield 0.1, 0.2, 0.4 … up to 10 seconds, for ever, each a little off."""
        pause = 0.1
        while True:
            yield pause * uniform(0.7, 1.3)
            pause = min(pause * 2, 10.0)


def configure(settings: kopf.OperatorSettings) -> None:
    """Set everything that keeps kopf from writing, from giving up, and from standing still."""
    settings.peering.standalone = True
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.networking.error_backoffs = EndlessBackoffs()
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    settings.watching.server_timeout = 290
    settings.watching.client_timeout = 300
    settings.watching.connect_timeout = 10
    settings.watching.chunk_size = 500
    settings.queueing.idle_timeout = 1.0
    settings.process.ultimate_exiting_timeout = 25
    settings.persistence.finalizer = f"{GROUP}/unused"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP, v1=False)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=GROUP, v1=False)


def attach(
    registry: kopf.OperatorRegistry,
    connection: Connection,
    *,
    start: Callable[[], Awaitable[None]],
    stop: Callable[[], Awaitable[None]],
) -> None:
    """Have kopf log in as we do, and start and stop our loop with itself."""

    async def login(**_: object) -> kopf.ConnectionInfo:
        return await _credentials(connection)

    async def startup(settings: kopf.OperatorSettings, **_: object) -> None:
        configure(settings)
        await start()

    async def cleanup(**_: object) -> None:
        await stop()

    kopf.on.login(registry=registry)(login)
    kopf.on.startup(registry=registry, errors=kopf.ErrorsMode.PERMANENT)(startup)
    kopf.on.cleanup(registry=registry)(cleanup)


async def _credentials(connection: Connection) -> kopf.ConnectionInfo:
    certificate, key = connection.client_certificate or (None, None)
    scheme, _, token = (await connection.authorization() or "").partition(" ")
    expiry: dict[str, Any] = {"expiration": _expiration(clock.now())} if token else {}
    return kopf.ConnectionInfo(
        server=connection.server,
        ca_path=connection.certificate_authority,
        insecure=not connection.verified,
        certificate_path=certificate,
        private_key_path=key,
        scheme=scheme or None,
        token=token or None,
        **expiry,
    )


def _expiration(now: datetime) -> datetime:
    return (now + CREDENTIALS_LAST).astimezone(UTC)
