"""A training on disk between two rounds: taken up again, it ends with the bytes of one that never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.ledger import TRAFFIC, LedgerLine
from murmura.core.archive import answers_of, flat_answers, group, prefixed, read_archive, write_archive
from murmura.core.contract import ServerState
from murmura.core.errors import RunError
from murmura.core.row_versions import RowVersions
from murmura.core.tally import Tally
from murmura.engine.federation import Federation

NAME = "checkpoint.npz"


def save_checkpoint(
    folder: Path, f: Federation, lines: list[LedgerLine], beside: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Replace the folder's checkpoint by the state after `f.rounds` rounds.

    `beside` is kept in the same file, so that it is never older or newer; `read_beside` gives it back.
    """
    tally: dict[str, NDArray[Any]] = {
        "sent": np.packbits(f.tally.sent),
        "disclosed": f.tally.disclosed,
        "item_rows": f.tally.item_rows,
    }
    server, answers = f.server, flat_answers(f.answers)
    arrays = prefixed(
        model=server.model,
        private=server.private,
        states=f.states,
        tally=tally,
        answers=answers,
        counted=f.counted,
        held={} if f.held is None else {"fetched": f.held.fetched, **prefixed(last=f.held.versions.last)},
        beside=beside or {},
    )
    meta = {
        "config": f.plan.config(),
        "rounds": f.rounds,
        "model": 0 if f.held is None else f.held.versions.number,
        "tally": {name: getattr(f.tally, name) for name in TRAFFIC},
        "lines": [asdict(line) for line in lines],
        "refused": {str(client): why for client, why in f.refused.items()},
    }
    write_archive(folder / NAME, arrays, meta)


def load_checkpoint(folder: Path, f: Federation) -> tuple[Federation, list[LedgerLine]] | None:
    """The federation as it was saved, and its lines; None without a checkpoint, a refusal for another's."""
    path = folder / NAME
    if not path.exists():
        return None
    arrays, meta = read_archive(path)
    _require_same(path, meta.get("config", {}), f.plan.config())
    tally = group(arrays, "tally")
    sent = np.unpackbits(tally["sent"], count=len(f.plan.people.item))
    f.server = ServerState(group(arrays, "model"), group(arrays, "private"))
    f.plan = f.plan.after(f.server.model)
    f.states = group(arrays, "states")
    f.tally = Tally(sent, tally["disclosed"], tally["item_rows"], **meta["tally"])
    f.rounds = meta["rounds"]
    f.answers = answers_of(group(arrays, "answers"))
    f.counted = group(arrays, "counted")
    if f.held is not None:
        held = group(arrays, "held")
        f.held.fetched = held["fetched"]
        begun = RowVersions.first(f.downloads, f.plan.info.listed)
        f.held.versions = replace(begun, number=meta["model"], last=group(held, "last"))
    f.refused = {int(client): why for client, why in meta["refused"].items()}
    return f, [LedgerLine(**line) for line in meta["lines"]]


def read_beside(folder: Path) -> dict[str, NDArray[Any]]:
    """What was kept beside a checkpoint; nothing where there is none."""
    path = folder / NAME
    return group(read_archive(path)[0], "beside") if path.exists() else {}


def _require_same(path: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    differing = [name for name in here if there.get(name) != here[name]]
    if differing:
        raise RunError(
            f"{path} must be a checkpoint of this training, but its {', '.join(differing)} differ; "
            "it is left untouched: give another folder, or the settings it was made with."
        )
