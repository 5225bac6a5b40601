"""`murmura aggregate`: one of the two aggregators of a federation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import serving
from murmura.core.locks import locked


class AggregatorRole(StrEnum):
    """Which shares an aggregator takes."""

    seed = "seed"
    vector = "vector"


def aggregate(
    role: Annotated[AggregatorRole, typer.Argument(help="Which shares it takes: seed or vector.")],
    state: Annotated[Path, typer.Option("--state", help="The folder of this aggregator.")],
    coordinator: Annotated[str, typer.Option("--coordinator", metavar="URL", help="Whose rounds.")],
    coordinator_key: Annotated[
        str, typer.Option("--coordinator-key", help="Its public key; default: what it shows first.")
    ] = "",
    minimum: Annotated[int, typer.Option("--minimum", min=1, help="No sum of fewer devices.")] = 100,
    host: serving.Host = "127.0.0.1",
    port: serving.Port = 8401,
    tls_cert: serving.Certificate = None,
    tls_key: serving.PrivateKey = None,
    authority: serving.Authority = None,
    rate: serving.RateLimit = 200.0,
) -> None:
    """Run an aggregator: it adds up shares, learns nothing from one, and releases one sum per round.

    A federation needs two, meant for two operators: one with role seed, one with role vector.
    """
    key = serving.public_key("--coordinator-key", coordinator_key)
    place = serving.address(host, port, tls_cert, tls_key)
    url = coordinator.rstrip("/")
    with locked(state):
        serving.run_aggregator(role.value, state, minimum, url, key, place, rate, authority)
