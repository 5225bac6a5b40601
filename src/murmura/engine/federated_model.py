"""A trained federation: it ranks on behalf of its clients, and knows what training cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from murmura.baselines.base import RankingModel
from murmura.channel.consent_draws import ConsentChoices
from murmura.channel.ledger import Ledger, LedgerLine
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Algorithm, Answers, ClientState, History, RoundContext
from murmura.core.errors import DataError, RunError
from murmura.core.files import answers_of, flat_answers, group, prefixed, read_archive, write_archive
from murmura.core.interactions import Interactions, latest_each
from murmura.core.kernel import Kernel, ScoringKernel
from murmura.core.model import Among, Arrays, RankedLists, ScoreTerms, TrainingGroups
from murmura.core.population import States, member_places, stacked
from murmura.core.rng import Rng, guest_secret
from murmura.core.schedule import Schedule
from murmura.core.settings import from_dict
from murmura.engine.plan import Plan
from murmura.kernels.batched_kernel import batched


@dataclass(frozen=True, eq=False)
class FederatedModel(RankingModel):
    """What a training left: the public model, each client's state, the ledger."""

    plan: Plan
    model: Arrays
    states: States  # as training left them; `ready` is what ranks
    ledger: Ledger
    kernel: Kernel | None  # None: trained and asked by the plain loop
    rounds: int
    answers: Answers = field(default_factory=dict)  # what the last "each" phase told single clients
    refused: dict[int, str] = field(default_factory=dict)  # whose update was left out, and why
    names: tuple[str, ...] = ()  # what their owner calls the clients, where these are groups

    @property
    def path(self) -> str:
        """Which path trained it: "kernel", "batched" or "plain"."""
        return "plain" if self.kernel is None else self.kernel.path

    @cached_property
    def ready(self) -> States:
        """The clients' states after what the algorithm lets them do with the final model (refresh passes)."""
        if self.kernel is not None:
            return self.kernel.ready_clients(self.ready_context, self.states, self.plan.people, 1)
        return stacked([self._ready_client(user) for user in range(self.plan.people.clients)])

    def client_state(self, client: int) -> ClientState:
        """What one client keeps, ready to rank."""
        return {name: stack[client] for name, stack in self.ready.items()}

    def guest_state(self, history: History) -> ClientState:
        """What someone keeps who was in no client of the training: fitted on her device, nothing leaves."""
        rng = Rng(guest_secret(self.plan.seed), self.rounds)
        return self.plan.algorithm.client_fold_in(self.ready_context, history, rng)

    def score(self, users: Ints) -> NDArray[Any]:
        """The scores of all items for some users: (users, items)."""
        if isinstance(self.kernel, ScoringKernel):
            return self.kernel.score(self.ready_context, self.ready, users)
        parts = [
            (where, self.plan.algorithm.client_score(self.ready_context, state, history)[place])
            for where, place, state, history in self._asked(users)
        ]
        scores: NDArray[Any] = np.concatenate([part for _, part in parts])
        scores[np.concatenate([where for where, _ in parts])] = scores.copy()
        return scores

    def predict(self, users: Ints, items: Ints) -> Floats:
        """The value of each pair of a user and an item, by raters; the label of each sample, by classifiers."""
        values, samples = np.empty(len(users)), self.plan.data.samples
        if samples is not None and not self.states:  # no client keeps anything, so all of them answer alike
            return self.plan.algorithm.client_predict(self.ready_context, {}, samples.inputs(items))
        for where, place, state, _ in self._asked(users):
            asked = items[where]
            queries = np.column_stack([place, asked]) if samples is None else samples.inputs(asked)
            values[where] = self.plan.algorithm.client_predict(self.ready_context, state, queries)
        return values

    def score_history(self, items: Ints, time: Longs | None = None) -> NDArray[Any]:
        """The scores for someone unknown who likes `items`: fitted on her device, nothing leaves.

        `time` says when she had each of them, where that is known.
        """
        history = self._guest_history(items, time)
        state = self.guest_state(history)
        scores: NDArray[Any] = self.plan.algorithm.client_score(self.ready_context, state, history)[0]
        return scores

    def score_timed_history(self, items: Ints, time: Longs) -> NDArray[Any]:
        """The same."""
        return self.score_history(items, time)

    def terms(self, user: int) -> ScoreTerms | None:
        """What the scores of a known user are sums of, as her own device would say it."""
        ((_, _, state, history),) = self._asked(np.array([user], np.int32))
        return self.plan.algorithm.client_terms(self.ready_context, state, history)

    def terms_history(self, items: Ints, time: Longs | None = None) -> ScoreTerms | None:
        """The same for someone unknown; nothing leaves."""
        history = self._guest_history(items, time)
        return self.plan.algorithm.client_terms(self.ready_context, self.guest_state(history), history)

    def _guest_history(self, items: Ints, time: Longs | None = None) -> History:
        """Each item once, at its latest time."""
        own, when = latest_each(items, time)
        known = self.plan.info.items
        if len(own) and not 0 <= own[0] <= own[-1] < known:
            wrong = int(own[0] if own[0] < 0 else own[-1])
            raise DataError(f"an item number must be from 0 to {known - 1}, but one is {wrong}.")
        best = float(self.train.value.max())
        return History.private(own.astype(np.int32), best, time=when)

    def recommend(self, users: Ints, k: int = 10, workers: int = 1, among: Among | None = None) -> RankedLists:
        """The k best items a known user has not interacted with; ties go to the lower item id."""
        _ = self.ready  # once, before several workers ask for it
        return super().recommend(users, k, workers, among)

    @property
    def item_vectors(self) -> NDArray[Any] | None:
        """The item vectors of the public model, where it has them."""
        return self.model.get("Q")

    @property
    def clients(self) -> TrainingGroups | None:
        """The groups whose members were one client each; None: everyone was one."""
        if self.plan.groups is None:
            return None
        names = self.names or tuple(str(group) for group in range(self.plan.info.clients))
        return TrainingGroups(self.plan.groups, names, self.refused)

    def cost(self) -> dict[str, float]:
        """What left the devices, for the table beside accuracy."""
        return {**self.ledger.cost(), **self.plan.algorithm.shown(self.model)}

    def records(self) -> dict[str, Any]:
        """What a run folder keeps of the training, file by file."""
        return self.ledger.records(self.train.items.labels.tolist())

    def save(self, path: Path) -> None:
        """Keep everything training left as one file, the ledger included; `load` takes it back."""
        choices, ledger = self.plan.choices, self.ledger
        meta = {
            **self.plan.config(),
            "rounds": self.rounds,
            "path": self.path,
            "names": list(self.names),
            "refused": {str(client): why for client, why in self.refused.items()},
            "ledger": {
                "lines": ledger.rows(),
                "totals": ledger.totals,
                "papers": ledger.papers,
                "privacy": dict(ledger.privacy),
                "exposed": ledger.exposed,
                "final_bytes": ledger.final_bytes,
            },
        }
        own = prefixed(
            model=self.model,
            states=self.states,
            answers=flat_answers(self.answers),
            choices={"pi": choices.pi, "excluded": choices.excluded, "statistics": choices.statistics},
            ledger={"disclosed": ledger.disclosed, "item_rows": ledger.item_rows},
        )
        groups = {} if self.plan.groups is None else {"groups": self.plan.groups}
        write_archive(path, {**own, **groups}, meta)

    @classmethod
    def load(cls, path: Path, train: Interactions, method: Algorithm) -> Self:
        """The federation a file keeps; `method` is the algorithm it was trained with."""
        arrays, meta = read_archive(path)
        if meta["data"] != train.fingerprint:
            raise RunError("a federation must be restored with the data it was trained on, but these differ.")
        choices = ConsentChoices(meta["disclosure"], **group(arrays, "choices"))
        schedule = from_dict(Schedule, meta["schedule"])
        channel = from_dict(ChannelSettings, meta.get("channel", {}))
        plan = Plan(method, train, schedule, choices, meta["seed"], arrays.get("groups"), channel, checked=True)
        plan = plan.after(group(arrays, "model"))
        if meta.get("features") != plan.config().get("features"):
            raise RunError(
                "a federation must be restored with the features of items it was trained on, but these differ; "
                "bring back the file or train again."
            )
        if meta.get("samples") != plan.config().get("samples"):
            raise RunError(
                "a federation must be restored with the samples it was trained on, but these show something "
                "else; bring back the files or train again."
            )
        states = group(arrays, "states")
        kept: dict[str, Any] = {**meta["ledger"], **group(arrays, "ledger"), "channel": channel.summary()}
        lines = tuple(LedgerLine(**line) for line in kept.pop("lines"))
        features = method.disclosed_features(states)
        ledger = Ledger(lines, **kept, features=features, reveals=method.reveals())
        kernel = method.kernel() if meta["path"] == "kernel" else None
        kernel = batched(method) if meta["path"] == "batched" else kernel
        refused = {int(client): why for client, why in meta["refused"].items()}
        return cls(
            train,
            plan,
            group(arrays, "model"),
            states,
            ledger,
            kernel,
            meta["rounds"],
            answers_of(group(arrays, "answers")),
            refused,
            tuple(meta["names"]),
        )

    @property
    def ready_context(self) -> RoundContext:
        """What clients know when they rank."""
        return RoundContext(self.plan.info, "ready", self.rounds, self.model)

    def _ready_client(self, client: int) -> ClientState:
        people, own = self.plan.people, {name: stack[client] for name, stack in self.states.items()}
        history, rng = people.history(client, self.rounds), people.rng(client, self.rounds)
        context = replace(self.ready_context, answer=self.answers.get(client))
        return self.plan.algorithm.client_ready(context, own, history, rng)

    def _asked(self, users: Ints) -> Iterator[tuple[Ints, Ints, ClientState, History]]:
        """Who answers for `users`: their places there, places in the client, its state and its history."""
        groups = self.plan.groups
        client = np.asarray(users) if groups is None else groups[users]
        place = np.zeros(len(users), np.int32) if groups is None else member_places(groups)[users]
        for one in np.unique(client[client >= 0]).tolist():
            where = np.flatnonzero(client == one).astype(np.int32)
            yield where, place[where], self.client_state(one), self.plan.people.history(one, self.rounds)
        for at in np.flatnonzero(client < 0).tolist():
            alone = History.of(self.train, int(users[at]))
            yield np.array([at], np.int32), np.zeros(1, np.int32), self.guest_state(alone), alone
