"""`murmura aggregate`: one of the two aggregators of a federation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from murmura.cli.console import say
from murmura.core.locks import OWN, locked
from murmura.device.commands import federation_options
from murmura.server.commands.serve import Listening

QUIET = 1.0  # seconds between two looks at terms that were agreed


@federation_options.takes(Listening, "listening")
def aggregate(
    role: Annotated[Literal["seed", "vector"], typer.Argument(help="Which shares it takes: seed or vector.")],
    state: Annotated[Path, typer.Option("--state", help="The folder of this aggregator.")],
    coordinator: Annotated[str, typer.Option("--coordinator", metavar="URL", help="Whose rounds.")],
    coordinator_key: Annotated[
        str, typer.Option("--coordinator-key", help="Its public key; default: what it shows first.")
    ] = "",
    minimum: Annotated[int, typer.Option("--minimum", min=1, help="No sum of fewer devices.")] = 100,
    admit: Annotated[
        bool | None,
        typer.Option("--admit/--no-admit", help="Invite devices from this folder; default: the seed's."),
    ] = None,
    page_origin: Annotated[
        str,
        typer.Option(
            "--page-origin", metavar="URL", help="Whose page may send shares; default: the coordinator's."
        ),
    ] = "",
    accept_terms: Annotated[
        str, typer.Option("--accept-terms", help="Agree to other terms than before: their hash.")
    ] = "",
    listening: Listening = Listening(port=8401),  # noqa: B008
) -> None:
    """Run an aggregator: it adds up shares, learns nothing from one, and releases one sum per round.

    A federation needs two, meant for two operators: one with role seed, one with role vector.
    """
    key = federation_options.public_key("--coordinator-key", coordinator_key)
    accepted = federation_options.public_key("--accept-terms", accept_terms)
    place = listening.address()
    from murmura.server.admissions import FILE, Admitter
    from murmura.server.aggregator.aggregator import Aggregator
    from murmura.server.coordinator.witnesses import fetch_identity
    from murmura.server.database import ServerDatabase
    from murmura.server.endpoints import AGGREGATOR
    from murmura.server.http.limits import PageOrigin
    from murmura.server.http.machine_app import App
    from murmura.server.http.serving import serve
    from murmura.wire.refusals import RefusedError, UnreachableError

    coordinator = coordinator.rstrip("/")
    transport = listening.others().way_to(coordinator)
    allowed = PageOrigin.of(page_origin or coordinator)
    with locked(state, OWN):
        admits = admit if admit is not None else role == "seed"
        admitter = Admitter(ServerDatabase(state / FILE, "admitter")) if admits else None
        database = ServerDatabase(state / "aggregator.db", "aggregator")
        shown = None if admitter is None else admitter.key.public
        aggregator = Aggregator(role, database, time.time, minimum, key, shown, accepted)
        say(f"{role} aggregator at {place.url}, key {aggregator.key.public.hex()}")
        say(
            "this aggregator admits nobody"
            if admitter is None
            else "who admits: this folder's owner, who with the coordinator's could fill a sum; or --no-admit"
        )
        said, barred = b"", frozenset[bytes]()

        async def look_around() -> float | None:
            nonlocal said, barred
            if aggregator.agreement.coordinator is None:
                try:
                    found = await fetch_identity(transport, coordinator)
                except (UnreachableError, RefusedError):
                    return None
                aggregator.agreement.pin(found.key)
                say(f"the coordinator's key is {found.key.hex()}; no other is trusted from now on")
            agreed = aggregator.agreement.agreed
            if agreed is not None and agreed.hash != said:
                said = agreed.hash
                people = aggregator.agreement.info.people
                sizes = f"at least {agreed.minimum} devices, each counts for at most {people} people"
                say(f"agreed to terms {said.hex()}: {agreed.method}, sums of {sizes}")
            aggregator.forget_ended()
            if aggregator.desk.refused_twice != barred:
                barred = aggregator.desk.refused_twice
                named = ", ".join(sorted(one.hex()[:16] for one in barred)) or "none any more"
                say(f"barred, as not valid in two windows, see `murmura invite list`: admissions {named}")
            if admitter is not None and agreed is not None and admitter.follow(agreed, coordinator):
                say(f"`murmura invite create --state {state}` invites devices")
            return None if agreed is None else QUIET

        limits = listening.limits(listening.rate)
        app = App(aggregator, AGGREGATOR, limits, look_around, federation_options.TICK, allowed=allowed)
        serve(app, place)
