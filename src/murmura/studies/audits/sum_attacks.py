"""Attacks on the sums of one training: who is attacked, what of her is known before, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.audit.attack import AdversaryKnowledge, Attack
from murmura.audit.judge import AttackScores, judge, judge_traces
from murmura.audit.sums.attack import SumAttack, SumItemAttack, SumKnowledge, TracingAttack
from murmura.audit.sums.canaries import CanaryAudit, CanaryScores
from murmura.audit.sums.membership import ModelMembership
from murmura.audit.sums.observed import ObservedSums
from murmura.audit.sums.row_space import RowSpace
from murmura.audit.sums.uploads import UploadAttack
from murmura.core.arrays import Ints, Longs
from murmura.core.interactions import Interactions
from murmura.core.observed_sum import ObservedSum
from murmura.core.rng import Purpose, Rng, Stream, server_secret
from murmura.engine.federated_model import FederatedModel
from murmura.runtimes.simulation import FederatedMethod
from murmura.studies.audits.canaries import canary_scores
from murmura.studies.audits.lone_uploads import left_over
from murmura.studies.audits.membership import membership_scores

EPSILON, CLAIMED = "epsilon at least", "claimed epsilon"
VICTIMS = 300  # of attacks that play their victims, which takes time
SUMS = Purpose.OWN + 7  # the stream of victims, known halves and copies


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The verdict on one attack."""

    attack: Attack
    of: str  # "client", "person", "round" or "member": whether somebody was in it, "canary"
    verdict: AttackScores | CanaryScores


@dataclass(frozen=True, eq=False)
class SumAudit:
    """One training whose sums are attacked, and how it is trained again where an attack needs that."""

    ready: FederatedMethod
    train: Interactions
    seed: int
    fitted: FederatedModel
    observed: ObservedSums
    public: AdversaryKnowledge

    def attacked(self, attack: Attack) -> AttackResult:
        """The verdict on an attack, with a stream of its own beginning."""
        if isinstance(attack, CanaryAudit):
            return AttackResult(attack, "canary", canary_scores(self.ready, self.train, self.seed))
        stream = Rng(server_secret(self.seed)).stream(SUMS)
        if isinstance(attack, ModelMembership):
            having = np.flatnonzero(np.diff(self.train.by_user.start)).astype(np.int32)
            victims = having[stream.choose(len(having), min(VICTIMS, len(having) // 2))]
            verdict = membership_scores(attack, self.ready, self.train, self.seed, victims, stream)
            return AttackResult(attack, "member", verdict)
        assert isinstance(attack, SumAttack)
        known = self.knowledge(attack, stream)
        if isinstance(attack, TracingAttack):
            traces, there = attack.traces(self.observed, known, stream), self.observed.presence(known.victims)
            verdict = judge_traces(traces, there, known.victims, self.public.info.clients)
            return AttackResult(attack, "round", verdict)
        if isinstance(attack, UploadAttack):
            claims = attack.claims(self._left_over(attack, known), known, stream)
        else:
            assert isinstance(attack, SumItemAttack)
            claims = attack.claims(self.observed, known, stream)
        public = self.public
        verdict = judge(claims, self.fitted.plan.people, public.popularity, public.info.listed)
        return AttackResult(attack, claims.of, verdict)

    def knowledge(self, attack: SumAttack, stream: Stream) -> SumKnowledge:
        """The victims of an attack and what it is told of them.

        Who is told nothing and reads rounds claims about everyone who was in one. Who plays its victims, or
        takes their uploads, claims about some of them, drawn; about rounds also those of people who were in
        none.
        """
        people, clients = self.fitted.plan.people, self.public.info.clients
        having = np.diff(people.start) > (1 if attack.tells == "half" else 0)
        if self.observed.training and not isinstance(attack, TracingAttack):
            called = np.concatenate([one.clients for one in self.observed.training])
            having &= np.isin(np.arange(clients), called)
        if attack.tells == "rarest":
            told = self._rarest(np.flatnonzero(having))
            having &= np.isin(np.arange(clients), list(told))
        able = np.flatnonzero(having).astype(np.int32)
        if attack.tells in ("half", "whole") or isinstance(attack, UploadAttack):
            able = np.sort(able[stream.choose(len(able), min(VICTIMS, len(able)))])
        if attack.tells in ("half", "whole"):
            own = {victim: people.history(victim, 0).item for victim in able.tolist()}
            told = own if attack.tells == "whole" else {one: _half(items, stream) for one, items in own.items()}
        elif attack.tells == "nothing":
            told = {}
        best = float(self.train.value.max(initial=1.0))
        return SumKnowledge(self.public, self.fitted.plan.algorithm, able, told, best)

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
        there = [one for one in self.observed.sums if RowSpace.of(one.phase, one.info)]
        asked = self.observed.training[-1] if self.observed.training else there[0]
        return {one: left_over(self.fitted, asked, one, attack.releases) for one in known.victims.tolist()}


def _half(own: Ints, stream: Stream) -> Ints:
    """A random half of some items, rounded down, ascending."""
    return own[np.sort(stream.choose(len(own), len(own) // 2))]
