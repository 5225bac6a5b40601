"""`murmura ledger`: check and export the journal of what left a device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from murmura.cli import options
from murmura.cli.console import say

if TYPE_CHECKING:
    from murmura.device.journal import VerifiedJournal

ledger_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Check and export what left a device."
)
Place = Annotated[
    Path, typer.Argument(metavar="FILE|FOLDER", help="A journal, or a folder with journals below it.")
]


@ledger_app.command("verify")
def verify(
    place: Place,
    head: Annotated[
        str | None, typer.Option("--head", help="A hash printed before: the journal must still contain it.")
    ] = None,
    receipts: Annotated[
        Path | None, typer.Option("--receipts", help="A copy of receipts.jsonl that was kept elsewhere.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Check that no line of a journal was changed, moved or removed, and print its head.

    In a device's folder every receipt is checked too: the aggregators have countersigned the journal's head
    with each upload. A head noted elsewhere (--head), or a copy of the receipts (--receipts), proves the same.
    """
    from murmura.core.errors import SettingError
    from murmura.device.folder import DeviceFolder
    from murmura.device.journal import journals

    checked, countersigned = {}, {}
    for journal in journals(place):
        name, folder = str(journal.path), DeviceFolder(journal.path.parent)
        checked[name] = journal.verify(head)
        if folder.has_evidence:
            countersigned[name] = folder.check_evidence(receipts)
        elif receipts is not None:
            raise SettingError(
                f"--receipts must be checked in a device's folder, or in what `murmura leave` kept of one, but "
                f"{journal.path.parent} has no terms."
            )
    if as_json:
        found = [
            {
                "file": name,
                **_facts(one),
                "receipts": countersigned.get(name),
                "unfinished": one.unfinished,
            }
            for name, one in checked.items()
        ]
        typer.echo(json.dumps(found, indent=2))
        return
    for name, one in checked.items():
        facts = _facts(one)
        typer.echo(
            f"{name}: unbroken, {facts['uploads']} uploads, {facts['bytes']} bytes, "
            f"{facts['disclosed']:.1%} of the positives disclosed, "
            + (f"epsilon {facts['epsilon']:g} spent, " if "epsilon" in facts else "")
            + f"head {facts['head']}"
            + (f", {countersigned[name]} receipts agree" if name in countersigned else "")
        )
        if one.unfinished:
            say(f"{name} ends in an unfinished line: a crash; that upload never left, the next one removes it.")


@ledger_app.command("export")
def export(
    place: Place,
    kind: Annotated[Literal["csv", "json"], typer.Option("--as", help="csv or json.")] = "csv",
) -> None:
    """Print every entry of a journal, after checking it."""
    from murmura.core.errors import SettingError
    from murmura.device.journal import journals

    found = journals(place)
    if len(found) > 1:
        raise SettingError(
            f"{place} must hold one journal to export, but holds {len(found)}; give one file, such as "
            f"{found[0].path}."
        )
    typer.echo(found[0].export(kind), nl=False)


def _facts(one: VerifiedJournal) -> dict[str, Any]:
    last = one.entries[-1].disclosed if one.entries else 0.0
    bound = one.entries[-1].epsilon if one.entries else None
    return {
        **({} if bound is None else {"epsilon": round(bound, 4), "delta": one.entries[-1].delta}),
        "uploads": sum(entry.event == "upload" for entry in one.entries),
        "bytes": sum(entry.bytes for entry in one.entries),
        "disclosed": round(last, 4),
        "head": one.head,
    }
