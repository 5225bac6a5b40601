"""`murmura leave`: delete a device's state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmura.cli.console import say
from murmura.core.locks import OWN, locked
from murmura.device.commands import federation_options


@federation_options.reaches_others
def leave(
    state: Annotated[Path, typer.Option("--state", help="The device's folder.")],
    journal: Annotated[
        Path | None, typer.Option("--journal", help="Where to keep your evidence; default: beside the folder.")
    ] = None,
    no_journal: Annotated[
        bool, typer.Option("--no-journal", help="Delete the journal and receipts too.")
    ] = False,
    others: federation_options.Others = federation_options.DIRECT,
) -> None:
    """Leave a federation: delete the device's state, keep its journal, say what cannot be recalled."""
    federation_options.need("leaving a federation")
    from murmura.device.enrolment import leave as say_goodbye
    from murmura.device.folder import DeviceFolder

    folder = DeviceFolder(state)
    terms = folder.identity().terms  # refuses a folder that is none before anything is done
    entries = folder.journal.verify().entries
    kept = None if no_journal or not entries else journal or state.with_name(f"{state.name}-journal")
    with locked(state, OWN):
        if kept is not None:
            folder.export_evidence(kept)
        why = others.talk(lambda send: say_goodbye(folder, send))
    if why is not None:
        say(f"the coordinator could not be told ({why}); a place that nobody uses is free after some rounds.")
    say(f"deleted everything this device kept in {state}.")
    if kept is not None:
        say(f"your journal and its receipts are in {kept}; `murmura ledger verify {kept}` checks them.")
    if entries:
        rounds = sorted({entry.round for entry in entries})
        sent = sum(entry.bytes for entry in entries)
        say(
            f"what cannot be recalled: {len(entries)} uploads, {sent:,} bytes, in rounds {rounds[0]} to "
            f"{rounds[-1]}; they are part of sums of at least {terms.minimum} devices, and of models that "
            "others have."
        )
        clip = f"no upload is longer than {terms.channel_settings.clip:g} in L2"
        say(f"how that is bounded: {clip}; {terms.noise.sentence()}.")
        say("docs/threats.md says what sums and models can still tell.")
        if terms.algorithm().releases_counts:
            say(
                "the next release of these sums is made without you; unless noise is added it waits until "
                f"{terms.minimum} people have come or left, as the difference of the two would be your list."
            )
    else:
        say("nothing had left this device, so there is nothing to recall.")
