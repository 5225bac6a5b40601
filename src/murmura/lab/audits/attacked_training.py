"""One training with what was read of it: its updates and sums are attacked, and what was found is judged.

Some attacks train again. Others read an upload: what is left over of one person's when all others of a sum are
taken off. Sums are exact, so it does not matter
what the others sent: a cohort of hers and of so many who send nothing, through the same channel with the same
noise, leaves the same over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from murmura.channel.chain import Chain
from murmura.channel.noise import simulated_noise
from murmura.core.arrays import Ints, Longs
from murmura.core.contract import RoundContext, Total
from murmura.core.interactions import Interactions
from murmura.core.population import ObservedSum
from murmura.core.progress import SILENT, Progress
from murmura.core.rng import Purpose, Rng, Stream, server_secret
from murmura.core.settings import as_dict
from murmura.core.update import SentUpdate, SparseRows, Update
from murmura.engine.federated_model import FederatedModel
from murmura.engine.visit import visit
from murmura.lab.audits.attack import (
    AdversaryKnowledge,
    Attack,
    ItemAttack,
    ObservedUpdates,
    Of,
    RatingAttack,
    chance_reference,
    claims_of,
    popularity_reference,
)
from murmura.lab.audits.attributes import SPLITS, Labels, inferred
from murmura.lab.audits.fedsplit_updates import HINTS_ALONE
from murmura.lab.audits.judge import SHARES, AttackScores, GuessScores, guess, judge, judge_traces
from murmura.lab.audits.sums.canaries import CanaryScores, TrainingAttack
from murmura.lab.audits.sums.matched_filters import UploadAttack
from murmura.lab.audits.sums.sum_attack import (
    SUMS,
    VICTIMS,
    ObservedSums,
    RowSpace,
    SumAttack,
    SumItemAttack,
    SumKnowledge,
    TracingAttack,
)
from murmura.runtimes.simulation import FederatedMethod

OWN = Purpose.OWN + 6  # the stream of guesses and hints
AGAIN = 2**62  # added to a seed: the noise of another release
REFERENCES = (popularity_reference, chance_reference)  # who read nothing


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The verdict on one attack."""

    attack: Attack
    of: str  # "client", "person", "round" or "member": whether somebody was in it, "canary"
    verdict: AttackScores | CanaryScores


