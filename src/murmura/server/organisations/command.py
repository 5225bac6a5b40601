"""`murmura silos`: a federation of organisations that run Flower, before and after its rounds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import say, table, tell
from murmura.core.errors import MissingExtraError, RunError, SettingError

if TYPE_CHECKING:
    from murmura.algorithms.preset import ConfiguredPreset

silos_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="A federation of organisations, carried by Flower."
)

Model = Annotated[str, typer.Option("--model", "-m", help="A federated method.")]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER")]
PROJECT = """\
[project]
name = "murmura-silos"
version = "1.0.0"
description = "A federated recommender of organisations"
license = { text = "Apache-2.0" }
dependencies = []  # every machine has murmura[flower] already

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["murmura_silos"]

[tool.flwr.app]
publisher = "murmura"

[tool.flwr.app.components]
serverapp = "murmura_silos.server_app:app"
clientapp = "murmura_silos.client_app:app"

[tool.flwr.app.config]
federation = ""  # the folder with the terms, where the ServerApp runs
folder = ""  # where it keeps its checkpoint and the model
silos = 2
seed = 0
patience = 3600.0  # seconds it waits for a reply
"""
# Flower reads the text for the name `app`, before it imports anything
APP = 'from murmura.server.organisations.flower_apps import {side}_app as app\n\n__all__ = ["app"]\n'
FILES = {
    "pyproject.toml": PROJECT,
    "murmura_silos/__init__.py": '"""Murmura\'s apps, under a name that Flower finds in this folder."""\n',
    "murmura_silos/server_app.py": APP.format(side="server"),
    "murmura_silos/client_app.py": APP.format(side="client"),
}


@silos_app.command("terms")
@options.takes_reading
def make_terms(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The new folder of the terms.")],
    items: Annotated[Path, typer.Option("--items", help="The items, one id per line.")],
    clients: Annotated[int, typer.Option("--clients", min=2, help="How many people there are in all silos.")],
    interactions: Annotated[int, typer.Option("--interactions", min=1, help="About how many rows they have.")],
    model: Model = "pfpl+",
    settings: options.Set = [],  # noqa: B006
    reading: options.Reading = {},  # noqa: B006
) -> None:
    """Write what organisations agree on: the method, its settings, the items. Give all of them the folder."""
    from murmura.server.described import describe_items
    from murmura.server.organisations.folder import SiloTerms

    preset = _preset(model, settings)
    terms = SiloTerms(preset, describe_items(items, preset, clients, interactions, reading))
    terms.write(out)
    say(f"terms {terms.name}: {terms.label}")
    typer.echo(str(out))


@silos_app.command("join")
@options.takes_reading
def join_silo(
    terms: Annotated[Path, typer.Argument(metavar="TERMS", help="The folder all organisations have.")],
    rows: Annotated[str, typer.Argument(metavar="ROWS", help="Your people's rows: a file, or a data set.")],
    out: Annotated[Path, typer.Option("--out", help="The new folder of the silo; it never leaves you.")],
    first: Annotated[int, typer.Option("--first", min=0, help="The number of your first person.")],
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
) -> None:
    """Make a silo of an organisation's own rows; the secrets its people draw with are drawn here."""
    from murmura.runtimes.simulation import training_rows
    from murmura.server.organisations.folder import SiloTerms, own_users

    agreed = SiloTerms.read(terms)
    people = own_users(training_rows(rows, "", data_dir, reading), agreed, first)
    people.write(out, agreed)
    say(f"clients {first} to {first + people.clients - 1} of {agreed.info.clients}: {agreed.label}")
    typer.echo(str(out))


@silos_app.command("cut")
@options.takes_reading
def cut_data(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The new folder of terms, silo-0, silo-1, ...")],
    silos: Annotated[int, typer.Option("--silos", min=1, help="How many organisations there are.")] = 2,
    data: options.Data = "ml-latest-small-2016",
    protocol: Annotated[str, typer.Option("--protocol", help="Only a protocol's training part.")] = "",
    model: Model = "pfpl+",
    settings: options.Set = [],  # noqa: B006
    seed: options.Seed = 0,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
) -> None:
    """Cut a data set into silos, for a rehearsal: secrets follow from the seed, so it equals the simulation."""
    from murmura.runtimes.simulation import groups_of, training_rows
    from murmura.server.described import describe_federation
    from murmura.server.organisations.folder import SiloTerms, cut_silos

    rows, preset = training_rows(data, protocol, data_dir, reading), _preset(model, settings)
    terms = SiloTerms(preset, describe_federation(rows, preset, seed))
    terms.write(out / "terms")
    for number, people in enumerate(cut_silos(rows, groups_of(rows, preset, seed), terms, silos, seed)):
        people.write(out / f"silo-{number}", terms)
    say(f"{terms.info.clients} clients in {silos} silos; {terms.label}")
    typer.echo(str(out))


@silos_app.command("app")
def make_app(out: Annotated[Path, typer.Argument(metavar="OUT", help="The new folder of the app.")]) -> None:
    """Write the Flower App that `flwr run` takes: its ServerApp and ClientApp are Murmura's."""
    if find_spec("flwr") is None:
        raise MissingExtraError("a federation on Flower", "flower")
    if out.exists() and any(out.iterdir()):
        raise RunError(f"{out} must be a new folder for the Flower App, but has files; choose another.")
    for name, text in FILES.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    typer.echo(str(out))


@silos_app.command("show")
def show_model(folder: Folder, as_json: options.Json = False) -> None:
    """What the server's folder holds: rounds, the digest of the model, and what the SuperLink could read."""
    from murmura.core.files import read_archive
    from murmura.server.organisations.server import MODEL

    if not (folder / MODEL).exists():
        raise RunError(f"{folder} must be the folder of a server that has finished, but has no {MODEL} yet.")
    about = read_archive(folder / MODEL)[1]
    tell(about, "\n".join(f"{key}: {value}" for key, value in about.items()), as_json)


@silos_app.command("recommend")
def recommend_items(
    folder: Folder,
    user: Annotated[str, typer.Argument(metavar="USER", help="One of the silo's people, by her id.")],
    top: Annotated[int, typer.Option("--top", min=1, help="How many items.")] = 10,
    as_json: options.Json = False,
) -> None:
    """The best items for one of a silo's people, by the latest model the server sent; nothing leaves."""
    from murmura.server.organisations.silo import Silo

    listed = Silo(folder).recommend(user, top)
    if as_json:
        tell({"user": user, "items": [item for item, _ in listed]}, "", as_json)
        return
    table(f"for {user}", ["item", "score"], [[str(item), f"{score:.4f}"] for item, score in listed])


def _preset(model: str, settings: list[str]) -> ConfiguredPreset:
    from murmura.algorithms import ALGORITHMS, algorithm

    if model not in ALGORITHMS:
        raise SettingError(f"--model must be a federated method for silos, but it is '{model}'.")
    return algorithm(model)(**options.parse_settings(settings, [model])[model])
