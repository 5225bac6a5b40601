"""Ports for servers of tests."""

import random
import socket

# below those a system lends to outgoing connections: one of these would be taken while a server is down
RANGE = range(20_000, 32_000)
_reserved: list[socket.socket] = []


def free_ports(n: int) -> list[int]:
    """Different ports nobody listens on, nor will in another test process while this one lives.

    Each is reserved by the datagram port of the same number, which no server here opens, so that it stays
    reserved while its server is down.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(RANGE, len(RANGE)):
        reservation = socket.socket(type=socket.SOCK_DGRAM)
        try:
            reservation.bind(("127.0.0.1", port))
            with socket.socket() as one:
                one.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
            continue
        _reserved.append(reservation)
        found.append(port)
        if len(found) == n:
            return found
    raise AssertionError(f"{n} free ports were wanted, but only {len(found)} are.")