@dataclass(frozen=True, eq=False)
class AttackedTraining:
    """A training, what was recorded of it, and how it is trained again where an attack needs that."""

    ready: FederatedMethod
    fitted: FederatedModel
    updates: ObservedUpdates
    sums: ObservedSums
    labels: Labels = field(default_factory=dict)  # what else is guessed of victims who are one user each

    @staticmethod
    def recorded(
        ready: FederatedMethod,
        train: Interactions,
        seed: int,
        attacks: Sequence[Attack],
        progress: Progress = SILENT,
        labels: Labels = {},  # noqa: B006
    ) -> AttackedTraining:
        """Train with what these attacks read recorded."""
        updates, sums = list[SentUpdate](), list[ObservedSum]()
        read = {one.reads for one in attacks}
        fitted = ready.fit(
            train,
            seed,
            progress,
            record=updates.append if "updates" in read else None,
            record_sums=sums.append if "sums" in read else None,
        )
        observed = ObservedUpdates(tuple(updates)), ObservedSums(tuple(sums))
        return AttackedTraining(ready, fitted, *observed, labels)

    @cached_property
    def public(self) -> AdversaryKnowledge:
        """What everybody knows."""
        plan = self.fitted.plan
        popularity = np.bincount(plan.people.item, minlength=plan.info.items)
        people = plan.data.n_users if plan.groups is None else int((plan.groups >= 0).sum())
        return AdversaryKnowledge(plan.info, as_dict(plan.algorithm), popularity, people)

    @property
    def letters(self) -> int:
        """How many messages were read."""
        return len(self.updates.updates) or len(self.sums.sums)

    def results(self, attacks: Sequence[Attack]) -> list[AttackResult]:
        """The attacks on sums, on updates, and by those who read nothing, about victims of the same kinds."""
        on_sums = [one for one in attacks if one.reads == "sums"]
        on_updates = [one for one in attacks if isinstance(one, ItemAttack)]
        made = [self.attacked(one) for one in (*on_sums, *on_updates)]
        about = {one.of for one in made}
        both: tuple[Of, ...] = ("client", "person")
        nothing_read = [kind(of) for of in both if of in about for kind in REFERENCES]
        return [*made, *map(self.attacked, nothing_read)]

    def guesses(self, attacks: Sequence[Attack]) -> list[GuessScores]:
        """Ratings guessed by the attacks that do so, beside a guess by the hints alone; where factors left."""
        ratings = [one for one in attacks if isinstance(one, RatingAttack)]
        if not ratings or not self.updates.phase("factors"):
            return []
        plan = self.fitted.plan
        stream = Rng(server_secret(plan.seed), 1).stream(OWN)
        return guess([*ratings, HINTS_ALONE], self.updates, self.public, plan.people, stream, SHARES)

    def attacked(self, attack: Attack) -> AttackResult:
        """The verdict on an attack, with a stream of its own beginning."""
        public, plan = self.public, self.fitted.plan
        if isinstance(attack, TrainingAttack):
            return AttackResult(attack, attack.of, attack.verdict(self.ready, plan.data, plan.seed))
        stream = Rng(server_secret(plan.seed)).stream(OWN if isinstance(attack, ItemAttack) else SUMS)
        if isinstance(attack, ItemAttack):
            claims = claims_of(attack, self.updates, public, plan.people, stream)
        else:
            assert isinstance(attack, SumAttack)
            known = self.knowledge(attack, stream)
            if isinstance(attack, TracingAttack):
                traces, there = attack.traces(self.sums, known, stream), self.sums.presence(known.victims)
                verdict = judge_traces(traces, there, known.victims, public.info.clients)
                return AttackResult(attack, "round", verdict)
            if isinstance(attack, UploadAttack):
                claims = attack.claims(self._left_over(attack, known), known, stream)
            else:
                assert isinstance(attack, SumItemAttack)
                claims = attack.claims(self.sums, known, stream)
        verdict = judge(claims, plan.people, public.popularity, public.info.listed)
        folds = Rng(server_secret(plan.seed)).stream(SPLITS)
        verdict.per_client.update(inferred(claims, self.labels, folds) if self.labels else {})
        return AttackResult(attack, claims.of, verdict)

    def knowledge(self, attack: SumAttack, stream: Stream) -> SumKnowledge:
        """The victims of an attack and what it is told of them.

        Who is told nothing and reads rounds claims about everyone who was in one. Who plays its victims, or
        takes their uploads, claims about some of them, drawn; about rounds also those of people who were in
        none.
        """
        people, clients = self.fitted.plan.people, self.public.info.clients
        having = np.diff(people.start) > (1 if attack.tells == "half" else 0)
        if self.sums.training and not isinstance(attack, TracingAttack):
            called = np.concatenate([one.clients for one in self.sums.training])
            having &= np.isin(np.arange(clients), called)
        if attack.tells == "rarest":
            seen = self._rarest(np.flatnonzero(having))
            having &= np.isin(np.arange(clients), list(seen))
        able = np.flatnonzero(having).astype(np.int32)
        if attack.tells in ("half", "whole") or isinstance(attack, UploadAttack):
            able = np.sort(able[stream.choose(len(able), min(VICTIMS, len(able)))])
        if attack.tells in ("half", "whole"):
            own = {victim: people.history(victim, 0).item for victim in able.tolist()}
            seen = own if attack.tells == "whole" else {one: _half(items, stream) for one, items in own.items()}
        elif attack.tells == "nothing":
            seen = {}
        best = float(self.fitted.plan.data.value.max(initial=1.0))
        return SumKnowledge(self.public, self.fitted.plan.algorithm, able, seen, best)

    def _rarest(self, clients: Longs) -> dict[int, Ints]:
        """Of everyone the rarest item that takes part in pairs; without those who have none, or no other."""
        counts, least = self.fitted.plan.info.counts, int(self.public.settings.get("least", 1))
        assert counts is not None
        found = {}
        for client in clients.tolist():
            own = self.fitted.plan.people.history(client, 0).item
            own = own[counts[own] >= max(1, least)]
            if len(own) > 1:
                found[client] = own[[np.argmin(counts[own])]]
        return found

    def _left_over(self, attack: UploadAttack, known: SumKnowledge) -> dict[int, ObservedSum]:
        """What is left over of every victim in the last round, or in the first exchange that tells of items."""
        there = [one for one in self.sums.sums if RowSpace.of(one.phase, one.info)]
        asked = self.sums.training[-1] if self.sums.training else there[0]
        return {one: left_over(self.fitted, asked, one, attack.releases) for one in known.victims.tolist()}


def left_over(fitted: FederatedModel, asked: ObservedSum, victim: int, releases: int) -> ObservedSum:
    """Her upload in an exchange like this one, with the noise of one release, or of two that differ by her."""
    plan, people = fitted.plan, fitted.plan.people
    context = RoundContext(asked.info, asked.phase.name, asked.round, asked.model)
    state = {name: stack[victim] for name, stack in fitted.states.items()}
    history, rng = people.history(victim, asked.round), people.rng(victim, asked.round)
    chain = plan.chains.get(asked.phase.name)
    made = visit(plan.algorithm, asked.phase, context, state, history, rng, chain)
    update = made.update
    if chain is not None and made.vector is not None:
        sums, others = made.vector.astype(np.int64), len(asked.clients) - 1
        seed = plan.seed + AGAIN + 2 * victim
        update = _released(chain, sums, others, seed, asked.round)
        if releases == 2:
            without = _released(chain, 0 * sums, others, seed + 1, asked.round)
            update = _times(update, 1.0) + _times(without, -1.0)
    return replace(asked, clients=np.array([victim], np.int32), total=Total(update, 1))


def _released(chain: Chain, sums: Longs, others: int, seed: int, round: int) -> Update:
    """The sum of so many more who send nothing, with noise of its own."""
    sums = sums.copy()
    sums[0] += others
    source = simulated_noise(seed) if chain.noisy else None
    return replace(chain, source=source).sum_up(sums, round).update


def _times(update: Update, factor: float) -> Update:
    """Its tables, in double precision."""
    numbers = {name: (rows.index, rows.values.astype(np.float64)) for name, rows in update.tables.items()}
    return Update({name: SparseRows(index, factor * values) for name, (index, values) in numbers.items()})


def _half(own: Ints, stream: Stream) -> Ints:
    """A random half of some items, rounded down, ascending."""
    return own[np.sort(stream.choose(len(own), len(own) // 2))]
