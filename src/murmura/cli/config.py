"""`murmura config`: show what can be set, check a file, print its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options
from murmura.cli.console import say, table
from murmura.core.errors import SettingError

config_app = typer.Typer(no_args_is_help=True)


@config_app.command("show")
def show(
    model: Annotated[str, typer.Argument(help="A model; without one, every model is listed.")] = "",
    protocol: options.ProtocolName = "default",
    data: options.Data = "*",
) -> None:
    """Show a model's settings: what each may be, its default, and what `compare` takes where."""
    from murmura.studies.config import describe_settings
    from murmura.studies.methods import defaults, names

    if model:
        chosen = defaults(protocol, data, model)
        rows = [
            [key, kind, default, str(chosen.get(key, ""))] for key, kind, default in describe_settings(model)
        ]
        table(model, ["setting", "may be", "default", f"under {protocol} on {data}"], rows)
        return
    rows = []
    for name in names():
        try:
            rows.append([name, ", ".join(key for key, _, _ in describe_settings(name))])
        except SettingError as error:  # of a package that is broken: the others are listed all the same
            say(str(error))
    table("models", ["model", "settings"], rows)


@config_app.command("check")
def check(file: Annotated[Path, typer.Argument(help="A YAML configuration.")]) -> None:
    """Check a file; says nothing and exits 0 when it is right."""
    from murmura.studies.config import load_config

    load_config(file)
    say(f"{file}: right")


@config_app.command("schema")
def schema(
    kind: Annotated[str, typer.Argument(help="fit, compare or a model's name.")] = "compare",
) -> None:
    """Print the JSON schema of a configuration file or of a model's settings."""
    from murmura.studies.config import schema as schema_of

    typer.echo(json.dumps(schema_of(kind), indent=2))
