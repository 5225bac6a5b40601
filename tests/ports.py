"""Ports for servers of tests."""

import random
import socket

# below those a system lends to outgoing connections: one of these would be taken while a server is down
RANGE = range(20_000, 32_000)


def free_ports(n: int) -> list[int]:
    """Different ports nobody listens on."""
    found: list[int] = []
    for port in random.SystemRandom().sample(RANGE, len(RANGE)):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == n:
            return found
    raise AssertionError(f"{n} free ports were wanted, but only {len(found)} are.")
