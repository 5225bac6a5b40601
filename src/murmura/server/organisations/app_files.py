"""The files of the Flower App: a folder that `flwr run` takes, whose two apps are Murmura's."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from murmura.core.errors import MissingExtraError, RunError

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


def write_app(folder: Path) -> None:
    """Write the app; refuses a folder with something in it, and a machine without Flower."""
    if find_spec("flwr") is None:
        raise MissingExtraError("a federation on Flower", "flower")
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} must be a new folder for the Flower App, but has files; choose another.")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
