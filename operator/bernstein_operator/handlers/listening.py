"""What the operator's two ports have in common."""

from aiohttp import web


async def listen_on(port: int, runner: web.AppRunner) -> int:
    """Listen and return the port, since 0 takes any free one; OSError where it is taken."""
    await runner.setup()
    # A free port would be another one for each address family; so it is taken on loopback only.
    host = None if port else "127.0.0.1"
    await web.TCPSite(runner, host=host, port=port).start()
    return int(runner.addresses[0][1])
