"""Eren, Richards, Bhattarai, Yus, Nicholas and Alexandrov: FedSPLIT: One-Shot Federated Recommendation System
Based on Non-negative Joint Matrix Factorization and Knowledge Distillation (arXiv 2205.02359, 2022).

A client is a group of people, a household or an organisation. Exchange 0: the groups' mean ratings in, their
mean mu out (equation 14). Exchange 1: each group factorises its own ratings by collaborative NMF and sends H
and the item biases b_H; the server factorises all H side by side, X ~ patterns M, and answers each group with
its own columns of M. The group's W M' then combines the global patterns into predictions (equations 15 to 19).

Algorithm 1 prints a Hadamard product in line 12 and b_W in line 10: shapes allow only equation 18 and b_H.
Groups tune their own settings, as in the paper. With the settings from `bias` on at their defaults this is the
published method, to the bit. They are what we add, and what the paper leaves open; docs/papers/fedsplit.md says
what each changes, measured:

bias      what an item's bias is averaged over
    all         all groups, as printed: one that never saw the item counts as a zero
    seen        the groups that sent the item
    counts      these, weighed by how many ratings of it each has; the update says how many
    means       as counts, of the mean residual of its ratings in place of b_H, shrunk by `ridge_bias` ratings
finish    how a group comes to its predictions
    distil      W M', as printed (equation 18)
    ridge       ours: everyone's factors and bias are solved anew against the patterns; nobody needs an answer
    local       the groups' own rows of table 3: only the mean is exchanged, everybody keeps her factorisation
judge     ours: updates say how well their group predicts ratings it held out itself
    weigh       an update counts by the inverse of that error
    leave-out   updates whose error is above `worst` are left out; their groups join after training
unrated   ours: what an update says of items its group has not rated; `cover` has the methods
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.fedsplit.cover import (
    fill_unrated,
    prior_of,
    prior_sums,
    refit_user_factors,
    with_decoys,
)
from murmura.algorithms.fedsplit.groups import (
    SURE,
    GroupFactors,
    LocalModel,
    aligned,
    combine_biases,
    factorise_group,
    held_out_error,
    join,
    joint_patterns,
    mark,
    solve_ridge,
    too_large,
    unable,
)
from murmura.algorithms.pattern_rater import MU, PatternRater, mu_of
from murmura.algorithms.preset import GROUPS, Preset
from murmura.core.arrays import Bools, Floats
from murmura.core.contract import (
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import DataError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng, Stream
from murmura.core.settings import PRIVATE, Count, Positive, settings
from murmura.core.update import Arrays, SparseRows, Update
from murmura.kernels.factorisation.cnmf_steps import CnmfSettings, Step, Weight

Unrated = Literal["zero", "prior", "decoys"]
DECOYS = Purpose.OWN + 1  # the stream of made-up ratings
JUDGING = Purpose.OWN + 2  # the stream of the ratings a group holds out to judge itself


@settings
class FedSplit(CnmfSettings, PatternRater):
    """One exchange of item factors between groups. The server reads every update."""

    name: ClassVar[str] = "fedsplit"

    factors: Count = 5  # k of a group, at most one less than it has people
    alpha: Weight = 0.08
    beta: Weight = 0.08
    gamma: Weight = 0.04
    delta: Weight = 0.04
    eta_w: Step = 0.009
    eta_h: Step = 0.009
    patterns: Count = 20  # K of the joint factorisation
    joint_epochs: Count = 1000  # updates of the joint factorisation at most
    # what groups chose, by `mark` of their rows
    tuned: dict[str, CnmfSettings] = field(default_factory=dict, metadata=PRIVATE)
    precision: Literal["float32", "float64"] = "float32"  # the numbers of the model and of updates
    bias: Literal["all", "seen", "counts", "means"] = "all"  # how the item biases of groups are averaged
    ridge_bias: Positive = 5.0  # of item means, by `bias="means"`; of the user biases, by `finish="ridge"`
    finish: Literal["distil", "ridge", "local"] = "distil"  # how predictions are made of what was exchanged
    ridge: Positive = 6.0  # of the user factors, by `finish="ridge"`
    judge: Literal["no", "weigh", "leave-out"] = "no"  # whether updates count by how well their group predicts
    worst: Positive = 1.5  # the mean squared error beyond which an update is left out
    unrated: Unrated = "zero"  # what an update says of items the group has not rated
    clip: Positive | None = None  # no sent factor or bias is larger; the server refuses it

    @property
    def counted(self) -> bool:
        """Whether updates say how many ratings of an item there are."""
        return self.bias in ("counts", "means")

    @property
    def covered(self) -> bool:
        """Whether updates have a row for every item on offer; groups alone send no update."""
        return self.unrated != "zero" and self.finish != "local"

    @property
    def width(self) -> int:
        """Numbers of an item in an update: its factors, its bias and perhaps the count."""
        return self.factors + 1 + self.counted

    def _prior_table(self, info: FederationInfo, name: str) -> TableSpec:
        return TableSpec(name, "dense", info.items, 2, self.precision)

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of means, then updates of item factors and biases, perhaps with the error of their group.

        Groups alone stop after the means. Where unrated items are covered the means come with a sum of priors,
        and an update has a row for every item.
        """
        means = Phase("means", MessageSpec(scalars=("mean", "groups")), repeat=1, receives=MessageSpec())
        if self.finish == "local":
            return (replace(means, returns=True),)
        received: tuple[TableSpec, ...] = (MU,)
        if self.covered:
            sums = MessageSpec((self._prior_table(info, "sums"),), ("mean", "groups", "people"))
            means, received = replace(means, sends=sums), (self._prior_table(info, "prior"), MU)
        space: Literal["dense", "item"] = "dense" if self.covered else "item"
        items = TableSpec("items", space, info.items, self.width, self.precision)
        sends = MessageSpec((items,), () if self.judge == "no" else ("error",))
        return means, Phase("factors", sends, "each", 1, receives=MessageSpec(received), returns=True)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The global patterns, the item biases and the mean; from groups alone no more than the mean.

        Covered updates need the prior.
        """
        if self.finish == "local":
            return MessageSpec((MU,))
        *tables, mu = super().publishes(info).tables
        prior = (self._prior_table(info, "prior"),) if self.covered else ()
        return MessageSpec((*tables, *prior, mu))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        if self.finish == "local":
            return ServerState({"mu": np.zeros(1)})
        prior = {"prior": np.zeros((info.items, 2), self.precision)} if self.covered else {}
        return ServerState({**super().server_init(info, rng).model, **prior})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """Nothing is known; everybody's rows have room for the largest group."""
        return {"W": np.zeros((info.people, self.factors)), "b": np.zeros(info.people)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """The mean rating of a group; then its item factors and biases. One that cannot take part sends 0.

        Nothing that leaves is made from a rating that is not shared. With `judge` the error of the group's own
        factorisation on a fifth of these goes along.
        """
        rows = history.rows(history.open_rows(rng))
        if context.phase == "means":
            return state, self.means(context.info, rows)
        if why := unable(rows):
            raise DataError(why)
        local, sent = self.factorised(context, history, rows, rng)
        error = {}
        if self.judge != "no":
            chosen, people = self.chosen(rows), context.info.people
            found = held_out_error(rows, mu_of(context.model), chosen, people, rng.stream(JUDGING))
            error = {"error": found}
        return {"W": local.W, "b": local.b_w}, Update({"items": self.sent_rows(sent, context.info)}, error)

    def means(self, info: FederationInfo, rows: History) -> Update:
        """The mean rating of a group; for a prior also what it adds to every item."""
        able = not unable(rows)
        scalars = {"mean": float(rows.value.mean()) if able else 0.0, "groups": float(able)}
        if not self.covered:
            return Update(scalars=scalars)
        sums = prior_sums(rows, info.items) if able else np.zeros((info.items, 2))
        every = SparseRows(np.arange(info.items, dtype=np.int32), sums.astype(self.precision))
        people = float(len(rows.people) if able else 0)
        return Update({"sums": every}, {**scalars, "people": people})

    def chosen(self, history: History) -> CnmfSettings:
        """The settings of this group: those it tuned, or everybody's."""
        return self.tuned.get(mark(history), self) if self.tuned else self

    def factorise(self, context: RoundContext, history: History, stream: Stream) -> LocalModel:
        """Collaborative NMF of a group's ratings (equations 5 to 13)."""
        return factorise_group(
            history, mu_of(context.model), self.chosen(history), context.info.people, stream, self.factors
        )

    def factorised(
        self, context: RoundContext, history: History, rows: History, rng: Rng
    ) -> tuple[LocalModel, LocalModel]:
        """What a group keeps, and what it sends: a factorisation of the shared `rows` of its history.

        What it sends may cover every item on offer.
        """
        if self.covered and self.unrated == "decoys":
            info, mu, prior = context.info, mu_of(context.model), context.model["prior"].astype(np.float64)
            made = with_decoys(rows, history.people, info, prior, mu, rng.stream(DECOYS))
            sent = factorise_group(made, mu, self, info.people, rng.stream(Purpose.INIT))
            return refit_user_factors(sent, history, mu, self, info.items), sent
        local = self.factorise(context, rows, rng.stream(Purpose.INIT))
        if not self.covered:
            return local, local
        return local, fill_unrated(local, context.info, context.model["prior"].astype(np.float64))

    def sent_rows(self, local: LocalModel, info: FederationInfo) -> SparseRows:
        """What a group sends of its rated items, or of every item: H and the bias, within the bound.

        With them perhaps the count.
        """
        H, bias = local.H, local.b_h[:, None]
        if self.bias == "means":
            bias = local.mean_residual[:, None]
        if self.clip is not None:
            H, bias = np.clip(H, -self.clip, self.clip), np.clip(bias, -self.clip, self.clip)
        columns = [H, bias, local.counts[:, None]] if self.counted else [H, bias]
        values = np.hstack(columns).astype(self.precision)
        if not self.covered:
            return SparseRows(local.items, values)
        every = np.zeros((info.items, values.shape[1]), self.precision)
        every[local.items] = values
        return SparseRows(np.arange(info.items, dtype=np.int32), every)

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Every rating that speaks in an update or in the prior's sum, even where a cover hides which do."""
        return history.open_rows(rng) & (self.covered or phase.name == "factors")

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Updates with numbers beyond reason or the bound, without an item, or with a negative factor.

        Also those of groups that predict badly, or with an item without a rating.
        """
        error = update.scalars["error"] if self.judge != "no" else 0.0
        if self.judge == "leave-out" and error > self.worst:
            most = f"{self.worst:g}"
            return f"a group's own error must be at most {most}, but it is {error:.3g}; it joins later."
        if error < 0:
            return f"a group's own error must be 0 or above, but it is {error:g}."
        values = update.tables["items"].values
        H = values[:, : self.factors]
        if why := too_large(values):
            return why
        if not H.any():
            return "a group must send factors of at least one item it has rated, but sent none."
        if H.min() < 0:
            return f"the factors of a group must not be negative, but one is {H.min():g}."
        if self.counted and values[values.any(axis=1), -1].min() < 1:
            return f"an item must be sent with at least 1 rating, but one has {values[:, -1].min():g}."
        largest = np.abs(values[:, : self.factors + 1]).max()
        if self.clip is not None and largest > self.clip:
            return f"factors and biases must be at most {self.clip:g}, but one is {largest:g}."
        return None

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Equation 14, and perhaps a prior; then the joint factorisation of all updates, and to each its part.

        For a ridge the patterns are turned to the axes of what was sent, without answers.
        """
        if phase == "means":
            assert isinstance(received, Total)
            sums = received.update.scalars
            model = {**server.model, "mu": np.array([sums["mean"] / max(1.0, sums["groups"])])}
            if self.covered:
                total = received.update.tables["sums"].values
                model["prior"] = prior_of(total, mu_of(model), sums["people"]).astype(self.precision)
            return ServerState(model), {}
        assert isinstance(received, IndividualUpdates)
        updates = {client: self.read(update) for client, update in sorted(received.updates.items())}
        items = len(server.model["b"])
        b, seen = self.biases(updates.values(), items)
        patterns, parts = joint_patterns(updates, items, self.patterns, self.joint_epochs)
        patterns, answers = self._as_sent(patterns), {client: {"M": part} for client, part in parts.items()}
        if self.finish == "ridge":
            patterns, answers = self._as_sent(aligned(patterns, parts, seen)), {}
        return ServerState({**server.model, "patterns": patterns, "b": self._as_sent(b)}), answers

    def read(self, update: Update) -> GroupFactors:
        """An update, perhaps with counts, and with the weight its group's own error gives it."""
        weight = 1.0 / max(update.scalars["error"], SURE) if self.judge == "weigh" else 1.0
        return GroupFactors.of(update.tables["items"], self.factors, self.counted, weight)

    def biases(self, updates: Iterable[GroupFactors], items: int) -> tuple[Floats, Floats]:
        """Equation 16 or another bias of every item; and the ratings, or groups, each has."""
        shrink = self.ridge_bias if self.bias == "means" else 0.0
        return combine_biases(updates, items, self.bias == "all", shrink)

    def _as_sent(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(values, self.precision)

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """Equation 18, or the ridge regression; groups alone factorise all their ratings.

        A group whose update was left out joins like someone who was not there.
        """
        if self.finish == "distil" and context.answer is not None:
            return {"W": state["W"] @ context.answer["M"].T.astype(np.float64), "b": state["b"]}
        if self.finish != "local" or unable(history):
            return self.client_fold_in(context, history, rng)
        stream = rng.stream(Purpose.INIT)  # of the round in which others send: their model, to the bit
        local = self.factorise(context, history, stream)
        return {"W": local.W, "b": local.b_w, **local.everywhere(context.info.items)}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """Non-negative regression of the own ratings on the global patterns (section 5), or a ridge regression.

        From groups alone a newcomer learns the mean.
        """
        items, people, kept = context.info.items, context.info.people, {}
        if self.finish == "local":
            kept = {"H": np.zeros((items, self.factors)), "b_h": np.zeros(items)}
        patterns, b, mu = self.predictors(context.model, kept)
        if self.finish == "ridge":
            W, b_w = solve_ridge(history, patterns, b + mu, self.ridge, self.ridge_bias, people)
        else:
            W, b_w = join(history, patterns, b, mu, self.rates, people)
        return {"W": W, "b": b_w, **kept}

    def predictors(self, model: Arrays, state: ClientState) -> tuple[Floats, Floats, float]:
        """The server's patterns and biases, or those a group alone keeps; equation 19 predicts with them."""
        if "H" in state:
            return state["H"], state["b_h"], mu_of(model)
        return super().predictors(model, state)


FEDSPLIT = Preset(
    "fedsplit",
    FedSplit,
    "FedSPLIT as printed: the item biases averaged over all groups, W M' on the client.",
    parts=GROUPS,
)
CNMF_GROUPS = Preset(
    "cnmf-groups",
    FedSplit,
    "Every group's own factorisation with the mean of all groups, and no other exchange.",
    {"finish": "local"},
    GROUPS,
)
FEDSPLIT_RIDGE = Preset(
    "fedsplit-ridge",
    FedSplit,
    "Ours: item means and counts travel with H; everyone's factors are solved anew against the patterns.",
    {"bias": "means", "finish": "ridge"},
    GROUPS,
)
