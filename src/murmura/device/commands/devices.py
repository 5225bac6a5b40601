"""`murmura devices`: many simulated devices against a real coordinator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import say, tell
from murmura.device.commands import federation_options

if TYPE_CHECKING:
    from murmura.device.http_transport import HttpTransport
    from murmura.device.simulated import RoundReport
    from murmura.wire.admission import OwnAdmission

Grouped = Annotated[
    list[str], typer.Option("--set", "-S", metavar="KEY=VALUE", help="Who is in a group, e.g. -S largest=6.")
]


@options.takes_reading
@federation_options.reaches_others
def devices(
    federation: Annotated[str, typer.Argument(metavar="LINK|URL", help="An invitation, or an address.")],
    data: Annotated[str, typer.Option("--data", help="A data set; its users or groups are the devices.")],
    n: Annotated[int | None, typer.Option("--n", min=1, help="How many devices; default all.")] = None,
    first: Annotated[int, typer.Option("--first", min=0, help="The first user or group.")] = 0,
    protocol: Annotated[str, typer.Option("--protocol", help="Only a protocol's training part.")] = "",
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    settings: Grouped = [],  # noqa: B006
    seed: options.Seed = 0,
    pi: Annotated[float, typer.Option("--pi", min=0, max=1, help="The share of their likes.")] = 1.0,
    readable: federation_options.Readable = False,
    exact: federation_options.Exact = False,
    invitations: Annotated[
        Path | None, typer.Option("--invitations", help="A file of invitations, one per device and line.")
    ] = None,
    others: federation_options.Others = federation_options.DIRECT,
    as_json: options.Json = False,
) -> None:
    """Run simulated devices until the federation is finished: their secrets come from (seed, number).

    Where the method is for groups, a device is a group: give the -S and --seed that `murmura serve` was given.
    """
    federation_options.need("devices of a federation")
    from murmura.algorithms import algorithm
    from murmura.core.consent import Permission
    from murmura.core.errors import SettingError
    from murmura.device.enrolment import about
    from murmura.device.simulated import SimulatedDevices, register_devices, run_devices
    from murmura.device.visits import ManifestEvents
    from murmura.runtimes.simulation import groups_of, training_rows

    invited = federation_options.federation(federation)
    url = invited.url
    rows = training_rows(data, protocol, data_dir, reading)
    method = str(others.talk(lambda send: about(send, url))["method"])
    preset = algorithm(method)(**options.parse_settings(settings, [method])[method])
    groups = groups_of(rows, preset, seed)
    what, places = ("users", rows.n_users) if groups is None else ("groups", int(groups.max()) + 1)
    last = places if n is None else first + n
    if not first < last <= places:
        raise SettingError(
            f"devices must be {what} 0 to {places - 1} of {data}, but {first} to {last - 1} were wanted."
        )
    simulated = SimulatedDevices(
        url,
        rows,
        seed,
        range(first, last),
        lambda _: Permission(pi=pi),
        readable=readable,
        exact=exact,
        groups=groups,
        admission=_admissions(invitations, range(first, last)),
        fingerprint=invited.terms or None,
    )

    async def take_part(send: HttpTransport) -> None:
        joined = await register_devices(simulated, send)
        say(f"{len(joined)} devices have joined {simulated.url}")
        events = ManifestEvents(send, simulated.url)
        try:
            await run_devices(
                joined, events, send, lambda report: tell(asdict(report), _sentence(report), as_json)
            )
        finally:
            await events.close()

    others.talk(take_part, connections=64, seconds=600)


def _admissions(path: Path | None, clients: range) -> Callable[[int], OwnAdmission] | None:
    """The admission of each device, from a file with a link on every line."""
    from murmura.core.errors import SettingError

    if path is None:
        return None
    try:
        links = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} must hold invitations, one a line, but cannot be read ({error}).") from None
    found = [federation_options.federation(link).admission for link in links]
    held = [one for one in found if one is not None]
    if len(held) < len(clients):
        raise SettingError(f"{path} must hold {len(clients)} invitations, but holds {len(held)}; create more.")
    return lambda client: held[client - clients.start]


def _sentence(report: RoundReport) -> str:
    what = ", ".join(f"{count} {kind}" for kind, count in sorted(report.outcomes.items()))
    why = f" ({report.why})" if report.why else ""
    spent = f"{report.bytes_up:,} bytes up, {report.seconds:.2f} s"
    at = f"round {report.round} ({report.phase}): " if report.phase else ""  # none that was believed
    return f"{at}{what}; {spent}{why}"
