"""Free ports for what tests start side by side.

Ports that the kernel gives out on its own (the ephemeral range) may be taken by any outgoing connection
between our choice and the component's bind; ports below that range can't. Other test processes choose from
the same range at the same moment, so a chosen port is held by a socket that is bound to it and never listens.
SO_REUSEADDR, set once it is bound, lets in whoever sets that as well, as the listeners of Go programs do;
the search for a port doesn't, and goes past.
"""

import random
import socket
from collections.abc import Iterator

TEST_PORTS = range(20000, 32000)
_TRIES = 200


class HeldPorts:
    """``count`` different loopback ports on which nothing listens; no other search finds them meanwhile."""

    def __init__(self, count: int, *, rng: random.Random) -> None:
        self._holders: list[socket.socket] = []
        for holder in _holders(rng.sample(TEST_PORTS, _TRIES)):
            self._holders.append(holder)
            if len(self._holders) == count:
                return
        self.release()
        raise OSError(f"fewer than {count} free ports among {_TRIES} tried")

    @property
    def numbers(self) -> list[int]:
        """The ports."""
        return [int(holder.getsockname()[1]) for holder in self._holders]

    def release(self) -> None:
        """Leave the ports to others."""
        while self._holders:
            self._holders.pop().close()


def _holders(candidates: list[int]) -> Iterator[socket.socket]:
    for port in candidates:
        holder = socket.socket()
        try:
            holder.bind(("127.0.0.1", port))
        except OSError:
            holder.close()
            continue
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield holder
