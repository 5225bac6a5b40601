"""`murmura serve`: the coordinator of a federation."""

from __future__ import annotations

import contextlib
import os
import secrets as system
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from murmura.cli import options
from murmura.cli.console import say
from murmura.core.errors import SettingError
from murmura.core.locks import OWN, locked
from murmura.device.commands import federation_options

if TYPE_CHECKING:
    from murmura.core.catalogue import Catalogue
    from murmura.server.coordinator.coordinator import Coordinator
    from murmura.server.coordinator.setup import FederationSetup
    from murmura.server.http.limits import RequestLimits
    from murmura.server.http.serving import ListenAddress
    from murmura.wire.terms import FederationTerms

BURST = 10  # seconds' worth of requests an address may save up
NEW_DEVICES = 20  # that may come from one address at once
AT_START = 5  # seconds to wait for an aggregator before devices are answered

Items = Annotated[Path | None, typer.Option("--items", help="A file with the items, one id per line.")]
Like = Annotated[str, typer.Option("--like", help="Instead: a data set whose items and users to take.")]
Rules = Annotated[str, typer.Option("--protocol", help="With --like: only the training part of a protocol.")]
Clients = Annotated[int, typer.Option("--clients", min=1, help="With --items: places for devices.")]
Rows = Annotated[int, typer.Option("--interactions", min=1, help="With --items: rows there may be in all.")]
Helpers = Annotated[
    list[str], typer.Option("--aggregator", metavar="URL", help="Twice: the seed's, the vectors'.")
]
Readable = Annotated[bool, typer.Option("--readable", help="One machine: the server can read each update.")]
Tolerate = Annotated[
    int | None,
    typer.Option("--tolerate", min=0, help="Malicious devices, of exact pairs; default 4, or 1 % of places."),
]
Minimum = Annotated[int | None, typer.Option("--minimum", min=1, help="No sum of fewer devices; default 100.")]


@dataclass(frozen=True)
class Listening:
    """Where a server listens, whom it trusts, and how much one address may ask of it."""

    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")] = 8400
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="A certificate file: serve HTTPS.")] = None
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="The certificate's private key.")] = None
    authority: federation_options.Authority = None
    insecure: federation_options.Insecure = False
    behind_proxy: Annotated[
        list[str],
        typer.Option(
            "--behind-proxy", metavar="ADDRESS", help="Believe X-Forwarded-For of this proxy; or say loopback."
        ),
    ] = field(default_factory=list)
    rate: Annotated[float, typer.Option("--rate", min=1, help="Requests a second from one address.")] = 200.0

    def address(self) -> ListenAddress:
        """Where to listen; refuses what cannot work."""
        federation_options.need("a server")
        from murmura.server.http.serving import ListenAddress, proxy_networks

        federation_options.warn_insecure(self.insecure)
        proxies = proxy_networks(self.behind_proxy)
        made = ListenAddress(self.host, self.port, self.tls_cert, self.tls_key, self.insecure, proxies)
        made.check()
        return made

    def others(self) -> federation_options.Others:
        """The way to other machines."""
        return federation_options.Others(self.authority, self.insecure)

    def limits(self, registrations: float) -> RequestLimits:
        """What one address may ask for, and how many new devices a second may come from it."""
        from murmura.server.http.limits import RequestLimits

        burst = NEW_DEVICES * max(1.0, registrations)
        return RequestLimits(self.rate, BURST * self.rate, registrations, burst)


