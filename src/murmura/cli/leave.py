"""`murmura leave`: delete a device's state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import serving
from murmura.cli.console import say
from murmura.core.locks import locked


def leave(
    state: Annotated[Path, typer.Option("--state", help="The device's folder.")],
    authority: serving.Authority = None,
    insecure: serving.Insecure = False,
    proxy: serving.Proxy = "",
) -> None:
    """Leave a federation: delete the device's state, and say what cannot be recalled."""
    serving.need("leaving a federation")
    from murmura.runtimes.http.device.folder import DeviceFolder
    from murmura.runtimes.http.device.joining import leave as say_goodbye

    folder = DeviceFolder(state)
    folder.identity()  # refuses a folder that is none before anything is done
    entries = folder.journal.verify().entries
    with locked(state):
        why = serving.Others(authority, insecure, proxy).talk(lambda send: say_goodbye(folder, send))
    if why is not None:
        say(f"the coordinator could not be told ({why}) and may go on counting this device as absent.")
    say(f"deleted everything this device kept in {state}.")
    if entries:
        rounds = sorted({entry.round for entry in entries})
        sent = sum(entry.bytes for entry in entries)
        say(
            f"what cannot be recalled: {len(entries)} uploads, {sent:,} bytes, in rounds {rounds[0]} to "
            f"{rounds[-1]}; they are part of sums and of models that others have."
        )
    else:
        say("nothing had left this device, so there is nothing to recall.")
