"""The page's device without its screens, as a process of node."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from murmura.core.interactions import Interactions
from murmura.core.rng import client_secrets
from tests.http.processes import PATIENCE

WEB = Path(__file__).parents[2] / "web"


@cache
def built() -> Path:
    """The device as one file; built anew if a source is younger."""
    made = WEB / "build" / "node" / "device.js"
    sources = [path.stat().st_mtime for room in ("src", "headless") for path in (WEB / room).rglob("*.ts")]
    if made.exists() and made.stat().st_mtime > max(sources):
        return made
    npx = shutil.which("npx")
    assert npx is not None, "node must be installed; run make test-web"
    command = [npx, "vite", "build", "--config", "vite.node.config.ts", "--logLevel", "error"]
    subprocess.run(command, cwd=WEB, check=True)
    return made


@dataclass(frozen=True)
class Told:
    """What such a device printed."""

    visits: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    recommended: list[Any]
    ledger: dict[str, Any]


def likes_file(data: Interactions, user: int, path: Path) -> Path:
    rows = data.user == user
    times = [""] * int(rows.sum()) if data.time is None else [f",{when}" for when in data.time[rows]]
    lines = [f"{data.items.labels[item]}{when}" for item, when in zip(data.item[rows], times)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def take_part(link: str, likes: Path, seed: int, place: int, minimum: int, pi: float = 1.0) -> Told:
    """Until the federation is finished, with the secret that a simulation gives to this place."""
    node = shutil.which("node")
    assert node is not None, "node must be installed; run make test-web"
    secret = ",".join(map(str, client_secrets(seed, place + 1)[-1].tolist()))
    words = [node, "--no-warnings", str(built()), link, str(likes), secret, str(minimum), str(pi)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    (recommended,), (ledger,) = (
        [one for one in told if one["event"] == name] for name in ("recommended", "ledger")
    )
    visits, steps = ([one for one in told if one["event"] == name] for name in ("visit", "step"))
    return Told(visits, steps, recommended["items"], ledger)
