"""`murmura verify`: whether a coordinator shows browsers the page of this package."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from murmura.cli import options
from murmura.device.commands import federation_options


@federation_options.reaches_others
def verify(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The address of the page, or a browser's invitation.")
    ],
    others: federation_options.Others = federation_options.DIRECT,
    as_json: options.Json = False,
) -> None:
    """Compare every file of a served page with that of this package, and the policy it comes with.

    It says what is served to you now; exit code 1 where anything differs. An invitation (…#2.…) says which
    terms are right; without one, compare the printed ones with those you were told.
    """
    federation_options.need("checking a page")
    from murmura.server.http.page_files import verify_page
    from murmura.wire.admission import Invitation

    at, _, fragment = url.partition("#")
    at = at.rstrip("/")
    pinned = Invitation.read(f"murmura+{at}#{fragment}").terms if fragment.startswith("2.") else None
    checked = others.talk(lambda send: verify_page(send, at, pinned))
    terms, aggregators = checked.terms.hash.hex(), checked.aggregators
    if as_json:
        said = {"terms": terms, "invited": pinned is not None, "aggregators": aggregators}
        typer.echo(json.dumps({"files": len(checked.found), "different": checked.different, **said}))
    else:
        for path, why in checked.different.items():
            typer.echo(f"{path} {why}")
        same = len(checked.found) - len(checked.different)
        typer.echo(f"{at}: {same} of {len(checked.found)} files are those of this package")
        typer.echo(f"terms {terms}, {'of the invitation' if pinned else 'as the server says'}")
        typer.echo(f"aggregators: {', '.join(aggregators) or 'none, the server reads each update'}")
    if checked.different:
        raise typer.Exit(1)
