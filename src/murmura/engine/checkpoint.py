"""A training on disk between two rounds: taken up again, it ends with the bytes of one that never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.ledger import LedgerLine, traffic
from murmura.core.codec import RowVersions
from murmura.core.contract import ServerState
from murmura.core.errors import RunError
from murmura.core.files import answers_of, flat_answers, group, prefixed, read_archive, write_archive
from murmura.core.population import Tally
from murmura.engine.federation import Federation, ModelDownloads

NAME = "checkpoint.npz"


Packed = tuple[dict[str, NDArray[Any]], dict[str, Any]]  # arrays by name, and plain values


def save_checkpoint(
    folder: Path, f: Federation, lines: list[LedgerLine], auxiliary: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Replace the folder's checkpoint by the state after `f.rounds` rounds.

    `auxiliary` arrays are kept in the same file, so that they are never older or newer: see `read_auxiliary`.
    """
    arrays, meta = packed(f)
    meta["lines"] = [asdict(line) for line in lines]
    write_archive(folder / NAME, arrays | prefixed(beside=auxiliary or {}), meta)


def packed(f: Federation) -> Packed:
    """Everything that a training changes."""
    tally: dict[str, NDArray[Any]] = {
        "sent": np.packbits(f.tally.sent),
        "disclosed": f.tally.disclosed,
        "item_rows": f.tally.item_rows,
    }
    held, server = f.held, f.server
    arrays = prefixed(
        model=server.model,
        private=server.private,
        states=f.states,
        tally=tally,
        answers=flat_answers(f.answers),
        counted=f.counted,
        held={} if held is None else {"fetched": held.fetched, **prefixed(last=held.versions.last)},
    )
    return arrays, {
        "config": f.plan.config(),
        "rounds": f.rounds,
        "model": 0 if held is None else held.versions.number,
        "oldest": 0 if held is None else held.versions.oldest,
        "tally": traffic(f.tally),
        "refused": {str(client): why for client, why in f.refused.items()},
    }


def load_checkpoint(folder: Path, f: Federation) -> list[LedgerLine]:
    """Bring a federation to where it was saved; its lines. Without a checkpoint it is left as it is."""
    path = folder / NAME
    if not path.exists():
        return []
    arrays, meta = read_archive(path)
    here, there = f.plan.config(), meta.get("config", {})
    if differing := [name for name in here if there.get(name) != here[name]]:
        raise RunError(
            f"{path} must be a checkpoint of this training, but its {', '.join(differing)} differ; "
            "it is left untouched: give another folder, or the settings it was made with."
        )
    unpack(f, arrays, meta)
    return [LedgerLine(**line) for line in meta["lines"]]


def unpack(f: Federation, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Take up what was packed."""
    tally, held = group(arrays, "tally"), group(arrays, "held")
    sent = np.unpackbits(tally["sent"], count=len(f.plan.people.item))
    f.server = ServerState(group(arrays, "model"), group(arrays, "private"))
    f.plan = f.plan.after(f.server.model)
    f.states, f.counted = group(arrays, "states"), group(arrays, "counted")
    f.tally = Tally(sent, tally["disclosed"], tally["item_rows"], **meta["tally"])
    f.rounds, f.answers = meta["rounds"], answers_of(group(arrays, "answers"))
    if held:
        begun = RowVersions.first(f.downloads, f.plan.info.listed)
        number, oldest = meta["model"], meta.get("oldest", 0)
        versions = replace(begun, number=number, last=group(held, "last"), oldest=oldest)
        f.held = ModelDownloads(versions, held["fetched"])
    f.refused = {int(client): why for client, why in meta["refused"].items()}


def read_auxiliary(folder: Path) -> dict[str, NDArray[Any]]:
    """The auxiliary arrays of a checkpoint; nothing where there is none."""
    path = folder / NAME
    return group(read_archive(path)[0], "beside") if path.exists() else {}
