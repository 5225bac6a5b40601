"""The one training loop: rounds are run by a runtime, and written down, saved and watched here.

A training on disk, between two rounds, ends with the bytes of one that never stopped when it is taken up again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.ledger import TRAFFIC, Ledger, LedgerLine, fractions, spread, traffic, write_line
from murmura.core.codec import RowVersions
from murmura.core.contract import ServerState
from murmura.core.errors import RunError, SettingError
from murmura.core.files import answers_of, flat_answers, group, prefixed, read_archive, write_archive
from murmura.core.population import SumObserver, Tally
from murmura.core.progress import SILENT, Progress
from murmura.core.update import UpdateObserver
from murmura.engine.federated_model import FederatedModel
from murmura.engine.federation import Federation, MaliciousClients, ModelDownloads, Runtime
from murmura.engine.plan import Plan
from murmura.kernels.batched_kernel import batched

CHECKPOINT = "checkpoint.npz"
Packed = tuple[dict[str, NDArray[Any]], dict[str, Any]]  # arrays by name, and plain values
Watch = Callable[[int, FederatedModel], bool]  # (epochs done, the federation so far) -> go on?


def fit(
    plan: Plan,
    *,
    runtime: Runtime,
    folder: Path | None = None,
    checkpoint_every: int | None = None,
    watch: Watch | None = None,
    progress: Progress = SILENT,
    record: UpdateObserver | None = None,
    record_sums: SumObserver | None = None,
    liars: MaliciousClients | None = None,
) -> FederatedModel:
    """Train the federation that `plan` describes.

    With a `folder` the training saves itself every `checkpoint_every` rounds, and goes on from there when the
    same call is made again. `watch` sees the federation after every epoch and may end the training.
    `record` is shown every update as it leaves its client, which takes the plain path; nothing else keeps them.
    `record_sums` is shown every sum as the server receives it, on any path.
    `liars` send what they like instead of their updates, within what the channel lets through.
    """
    if checkpoint_every is not None and (checkpoint_every < 1 or folder is None):
        raise SettingError(
            f"checkpoint_every must be at least 1 and needs a folder, but it is {checkpoint_every} "
            f"with {'no folder' if folder is None else 'one'}."
        )
    kernel = runtime.kernel_for(plan.algorithm, plan.through) if record is None else None
    f = Federation.begin(plan, kernel)
    lines = [] if folder is None else load_checkpoint(folder, f)
    f.record, f.record_sums, f.liars = record, record_sums, liars
    if liars is not None:
        liars.check(plan)
    slow = plan.chains and kernel is None and runtime.kernel_for(plan.algorithm) is not None
    path = " (plain loop)" if slow else ""  # a channel keeps it from its quicker path
    path = " (batched)" if kernel is not None and kernel.path == "batched" else path

    def go_on(epoch: int) -> bool:
        return watch is None or watch(epoch, conclude(f, lines))

    run_rounds(f, lines, runtime, folder, checkpoint_every, progress, go_on, path)
    return conclude(f, lines)


def run_rounds(
    f: Federation,
    lines: list[LedgerLine],
    runtime: Runtime,
    folder: Path | None = None,
    checkpoint_every: int | None = None,
    progress: Progress = SILENT,
    go_on: Callable[[int], bool] = lambda epoch: True,
    path: str = "",
) -> None:
    """Run what is left of a training; its lines grow with the rounds. `go_on` is asked after an epoch."""
    plan, itinerary = f.plan, f.plan.itinerary
    before = {name: sum(getattr(line, name) for line in lines) for name in TRAFFIC}
    progress.begin(f"rounds{path}", itinerary.rounds)
    progress.advance(f.rounds)
    try:
        for rounds in itinerary.batches(f.rounds, checkpoint_every):
            carried = f.tally.bytes_up + f.tally.bytes_down
            runtime.run(f, rounds)
            progress.advance(len(rounds))
            progress.carried(f.tally.bytes_up + f.tally.bytes_down - carried)
            ended = itinerary.ends_epoch(f.rounds)
            if itinerary.line_per_round or ended:
                now, disclosed = traffic(f.tally), spread(fractions(f.tally, plan.people))
                lines.append(write_line(now, before, disclosed, f.rounds, itinerary.epoch(f.rounds)))
                before = now
            if folder is not None and checkpoint_every and f.rounds % checkpoint_every == 0:
                save_checkpoint(folder, f, lines)
            if ended and not go_on(itinerary.epoch(f.rounds)):
                break
    finally:
        progress.end()


def conclude(f: Federation, lines: list[LedgerLine]) -> FederatedModel:
    """What there is to use after so many rounds; training that goes on does not change it."""
    plan = f.full_plan
    ledger = Ledger(
        tuple(lines),
        traffic(f.tally),
        fractions(f.tally, plan.people),
        f.tally.item_rows.copy(),
        plan.paper_costs(f.rounds),
        plan.channel.summary(),
        plan.algorithm.disclosed_features(f.states),
        plan.algorithm.reveals(),
        plan.privacy(f.rounds),
        _exposed(f),
        f.final_bytes,
    )
    states = {name: stack.copy() for name, stack in f.states.items()}
    kernel = None
    if f.kernel is not None:  # a new one, without the memory training needed
        kernel = batched(plan.algorithm) if f.kernel.path == "batched" else plan.algorithm.kernel()
    model, answers, refused = dict(f.published), dict(f.answers), dict(f.refused)
    return FederatedModel(plan.data, plan, model, states, ledger, kernel, f.rounds, answers, refused)


def _exposed(f: Federation) -> int | None:
    """People of whom the released sums tell something for certain; not known where others hold the rows."""
    people, rows = f.full_plan.people, np.flatnonzero(f.tally.sent)
    if len(f.tally.sent) != len(people.item):
        return None
    person = np.zeros(len(people.item), np.int64) if people.person is None else people.person.astype(np.int64)
    client = np.repeat(np.arange(people.clients), np.diff(people.start))
    owner = client * (int(person.max(initial=0)) + 1) + person
    return f.plan.algorithm.exposed(f.server, owner[rows], people.item[rows])


def save_checkpoint(
    folder: Path, f: Federation, lines: list[LedgerLine], auxiliary: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Replace the folder's checkpoint by the state after `f.rounds` rounds.

    `auxiliary` arrays are kept in the same file, so that they are never older or newer: see `read_auxiliary`.
    """
    arrays, meta = packed(f)
    meta["lines"] = [asdict(line) for line in lines]
    write_archive(folder / CHECKPOINT, arrays | prefixed(beside=auxiliary or {}), meta)


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
    path = folder / CHECKPOINT
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
    path = folder / CHECKPOINT
    return group(read_archive(path)[0], "beside") if path.exists() else {}