@options.takes_reading
@federation_options.takes(Listening, "listening")
def serve(
    state: Annotated[Path, typer.Option("--state", help="The folder of this federation.")],
    model: Annotated[str, typer.Option("--model", help="Which federated method.")] = "cfpl",
    items: Items = None,
    like: Like = "",
    protocol: Rules = "",
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    clients: Clients = 10_000,
    interactions: Rows = 1_000_000,
    settings: options.Set = [],  # noqa: B006
    aggregator: Helpers = [],  # noqa: B006
    readable: Readable = False,
    exact: federation_options.Exact = False,
    tolerate: Tolerate = None,
    minimum: Minimum = None,
    round_seconds: Annotated[float, typer.Option("--round-seconds", help="Until a deadline.")] = 60.0,
    hold: Annotated[float, typer.Option("--hold", help="Seconds before a device sends.")] = 5.0,
    spread: Annotated[float, typer.Option("--spread", help="Seconds over which devices send.")] = 20.0,
    window: Annotated[
        float, typer.Option("--window", min=0, help="Seconds of a release window; 0: one for ever.")
    ] = 86400.0,
    admission: Annotated[
        Literal["invited", "open"], typer.Option("--admission", help="Who may take part: invited or open.")
    ] = "invited",
    admitter: Annotated[
        str, typer.Option("--admitter", help="The key that invites; default: that of an aggregator's operator.")
    ] = "",
    expire: Annotated[
        int, typer.Option("--expire", min=1, help="Rounds a device may miss before it loses its place.")
    ] = 20,
    keep: Annotated[
        int, typer.Option("--keep", min=1, help="Models that `murmura rounds rollback` can go back to.")
    ] = 5,
    log_lost: Annotated[
        int | None,
        typer.Option("--log-lost", min=1, help="Nobody has the log after so many entries: ask owners."),
    ] = None,
    wait_for: Annotated[int, typer.Option("--wait-for", min=0, help="Devices before round 0.")] = 0,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="For tests of equal bits.")] = None,
    start: Annotated[bool, typer.Option("--start", help="Begin without `murmura rounds start`.")] = False,
    listening: Listening = Listening(),
    registrations: Annotated[
        float, typer.Option("--registrations", min=0.001, help="New devices a second from one address.")
    ] = 1.0,
) -> None:
    """Run the coordinator: it publishes rounds, and turns the sum of a round into the next model.

    By default updates travel as shares to two aggregators (`murmura aggregate`); this server never sees one.
    """
    from murmura.core.catalogue import Catalogue
    from murmura.data.sources.registry import load
    from murmura.runtimes.simulation import held_rows
    from murmura.server.coordinator.setup import FederationSetup, RoundTiming, configured, guarded
    from murmura.server.described import describe_federation, describe_items

    if (items is None) == (not like):
        raise SettingError("the items must come from --items FILE or from --like DATA, and not from both.")
    preset, channel = configured(
        model,
        options.parse_settings(settings, [model])[model],
        "readable" if readable else "secure-sum",
        minimum,
        exact,
    )
    place, others, limits = listening.address(), listening.others(), listening.limits(registrations)
    with locked(state, OWN):
        saved_seed = federation_options.load_or_create_seed(state, seed, system.randbits(64))
        if items is not None:
            described = describe_items(items, preset, clients, interactions, reading)
            known = Catalogue(described.items)
        else:
            dataset = load(like, data_dir, **reading)
            described = describe_federation(held_rows(dataset, protocol), preset, saved_seed)
            known = dataset.catalogue.restrict(described.items)
        preset, guard = guarded(preset, described.info, tolerate)
        setup = FederationSetup(
            preset,
            described,
            channel,
            RoundTiming(round=round_seconds, hold=hold, spread=spread, window=window),
            saved_seed,
            tuple(url.rstrip("/") for url in aggregator),
            wait_for,
            admission,
            (federation_options.public_key("--admitter", admitter) or b"").hex(),
            expire,
            keep,
            exact,
        )
        if guard:
            say(guard)
        _coordinate(setup, known, state, place, limits, others, start, log_lost)


