"""Free ports for what tests start side by side.

Ports that the kernel gives out on its own (the ephemeral range) may be taken by any outgoing connection
between our choice and the component's bind; ports below that range can't.
"""

import random
import socket

TEST_PORTS = range(20000, 32000)
_TRIES = 200


def free_ports(count: int, *, rng: random.Random) -> list[int]:
    """`count` different ports on which nothing listens at this moment."""
    candidates = rng.sample(TEST_PORTS, _TRIES)
    free = [port for port in candidates[: count * 10] if _is_free(port)]
    if len(free) < count:
        raise OSError(f"fewer than {count} free ports among {count * 10} tried")
    return free[:count]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
