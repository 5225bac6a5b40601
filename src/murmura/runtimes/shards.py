"""One shard of a federation: pure functions over a fixed range of clients, with files as their roots.

    load      the rows of the clients, mapped from a population on disk
    begin     what they keep before the first round
    step      what they keep after an exchange, and the sum of what they sent; or after they fetched its outcome
    report    what has left them so far
    save      what they keep, in a file

Nothing here knows where it runs. The same arguments give the same bytes however often a function is called,
so that a task whose worker was killed is simply run again. The range of a shard is a constant of the training,
never of the machines. What clients keep is a checkpoint of their federation, in memory or in a file.
Floating-point sums have an order, so their shards are the blocks in which one process adds them.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmura.channel.consent_draws import ConsentChoices
from murmura.channel.ledger import TRAFFIC, fractions, histogram
from murmura.core.arrays import Floats, Longs
from murmura.core.contract import Algorithm, FederationInfo, ServerState
from murmura.core.files import prefixed, read_archive, write_archive
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.population import Population, Tally
from murmura.core.rng import client_secrets
from murmura.data.populations import PopulationFiles, Rows
from murmura.engine.federation import Federation
from murmura.engine.fit import Packed, packed, unpack
from murmura.engine.plan import with_used_features
from murmura.runtimes.ranges import EMPTY, FINISHED, PartialSum, RangePlan, Request, answer, receive

A = TypeVar("A", bound=NDArray[Any])
ShardState = Packed | str  # what the clients of a shard keep, or the file it is in


def read(file: str) -> Any:
    """A plan or a request; only machines of one cluster write and read such files."""
    return pickle.loads(Path(file).read_bytes())


def population_info(algorithm: Algorithm, population: PopulationFiles) -> FederationInfo:
    """What every machine knows of a federation of the clients of a population on disk."""
    counts = population.counts
    listed = np.flatnonzero(counts).astype(np.int32)
    info = FederationInfo(population.items, listed, population.clients, population.rows, counts=counts)
    info = with_used_features(algorithm, info)
    return replace(info, counts=None) if algorithm.releases_counts else info


def load(plan: RangePlan, population: str, first: int, last: int) -> Rows:
    """The rows, secrets and consents of clients first to last."""
    rows = PopulationFiles.open(Path(population)).read(first, last)
    if rows.secret is None:
        rows = replace(rows, secret=client_secrets(plan.seed, last - first, first))
    plain = plan.consent.pi == 1.0 and plan.consent.statistics == 1.0 and plan.consent.hides == "random"
    if rows.consent is not None or plain:
        return rows
    assert rows.secret is not None
    people, items = (Vocabulary(np.arange(n, dtype=np.int64)) for n in (rows.clients, plan.info.items))
    owner = np.repeat(np.arange(rows.clients), np.diff(rows.start)).astype(np.int32)
    value = np.ones(len(rows.item)) if rows.value is None else rows.value
    data = Interactions(people, items, owner, rows.item, value, rows.time)
    choices = ConsentChoices.of(plan.consent, data, rows.secret)
    consent = choices.population(data, rows.secret).consent
    return replace(rows, consent=consent, statistics=choices.statistics)


def population(plan: RangePlan, rows: Rows) -> Population:
    """The clients of a shard; of a column that is not stored there is one number in memory.

    Compiled loops tell arrays that can be written from others, so these are as one process has them: loops for
    the other kind would be compiled anew. A column of one number is handed to none of them as it is.
    """
    ones = np.broadcast_to(1.0, len(rows.item))
    assert rows.secret is not None
    return Population(
        _frozen(rows.start),
        _frozen(rows.item),
        ones if rows.value is None else _frozen(rows.value),
        ones if rows.consent is None else np.array(rows.consent),
        np.array(rows.secret),
        per_round=plan.consent.disclosure == "per-item-per-round",
        person=None if rows.person is None else np.asarray(rows.person),
        statistics=None if rows.statistics is None else np.asarray(rows.statistics),
        time=None if rows.time is None else np.asarray(rows.time),
    )


def begin(plan: RangePlan, rows: Rows) -> ShardState:
    """What the clients keep before the first round."""
    mine = plan.of(population(plan, rows))
    return kept(Federation.begin(mine, plan.runtime.kernel_for(plan.algorithm, plan.through)))


def step(
    plan: RangePlan, rows: Rows, state: ShardState, request: Request, first: int
) -> tuple[ShardState, PartialSum]:
    """What the clients of a shard keep after an exchange, and what those of them who are called sent."""
    request = _of_shard(request, rows, first)
    f = _federation(plan, rows, state, request)
    clients = f.takes_part(f.plan.itinerary.phase(request.at), request.cohort)
    if request.phase == FINISHED:
        f.count_outcome(f.plan.itinerary.phase(request.at), clients)
        return kept(f), PartialSum(0)
    sent = answer(f, plan.runtime, request, clients)
    return kept(f), replace(sent, updates={first + client: update for client, update in sent.updates.items()})


def save(state: ShardState, file: str) -> ShardState:
    """Write what the clients of a shard keep; the same bytes whenever it is run again."""
    assert not isinstance(state, str)
    write_archive(Path(file), *state)
    return file


def arrays_of(state: ShardState) -> Packed:
    """What the clients of a shard keep, from wherever it is."""
    return read_archive(Path(state)) if isinstance(state, str) else state


@dataclass(frozen=True, eq=False)
class ShardReport:
    """What has left the clients of some shards so far."""

    traffic: dict[str, int]
    item_rows: Longs
    disclosed: tuple[Floats, Longs]  # how many clients have disclosed which fraction of their positives


def report(rows: Rows, state: ShardState) -> ShardReport:
    """What has left the clients of a shard so far."""
    arrays, meta = arrays_of(state)
    tally = Tally(np.zeros(0, np.uint8), arrays["tally.disclosed"], np.zeros(0, np.int64))
    disclosed = histogram(fractions(tally, replace(EMPTY, start=rows.start)))
    return ShardReport(meta["tally"], arrays["tally.item_rows"], disclosed)


def merge(*reports: ShardReport) -> ShardReport:
    """One report of several."""
    values, place = np.unique(np.concatenate([one.disclosed[0] for one in reports]), return_inverse=True)
    people = np.zeros(len(values), np.int64)
    np.add.at(people, place, np.concatenate([one.disclosed[1] for one in reports]))
    moved = {name: sum(one.traffic[name] for one in reports) for name in TRAFFIC}
    return ShardReport(moved, reduce(np.add, [one.item_rows for one in reports]), (values, people))


def kept(f: Federation) -> Packed:
    """What the clients of a shard keep: every request brings the model, and when its rows changed."""
    arrays, meta = packed(f)
    public = ("model.", "private.", "held.last.")
    return {name: array for name, array in arrays.items() if not name.startswith(public)}, meta


def _of_shard(request: Request, rows: Rows, first: int) -> Request:
    """The same with those of the called that are in the shard, counted from its first client.

    What came from another process cannot be written, for which loops would be compiled anew.
    """
    model = {name: np.require(array, requirements="W") for name, array in request.model.items()}
    if request.cohort is None:
        return replace(request, model=model)
    here = slice(*np.searchsorted(request.cohort, (first, first + rows.clients)))
    return replace(request, model=model, cohort=request.cohort[here] - np.int32(first))


def _federation(plan: RangePlan, rows: Rows, state: ShardState, request: Request) -> Federation:
    """The federation of one shard, in arrays of its own, after a request is heard."""
    mine = plan.of(population(plan, rows))
    f = Federation(mine, ServerState(request.model), {}, Tally.empty(EMPTY, 0))
    arrays, meta = arrays_of(state)
    unpack(f, prefixed(model=request.model) | {name: np.array(array) for name, array in arrays.items()}, meta)
    receive(f, request)
    f.kernel = plan.runtime.kernel_for(plan.algorithm, f.plan.through)
    return f


def _frozen(array: A) -> A:
    """The same memory, read-only and not mapped for whoever asks."""
    plain = np.asarray(array).view()
    plain.flags.writeable = False
    return plain  # type: ignore[return-value]