def _coordinate(
    setup: FederationSetup,
    known: Catalogue,
    state: Path,
    place: ListenAddress,
    limits: RequestLimits,
    others: federation_options.Others,
    start: bool,
    log_lost: int | None,
) -> None:
    """Serve until interrupted; `known` is what people call the items."""
    from murmura.core.files import write_whole
    from murmura.server.coordinator.coordinator import Coordinator
    from murmura.server.coordinator.open_round import PollingInterval
    from murmura.server.database import ServerDatabase
    from murmura.server.described import item_titles
    from murmura.server.endpoints import COORDINATOR, UPLOADS
    from murmura.server.http.machine_app import App
    from murmura.server.http.page_files import VisitorPage
    from murmura.server.http.serving import serve as listen

    transport = others.way_to(*setup.aggregators)
    setup.itinerary()  # refuses what cannot be run before anything is said of it
    _warn(setup)
    coordinator = Coordinator(
        setup, ServerDatabase(state / "coordinator.db", "coordinator"), time.time, os.urandom
    )
    coordinator.rounds.store.takeover.log_lost = log_lost
    _compare(coordinator, others)
    write_whole(state / "operator.token", f"{coordinator.operator_token}\n".encode(), mode=0o600)
    if start and coordinator.rounds.state == "paused":
        coordinator.order("start")
    say(f"coordinator at {place.url}, key {coordinator.key.public.hex()}; token in {state / 'operator.token'}")

    polling = PollingInterval(time.time)

    agreed, waiting = False, ""

    async def move_on() -> None:
        nonlocal agreed, waiting
        rounds = coordinator.rounds
        if not agreed and rounds.keeper.confirmed:
            agreed = True
            _invite(rounds.terms, place.url)
        if not polling.due(rounds.live):
            return
        before, cut = rounds.counters["abandoned"], rounds.counters["cut"]
        try:
            await rounds.advance(transport)
            trouble = rounds.trouble
        except SettingError as error:
            trouble = str(error)
            if rounds.keeper.confirmed:
                say(f"paused: {trouble} `murmura rounds start` goes on all the same.", always=True)
        if trouble and not rounds.keeper.confirmed and trouble != waiting:
            waiting = trouble
            say(f"not agreed on terms yet: {trouble}", always=True)
        if rounds.counters["abandoned"] > before:
            say(f"a round was given up: {coordinator.history(1)[0]['reason']}")
        if rounds.counters["cut"] > cut:
            say(coordinator.history(1)[0]["reason"], always=True)

    page = VisitorPage.of(item_titles(known), [url + UPLOADS for url in setup.aggregators])
    say("this installation has no page for browsers" if page is None else f"page for browsers at {place.url}")
    app = App(coordinator, COORDINATOR, limits, move_on, federation_options.TICK, page)
    listen(app, place)


def _compare(coordinator: Coordinator, others: federation_options.Others) -> None:
    """Take over what aggregators have logged meanwhile; who does not answer now is asked later."""
    from murmura.wire.refusals import RefusedError, UnreachableError

    rounds = coordinator.rounds
    with contextlib.suppress(RefusedError, UnreachableError):
        others.talk(lambda send: rounds.catch_up(send), seconds=AT_START)


def _invite(terms: FederationTerms, url: str) -> None:
    """Say what the federation is known by, and how devices come to it."""
    from murmura.wire.admission import Invitation

    say(f"agreed on terms {terms.hash.hex()}")
    if terms.admission == "open":
        open_to_all = Invitation(url, terms.hash)
        say("everyone may join with this link, in which the host must be as others know it:")
        say(open_to_all.link())
        say(f"in a browser: {open_to_all.page()}")
    else:
        say("devices join with invitations: `murmura invite create` in the folder of whoever admits")


def _warn(setup: FederationSetup) -> None:
    least = setup.channel.minimum_cohort
    for label in setup.labels.values():
        say(f"warning: {label}.", always=True)
    if setup.admission == "open":
        say("warning: everyone may join: one person with many devices can fill a sum.", always=True)
    if least < 100:
        say(f"warning: sums of {least} devices are released; fewer than 100 hide little.", always=True)
    say(f"privacy: {setup.noise.sentence()}.")
    say(f"bytes: {setup.device_costs().sentence()}.")
    if setup.admitter:
        say(f"who admits: the holder of the key {setup.admitter}")
    elif setup.admission == "invited":
        say("who admits: an aggregator's operator, who with this server's could fill a sum; or give --admitter")
