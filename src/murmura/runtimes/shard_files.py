"""What shards and server have, in files: the roots from which a training goes on after any process was killed.

<folder>/<rounds>/<shard>.<name>.npy   what the clients of a shard keep, mapped where it is read
<folder>/<rounds>/server.npz           the public model, what the server keeps, the traffic so far
<folder>/checkpoint.json               written last: it names the rounds whose files are complete
"""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.channel.ledger import TRAFFIC
from murmura.core.archive import group, prefixed, read_archive, write_archive
from murmura.core.contract import ServerState
from murmura.core.errors import RunError
from murmura.core.files import whole_file, write_whole
from murmura.core.row_versions import RowVersions
from murmura.core.tally import Tally
from murmura.engine.federation import Federation
from murmura.runtimes.shard_plan import NOBODY, ShardPlan, ShardServer, ShardState

CHECKPOINT, PLAN = "checkpoint.json", "plan.pickle"
Saved = tuple[str, int, tuple[str, ...]]  # the folder, the shard and what it keeps


def write_plan(folder: Path, plan: ShardPlan) -> None:
    """Keep the plan where every machine reads it; only machines of one cluster write and read this file."""
    write_whole(folder / PLAN, pickle.dumps(plan))


def read_plan(folder: str) -> ShardPlan:
    """The plan of a training."""
    plan: ShardPlan = pickle.loads((Path(folder) / PLAN).read_bytes())
    return plan


def save_state(state: ShardState, folder: str, shard: int) -> Saved:
    """Write what the clients of a shard keep; the same bytes whenever it is run again."""
    for name, array in state.items():
        with whole_file(_file(folder, shard, name)) as file:
            np.save(file, array)
    return folder, shard, tuple(state)


def restore_state(saved: Saved) -> ShardState:
    """What was written, mapped."""
    folder, shard, names = saved
    return {name: np.load(_file(folder, shard, name), mmap_mode="r") for name in names}


def saved_state(folder: str, shard: int) -> Saved:
    """What a finished checkpoint has of a shard."""
    start = f"{shard:06d}."
    files = sorted(path.name for path in Path(folder).glob(f"{start}*.npy"))
    return folder, shard, tuple(name.removeprefix(start).removesuffix(".npy") for name in files)


def save_server(server: ShardServer, folder: str) -> dict[str, int]:
    """Write what the server has; tells the traffic so far."""
    traffic = {name: getattr(server.tally, name) for name in TRAFFIC}
    versions = server.versions
    arrays = prefixed(
        model=server.state.model,
        private=server.state.private,
        tally={"item_rows": server.tally.item_rows},
        last={} if versions is None else versions.last,
    )
    meta = {"tally": traffic, "number": -1 if versions is None else versions.number, "series": server.series}
    write_archive(Path(folder) / "server.npz", arrays, meta)
    return traffic


def restore_server(plan: ShardPlan, folder: str) -> ShardServer:
    """What was written."""
    arrays, meta = read_archive(Path(folder) / "server.npz")
    state = ServerState(group(arrays, "model"), group(arrays, "private"))
    tally = Tally.empty(NOBODY, 0)
    tally = replace(tally, item_rows=group(arrays, "tally")["item_rows"], **meta["tally"])
    if meta["number"] < 0:
        return ShardServer(state, tally)
    f = Federation(plan.after(state.model), state, {}, tally)
    begun = RowVersions.first(f.downloads, plan.info.listed)
    versions = replace(begun, number=meta["number"], last=group(arrays, "last"))
    return ShardServer(state, tally, versions, meta["series"])


def write_checkpoint(folder: Path, rounds: int, told: dict[str, Any]) -> None:
    """From now on a training goes on after so many rounds; the files of earlier ones are removed."""
    write_whole(folder / CHECKPOINT, json.dumps({"rounds": rounds, **told}, indent=1).encode())
    for other in folder.iterdir():
        if other.is_dir() and other.name.isdecimal() and other.name != str(rounds):
            shutil.rmtree(other, ignore_errors=True)


def read_checkpoint(folder: Path, config: dict[str, Any]) -> dict[str, Any] | None:
    """What the last checkpoint says; None without one, a refusal for that of another training."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        told: dict[str, Any] = json.loads(path.read_text())
        there = told["config"]
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{path} must be a checkpoint, but cannot be read ({error}); remove it.") from None
    differing = [name for name in config if there.get(name) != config[name]]
    if differing:
        raise RunError(
            f"{path} must be of this training, but its {', '.join(differing)} differ; give another folder."
        )
    return told


def _file(folder: str, shard: int, name: str) -> Path:
    return Path(folder) / f"{shard:06d}.{name}.npy"
