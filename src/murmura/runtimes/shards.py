"""One shard of a federation: pure functions over a fixed range of clients, with files as their roots.

    load    the rows of the clients, mapped from a population on disk
    begin   what they keep before the first round
    step    what they keep after an exchange, and the sum of what they sent
    add     the sum of sums, in a tree
    serve   the server's step

Nothing here knows where it runs. The same arguments give the same bytes however often a function is called,
so that a task whose worker was killed is simply run again. The range of a shard is a constant of the training,
never of the machines. Sums of a channel are whole numbers, which any cut adds up to the same bits; sums of
floating-point numbers have an order, so their shards are the blocks in which one process adds them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmura.channel.consent_draws import ConsentChoices
from murmura.channel.ledger import TRAFFIC, fractions, histogram
from murmura.core.archive import group, prefixed
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.contract import ServerState, Total
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.population import Population
from murmura.core.rng import Rng, client_secrets
from murmura.core.row_versions import RowVersions
from murmura.core.tally import Tally
from murmura.core.update import Arrays, RunningSum
from murmura.data.populations import PopulationFiles, Rows
from murmura.engine.federation import Federation, first_states, server_step
from murmura.engine.itinerary import Position
from murmura.engine.model_downloads import NONE, ModelDownloads
from murmura.runtimes.shard_plan import NOBODY, PartialSum, RawSums, ShardPlan, ShardServer, ShardState

A = TypeVar("A", bound=NDArray[Any])


def load(plan: ShardPlan, population: str, first: int, last: int) -> Rows:
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


def population(plan: ShardPlan, rows: Rows) -> Population:
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


def begin(plan: ShardPlan, rows: Rows) -> ShardState:
    """What the clients keep before the first round."""
    mine = plan.of(population(plan, rows))
    kernel = mine.runtime.kernel_for(plan.algorithm, plan.through)
    tally = Tally.empty(mine.people, 0)
    kept = prefixed(states=first_states(mine, kernel), tally={"sent": tally.sent, "disclosed": tally.disclosed})
    if plan.channel.on:
        kept["held.fetched"] = np.full(rows.clients, NONE, np.int64)
        kept["held.series"] = np.zeros(1, np.int64)
    return kept


def open_server(plan: ShardPlan) -> ShardServer:
    """The first public model."""
    state = plan.algorithm.server_init(plan.info, Rng(plan.server_secret))
    f = Federation(plan, state, {}, Tally.empty(NOBODY, plan.info.items))
    versions = RowVersions.first(f.downloads, plan.info.listed) if plan.channel.on else None
    return ShardServer(state, f.tally, versions)


def call(plan: ShardPlan, at: Position, before: Ints | None) -> Ints:
    """Whom an exchange calls, where that is not everyone."""
    everyone = np.arange(plan.info.clients, dtype=np.int32)
    return plan.itinerary.cohort(at, everyone, plan.server_secret, everyone if before is None else before)


def step(
    plan: ShardPlan,
    rows: Rows,
    state: ShardState,
    server: ShardServer,
    at: Position,
    first: int,
    called: Ints | None,
) -> tuple[ShardState, PartialSum]:
    """What the clients of a shard keep after an exchange, and what those of them who are called sent."""
    f = _federation(plan, rows, state, server)
    phase = f.plan.itinerary.phase(at)
    chain, through = f.plan.chains.get(phase.name), None
    clients = f.takes_part(phase, _here(rows, first, called))
    count, update, sums = len(clients), None, None
    if chain is not None:
        through, sums = RawSums(chain), np.zeros(chain.words, np.int64)
    if count:
        received = plan.runtime.collect(f, phase, at.round, clients, through)
        assert isinstance(received, Total)
        update, count = (received.update, received.count) if through is None else (None, count)
        sums = sums if through is None else through.sums
    else:
        f.remember_counted(phase, ())
    return _kept(f, server), PartialSum(sums, update, count, _traffic(f.tally))


def fetch(
    plan: ShardPlan,
    rows: Rows,
    state: ShardState,
    server: ShardServer,
    at: Position,
    first: int,
    called: Ints | None,
) -> tuple[ShardState, PartialSum]:
    """The clients fetch the outcome of an exchange that no later round brings them."""
    f = _federation(plan, rows, state, server)
    phase = f.plan.itinerary.phase(at)
    f.count_outcome(phase, f.takes_part(phase, _here(rows, first, called)))
    return _kept(f, server), PartialSum(None, None, 0, _traffic(f.tally))


def add(*partials: PartialSum) -> PartialSum:
    """The sum of sums; floating-point ones in the order given."""
    sums = [one.sums for one in partials if one.sums is not None]
    total = RunningSum()
    for one in partials:
        if one.update is not None:
            total.add(one.update)
    tally = Tally.empty(NOBODY, len(partials[0].tally.item_rows))
    for one in partials:
        tally = _added(tally, one.tally)
    update = total.update() if total.count else None
    return PartialSum(np.sum(sums, axis=0) if sums else None, update, sum(one.count for one in partials), tally)


def serve(plan: ShardPlan, server: ShardServer, sent: PartialSum, at: Position) -> ShardServer:
    """The server's step, of what all shards sent in an exchange."""
    f = _federation(plan, None, {}, server)
    phase = f.plan.itinerary.phase(at)
    chain = f.plan.chains.get(phase.name)
    if chain is not None:
        assert sent.sums is not None
        received = chain.sum_up(sent.sums, at.round)
    else:
        assert sent.update is not None
        received = Total(sent.update, sent.count)
        phase.sends.check_sum(received.update, received.count)
    before = f.held.versions.downloads.mark if f.held is not None else None
    f.tally = _added(server.tally, sent.tally)
    f.step(*server_step(plan.algorithm, phase.name, at.round, f.server, received))
    if f.held is None:
        f.count_outcome(phase, np.broadcast_to(np.int32(0), sent.tally.visits))
        return ShardServer(f.server, f.tally)
    versions = f.held.versions
    return ShardServer(f.server, f.tally, versions, server.series + (versions.downloads.mark != before))


