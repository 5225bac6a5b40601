"""`murmura verify`: whether a coordinator shows browsers the page of this package."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from murmura.cli import options, serving


def verify(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the page.")],
    authority: serving.Authority = None,
    insecure: serving.Insecure = False,
    proxy: serving.Proxy = "",
    as_json: options.Json = False,
) -> None:
    """Compare every file of a served page with that of this package, and the policy it comes with.

    It says what is served to you now; exit code 1 where anything differs.
    """
    serving.need("checking a page")
    from murmura.web.verification import verify_page

    at = url.partition("#")[0].rstrip("/")
    checked = serving.Others(authority, insecure, proxy).talk(lambda send: verify_page(send, at))
    if as_json:
        typer.echo(json.dumps({"files": len(checked.found), "different": checked.different}))
    else:
        for path, why in checked.different.items():
            typer.echo(f"{path} {why}")
        same = len(checked.found) - len(checked.different)
        typer.echo(f"{at}: {same} of {len(checked.found)} files are those of this package")
    if checked.different:
        raise typer.Exit(1)
