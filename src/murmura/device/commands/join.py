"""`murmura join`: this machine becomes a device of a federation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from murmura.cli import options
from murmura.cli.console import say, tell
from murmura.core.errors import SettingError
from murmura.core.locks import OWN, locked
from murmura.device.commands import federation_options

if TYPE_CHECKING:
    from murmura.core.interactions import Interactions
    from murmura.core.rng import Words
    from murmura.wire.admission import Invitation

Household = Annotated[bool, typer.Option("--household", help="Everyone in the file shares this device.")]
KeepBack = Annotated[
    float, typer.Option("--keep-back", min=0, max=0.9, help="Likes kept back to measure with.")
]
Simulate = Annotated[
    str, typer.Option("--simulate", metavar="SEED:CLIENT", help="Randomness of a simulation, for tests.")
]


@options.takes_reading
@federation_options.reaches_others
def join(
    federation: Annotated[
        str, typer.Argument(metavar="INVITATION", help="The link murmura://…, or an address of this machine.")
    ],
    state: Annotated[Path, typer.Option("--state", help="The device's own folder; only you can read it.")],
    data: Annotated[str, typer.Option("--data", help="A file with what you like; needed the first time.")] = "",
    user: Annotated[str, typer.Option("--user", help="Whose rows of the file, when it has several.")] = "",
    household: Household = False,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    pi: Annotated[
        float, typer.Option("--pi", min=0, max=1, help="The share of your likes you contribute.")
    ] = 1.0,
    disclosure: Annotated[
        Literal["sticky", "block"],
        typer.Option("--disclosure", help="Which of them: any, or one stretch in time; decided once."),
    ] = "sticky",
    never: Annotated[list[str], typer.Option("--never", help="An item never to be shared.")] = [],  # noqa: B006
    no_statistics: Annotated[bool, typer.Option("--no-statistics", help="No sums about people.")] = False,
    minimum: Annotated[int, typer.Option("--minimum", min=1, help="No round with smaller sums.")] = 100,
    epsilon: federation_options.Epsilon = None,
    release_epsilon: federation_options.ReleaseEpsilon = None,
    shortest_window: Annotated[
        float,
        typer.Option("--shortest-window", min=0, help="No federation with shorter release windows, in s."),
    ] = 3600.0,
    readable: federation_options.Readable = False,
    exact: federation_options.Exact = False,
    keep_back: KeepBack = 0.0,
    top: Annotated[int, typer.Option("--top", min=0, help="Recommend so many items at the end.")] = 0,
    fingerprint: federation_options.Fingerprint = "",
    first_contact: Annotated[
        bool, typer.Option("--first-contact", help="Believe whoever answers at an address for the first time.")
    ] = False,
    others: federation_options.Others = federation_options.DIRECT,
    simulate: Simulate = "",
    as_json: options.Json = False,
) -> None:
    """Join a federation with what you like, and take part in its rounds until it is finished.

    What you like stays here. The same command with the same --state goes on after an interruption.
    """
    federation_options.need("joining a federation")
    from murmura.core.consent import Permission
    from murmura.device.enrolment import JoinRequest
    from murmura.device.folder import DeviceFolder
    from murmura.device.visits import sentence, take_part

    if release_epsilon is not None and epsilon is None:
        say("--release-epsilon bounds each release alone; --epsilon bounds all of them together.")
    invited, simulated = federation_options.federation(federation, fingerprint), _simulated(simulate)
    _check_first_contact(invited, first_contact)

    def request() -> JoinRequest:
        own = _own_rows(data, user, household, data_dir, reading)
        return JoinRequest(
            invited.url,
            own.items.labels[own.item],
            own.value,
            _device_secret(simulated),
            Permission(pi=pi, statistics=not no_statistics, epsilon=epsilon, release_epsilon=release_epsilon),
            minimum,
            readable,
            exact,
            disclosure,
            keep_back,
            never=tuple(never),
            person=own.user if household else None,
            people=tuple(map(str, own.users.labels.tolist())) if household else (),
            slot=simulated and simulated[1],
            fingerprint=invited.terms or None,
            admission=invited.admission,
            shortest_window=shortest_window,
            time=own.time,
        )

    def listen(event: dict[str, object]) -> None:
        tell(event, sentence(event), as_json)

    with locked(state, OWN):
        folder = DeviceFolder(state)
        others.talk(lambda send: take_part(send, invited.url, folder, request, top, listen))


def _simulated(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    seed, _, client = text.partition(":")
    if not (seed.isdigit() and client.isdigit()):
        raise SettingError(f"--simulate must be SEED:CLIENT in whole numbers, but it is '{text}'.")
    return int(seed), int(client)


def _own_rows(
    data: str, user: str, together: bool, data_dir: Path | None, reading: dict[str, Any]
) -> Interactions:
    """What the file says of its owner, or of everyone who shares the device."""
    from murmura.data.reading import Reading
    from murmura.data.sources.registry import liked_rows, load, one_person

    if not data:
        raise SettingError("--data must name a file with what you like the first time a device joins.")
    if together:
        return liked_rows(load(data, data_dir, **reading)).compact()
    return one_person(data, user, data_dir, Reading(**reading))


def _check_first_contact(invited: Invitation, allowed: bool) -> None:
    """Refuse to believe whoever answers beyond this machine, unless its owner asks for that."""
    from murmura.wire.transport import host_of, is_loopback

    if invited.terms or allowed or is_loopback(host_of(invited.url)):
        return
    raise SettingError(
        f"{invited.url} must come with a fingerprint, or anybody on the way could answer for it; join with an "
        "invitation (murmura://…), give --fingerprint, or say --first-contact."
    )


def _device_secret(simulate: tuple[int, int] | None) -> Words:
    """Fresh randomness; that of a simulation's client where (seed, client) says so."""
    import numpy as np

    from murmura.core.rng import client_secrets

    if simulate is not None:
        seed, client = simulate
        drawn: Words = client_secrets(seed, client + 1)[client]
        return drawn
    return np.frombuffer(os.urandom(8), np.uint32)