def count(server: ShardServer, sent: PartialSum) -> ShardServer:
    """The server with what else was moved."""
    return replace(server, tally=_added(server.tally, sent.tally))


def traffic(server: ShardServer) -> dict[str, int]:
    """What all clients have sent and fetched so far."""
    return {name: getattr(server.tally, name) for name in TRAFFIC}


def disclosed(rows: Rows, state: ShardState) -> tuple[Floats, Longs]:
    """How many clients have disclosed which fraction of their positives so far."""
    people = replace(NOBODY, start=rows.start)
    return histogram(
        fractions(Tally(state["tally.sent"], state["tally.disclosed"], np.zeros(0, np.int64)), people)
    )


def merge(*parts: tuple[Floats, Longs]) -> tuple[Floats, Longs]:
    """One histogram of several."""
    values, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    people = np.zeros(len(values), np.int64)
    np.add.at(people, place, np.concatenate([part[1] for part in parts]))
    return values, people


def missing(plan: ShardPlan, rows: Rows, state: ShardState, server: ShardServer) -> int:
    """What the clients of a shard would still download to have the newest model."""
    return _federation(plan, rows, state, server).final_bytes if server.versions is not None else 0


def _here(rows: Rows, first: int, called: Ints | None) -> Ints:
    """Who of those that are called is in the shard, counted from its first client."""
    if called is None:
        return np.arange(rows.clients, dtype=np.int32)
    return called[slice(*np.searchsorted(called, (first, first + rows.clients)))] - np.int32(first)


def _federation(plan: ShardPlan, rows: Rows | None, state: ShardState, server: ShardServer) -> Federation:
    """The federation of one shard, in arrays of its own; without rows, the server's side."""
    at_server = ServerState(_own(server.state.model), _own(server.state.private))
    now = plan.after(at_server.model)
    mine = now.of(NOBODY if rows is None else population(plan, rows))
    kept = {name: np.array(array) for name, array in state.items()}
    tally = Tally.empty(mine.people, plan.info.items)
    if rows is not None:
        tally.sent, tally.disclosed = kept["tally.sent"], kept["tally.disclosed"]
    kernel = None if rows is None else plan.runtime.kernel_for(plan.algorithm, now.through)
    f = Federation(mine, at_server, group(kept, "states"), tally, kernel, counted=group(kept, "counted"))
    if server.versions is not None:
        fetched = kept.get("held.fetched", np.zeros(0, np.int64))
        if rows is not None and kept["held.series"][0] != server.series:
            fetched = np.full_like(fetched, NONE)
        f.held = ModelDownloads(server.versions, fetched)
    return f


def _frozen(array: A) -> A:
    """The same memory, read-only and not mapped for whoever asks."""
    plain = np.asarray(array).view()
    plain.flags.writeable = False
    return plain  # type: ignore[return-value]


def _own(arrays: Arrays) -> Arrays:
    """The same, in arrays that can be written: what came from another process cannot."""
    return {name: array if array.flags.writeable else np.array(array) for name, array in arrays.items()}


def _kept(f: Federation, server: ShardServer) -> ShardState:
    """What the clients of a shard keep, as one."""
    tally: ShardState = {"sent": f.tally.sent, "disclosed": f.tally.disclosed}
    kept = prefixed(states=f.states, tally=tally, counted=f.counted)
    if f.held is not None:
        kept["held.fetched"], kept["held.series"] = f.held.fetched, np.array([server.series], np.int64)
    return kept


def _traffic(tally: Tally) -> Tally:
    """The tally without whose rows left."""
    return replace(Tally.empty(NOBODY, 0), item_rows=tally.item_rows, **{n: getattr(tally, n) for n in TRAFFIC})


def _added(one: Tally, other: Tally) -> Tally:
    """The traffic of both."""
    moved: dict[str, Any] = {name: getattr(one, name) + getattr(other, name) for name in TRAFFIC}
    return replace(one, item_rows=one.item_rows + other.item_rows, **moved)
