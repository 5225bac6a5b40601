"""The one training loop: rounds are collected by a runtime, and written down, saved and watched here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from murmura.channel.disclosure import Choices
from murmura.channel.ledger import TRAFFIC, Ledger, Line, fractions, traffic, write_line
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.compiled_path import Kernel, Tally
from murmura.core.consent import Consent
from murmura.core.errors import SettingError
from murmura.core.federation import Algorithm, Public
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.record import Recorder
from murmura.core.rng import Rng, client_secrets
from murmura.core.schedule import Schedule
from murmura.engine.checkpoint import load_checkpoint, save_checkpoint
from murmura.engine.federation import Federation, Runtime, first_states
from murmura.engine.fitted import Fitted
from murmura.engine.plan import Plan

Watch = Callable[[int, Fitted], bool]  # (epochs done, the federation so far) -> go on?


def fit(
    algorithm: Algorithm,
    public: Public | None,
    data: Interactions,
    schedule: Schedule,
    *,
    runtime: Runtime,
    disclosure: Consent | Choices | None = None,
    seed: int = 0,
    groups: Ints | None = None,
    folder: Path | None = None,
    checkpoint_every: int | None = None,
    watch: Watch | None = None,
    progress: Progress = SILENT,
    record: Recorder | None = None,
    channel: ChannelSettings | None = None,
) -> Fitted:
    """Train a federation of the users of `data`, or of groups of them.

    `groups` is the client of every user, numbered from 0; a user at -1 is in none and joins after training.
    With a `folder` the training saves itself every `checkpoint_every` rounds, and goes on from there when the
    same call is made again. `watch` sees the federation after every epoch and may end the training.
    `record` is shown every update as it leaves its client, which takes the plain path; nothing else keeps them.
    `channel` is what updates go through between a client and the server; None: they are added as they are.
    """
    plan = make_plan(algorithm, public, data, schedule, disclosure, seed, groups, channel)
    if checkpoint_every is not None and (checkpoint_every < 1 or folder is None):
        raise SettingError(
            f"checkpoint_every must be at least 1 and needs a folder, but it is {checkpoint_every} "
            f"with {'no folder' if folder is None else 'one'}."
        )
    carried = tuple(phase for phase in algorithm.phases(plan.public) if phase.name in plan.chains)
    kernel = runtime.kernel_for(algorithm, carried) if record is None else None
    f, lines = begin(plan, kernel), list[Line]()
    if folder is not None:
        f, lines = load_checkpoint(folder, plan, f) or (f, lines)
    f.record = record
    before = {name: sum(getattr(line, name) for line in lines) for name in TRAFFIC}
    progress.begin(f"{algorithm.name}: rounds{_path(plan, runtime, kernel)}", plan.rounds)
    progress.advance(f.rounds)
    try:
        for stretch in plan.stretches(f.rounds, runtime.workers, checkpoint_every):
            runtime.run(f, stretch)
            progress.advance(stretch.rounds)
            ended = plan.ends_epoch(f.rounds)
            if plan.line_per_round or ended:
                lines.append(write_line(f.tally, plan.people, before, f.rounds, plan.epoch(f.rounds)))
                before = traffic(f.tally)
            if folder is not None and checkpoint_every and f.rounds % checkpoint_every == 0:
                save_checkpoint(folder, plan, f, lines)
            if ended and watch is not None and not watch(plan.epoch(f.rounds), conclude(plan, f, lines)):
                break
    finally:
        progress.end()
    return conclude(plan, f, lines)


def make_plan(
    algorithm: Algorithm,
    public: Public | None,
    data: Interactions,
    schedule: Schedule,
    disclosure: Consent | Choices | None,
    seed: int,
    groups: Ints | None = None,
    channel: ChannelSettings | None = None,
) -> Plan:
    """The training that these settings describe; refuses what cannot be trained."""
    if not isinstance(disclosure, Choices):
        disclosure = Choices.of(disclosure or Consent(), data, client_secrets(seed, data.n_users))
    public = public or Public.of(data, groups=groups)
    return Plan(algorithm, public, data, schedule, disclosure, seed, groups, channel or ChannelSettings())


def begin(plan: Plan, kernel: Kernel | None) -> Federation:
    """The federation before its first round."""
    return Federation(
        plan.algorithm,
        plan.public,
        plan.people,
        plan.server_secret,
        plan.algorithm.server_init(plan.public, Rng(plan.server_secret)),
        first_states(plan.algorithm, plan.public, plan.people, kernel),
        Tally.empty(plan.people, plan.public.items),
        kernel,
        channel=plan.channel,
        chains=plan.chains,
    )


def conclude(plan: Plan, f: Federation, lines: list[Line]) -> Fitted:
    """What there is to use after so many rounds; training that goes on does not change it."""
    ledger = Ledger(
        tuple(lines),
        traffic(f.tally),
        fractions(f.tally, plan.people),
        f.tally.item_rows.copy(),
        plan.paper_costs(f.rounds),
        plan.channel.described(),
    )
    states = {name: stack.copy() for name, stack in f.states.items()}
    kernel = None if f.kernel is None else plan.algorithm.kernel()  # without the room training needed
    model, answers, refused = dict(f.published), dict(f.answers), dict(f.refused)
    return Fitted(plan.data, plan, model, states, ledger, kernel, f.rounds, answers, refused)


def _path(plan: Plan, runtime: Runtime, kernel: Kernel | None) -> str:
    """Says so when a channel is what keeps a training from its compiled path."""
    slow = plan.chains and kernel is None and runtime.kernel_for(plan.algorithm) is not None
    return " (plain loop: the compiled path does not know this channel)" if slow else ""
