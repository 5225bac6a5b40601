"""`murmura config`: show what can be set, check a file, print its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import plain, say, table
from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.studies.configuration import ProtocolConfig

config_app = typer.Typer(no_args_is_help=True, help="Show, check and describe configuration files.")


@config_app.command("show")
@options.takes("murmura.studies.configuration:ProtocolConfig", only=("protocol", "split", "candidates"))
def show(
    config: ProtocolConfig,
    model: Annotated[str, typer.Argument(help="A model; without one, every model is listed.")] = "",
    data: options.Data = "*",
) -> None:
    """Show a model's settings in groups: what each means, may be, is by default, and what `compare` takes."""
    from murmura.studies.methods import defaults, describe_settings, names, setting_groups

    if model:
        protocol = config.whole_protocol
        chosen = defaults(protocol, data, model)
        about = {key: (kind, default) for key, kind, default in describe_settings(model)}
        columns = ["setting", "default", f"under {protocol} on {data}", "may be", "meaning"]
        for title, group in setting_groups(model).items():
            rows = [
                list(map(plain, (key, about[key][1], str(chosen.get(key, "")), about[key][0], meaning)))
                for key, meaning in group.items()
            ]
            table(f"{model}: {plain(title.removeprefix(f'{model}: '))}", columns, rows, text=True)
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
    from murmura.studies.configuration import load_config

    load_config(file)
    say(f"{file}: right")


@config_app.command("schema")
def schema(
    kind: Annotated[str, typer.Argument(help="fit, compare or a model's name.")] = "compare",
) -> None:
    """Print the JSON schema of a configuration file or of a model's settings."""
    from murmura.studies.configuration import schema as schema_of

    typer.echo(json.dumps(schema_of(kind), indent=2))
