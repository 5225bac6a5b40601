"""Any algorithm with its clients weighted: Ferrara's thesis, section 5.4, for every method, sent in two ways.

The rounds of the inner algorithm stay what they are; of what a client sends in them not 1 but n w_u is added,
w_u the client's weight among the n of the round. Equal weights so give the inner algorithm's own sum, whether
its server divides by n or not.

values   a client sends its criteria beside its update; the server reads both and weighs
sums     two exchanges: the sums that normalise, then updates each client has multiplied by its own share.
         Only sums travel, so a secure sum hides everyone's criteria and weight
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.aggregation import messages
from murmura.aggregation.base import ClientView, Criterion, measured, out_of_range
from murmura.aggregation.messages import CRITERIA, WEIGHT, WEIGHTING, Shares, Standing
from murmura.aggregation.weighting import Score, Weighting, shares, total_share
from murmura.core.arrays import Bools, Floats, Ints
from murmura.core.contract import (
    Algorithm,
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
from murmura.core.errors import SettingError
from murmura.core.message import MessageSpec
from murmura.core.rng import Rng
from murmura.core.score_terms import ScoreTerms
from murmura.core.settings import field_names, joined_fields, settings
from murmura.core.update import Arrays, Update, add_up

if TYPE_CHECKING:
    from murmura.core.kernel import Kernel


class Weighted(Algorithm):
    """An algorithm whose clients are weighted, made by `weighted`: its settings and those of a Weighting."""

    inner_class: ClassVar[type[Algorithm]]

    def __post_init__(self) -> None:
        if not self.weighting.criteria:
            raise SettingError(f"{self.name} must have criteria to be weighted by, but has none; name some.")
        _ = self.inner

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(weighted, self.inner, self.weighting), ()

    @cached_property
    def inner(self) -> Algorithm:
        """The algorithm itself."""
        return self.inner_class(**{name: getattr(self, name) for name in field_names(self.inner_class)})

    @cached_property
    def weighting(self) -> Weighting:
        """Whose update counts how much."""
        return Weighting(**{name: getattr(self, name) for name in field_names(Weighting)})

    @cached_property
    def criterion_list(self) -> tuple[Criterion, ...]:
        """The criteria."""
        return self.weighting.measures()

    @cached_property
    def score_function(self) -> Score:
        """The score function."""
        return self.weighting.score_function()

    @property
    def sends_values(self) -> bool:
        """Whether the server reads every client's criteria."""
        return self.weighting.criteria_sent == "values"

    @property
    def trains_first(self) -> bool:
        """Whether a criterion needs the client's update."""
        return any(one.needs_update for one in self.criterion_list)

    @property
    def uses_features(self) -> bool:  # type: ignore[override]
        """Whether the inner algorithm or a criterion does."""
        return self.inner_class.uses_features or any(one.needs_features for one in self.criterion_list)

    def reveals(self) -> Mapping[str, str]:
        """What each criterion tells, and to whom."""
        whom = "the server reads it of each client" if self.sends_values else "only sums over a round are read"
        own = {one.name: f"{one.reveals}; {whom}" for one in self.criterion_list}
        return {**self.inner.reveals(), **own}

    def shown(self, model: Arrays) -> dict[str, float]:
        """Which part of a round's clients there was in effect, and how often one was capped."""
        return {**self.inner.shown(messages.inner_tables(model)), **Standing.read(model).shown()}

    # what is exchanged

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """The inner phases, the training round's weighted, with an exchange of criteria before the first."""
        for one in self.criterion_list:
            one.check(info)
        inner = self.inner.phases(self.inner_info(info))
        training = [phase for phase in inner if phase.repeat is None]
        messages.check(self.name, training)
        made: list[Phase] = []
        for phase in inner:
            if phase is training[0] and not self.sends_values:
                made.append(self._criteria_phase(phase))
            made.append(phase if phase.repeat is not None else self._weighted_phase(phase))
        return tuple(made)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The inner model, and one small table: what normalises, and how the weights turned out."""
        inner = self.inner.publishes(self.inner_info(info))
        return MessageSpec((*inner.tables, messages.weighting_table(len(self.criterion_list))), inner.scalars)

    def _criteria_phase(self, training: Phase) -> Phase:
        table = messages.criteria_table(len(self.criterion_list), messages.SMALL)
        return Phase(CRITERIA, MessageSpec((table,)), asks=training.asks)

    def _weighted_phase(self, phase: Phase) -> Phase:
        """The inner message, with the criteria or the weight beside it."""
        if self.sends_values:
            own = messages.criteria_table(len(self.criterion_list), 1.0)
            sends = MessageSpec((*phase.sends.tables, own), phase.sends.scalars)
            return replace(phase, sends=sends, combine="each")
        cap = self.weighting.weight_cap
        larger = (replace(t, bound=None if t.bound is None else t.bound * cap) for t in phase.sends.tables)
        return replace(phase, sends=MessageSpec((*larger, messages.weight_table()), phase.sends.scalars))

    # the client

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """The criteria; or the inner step, what leaves weighted or with the criteria beside it."""
        if context.phase == CRITERIA:
            update = None
            if self.trains_first:  # nothing is kept: the second exchange takes the same step again
                first = self._training(context.info)[0]
                update = self.inner.client_step(self.inner_context(context, first), state, history, rng)[1]
            values = self.client_criteria(context, history, update)
            return state, Update({CRITERIA: messages.row(values * messages.SMALL)})
        state, update = self.inner.client_step(self.inner_context(context), state, history, rng)
        if context.phase not in self._training(context.info):
            return state, update
        values = self.client_criteria(context, history, update)
        if self.sends_values:
            return state, Update({**update.tables, CRITERIA: messages.row(values)}, update.scalars)
        share = self.client_shares(values[None, :], Standing.read(context.model))
        cap = self.weighting.weight_cap
        sent = messages.scaled(update, float(share[0]))
        return state, Update({**sent.tables, WEIGHT: Shares.of(share, cap).row(cap)}, sent.scalars)

    def client_shares(self, values: Floats, standing: Standing) -> Floats:
        """What clients with these criteria count, in equal shares, under the sums of their round."""
        cap = self.weighting.weight_cap
        return shares(self.score_function, values, standing.sums, standing.clients, cap)

    def client_criteria(self, context: RoundContext, history: History, update: Update | None) -> Floats:
        """The criteria of one client, of the rows its owner shares."""
        model = messages.inner_tables(context.model)
        return measured(
            self.criterion_list, ClientView(context.info, history.rows(history.consent > 0), model, update)
        )

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """What the inner update shows; criteria and weights show no row."""
        if phase.name == CRITERIA:
            return np.zeros(len(history), np.bool_)
        return self.inner.client_discloses(messages.inner_phase(phase), messages.inner(update), history, rng)

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """As the inner algorithm."""
        return self.inner.client_init(self.inner_info(info), history, rng)

    def client_negatives(self, info: FederationInfo, history: History, rng: Rng) -> Ints | None:
        """As the inner algorithm."""
        return self.inner.client_negatives(self.inner_info(info), history, rng)

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """As the inner algorithm."""
        return self.inner.client_ready(self.inner_context(context), state, history, rng)

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """As the inner algorithm."""
        return self.inner.client_fold_in(self.inner_context(context), history, rng)

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> NDArray[Any]:
        """As the inner algorithm."""
        return self.inner.client_score(self.inner_context(context), state, history)

    def client_terms(self, context: RoundContext, state: ClientState, history: History) -> ScoreTerms | None:
        """As the inner algorithm."""
        return self.inner.client_terms(self.inner_context(context), state, history)

    def client_predict(self, context: RoundContext, state: ClientState, queries: NDArray[Any]) -> NDArray[Any]:
        """As the inner algorithm."""
        return self.inner.client_predict(self.inner_context(context), state, queries)

    def disclosed_features(self, states: Arrays) -> Floats | None:
        """As the inner algorithm."""
        return self.inner.disclosed_features(states)

    def visit_examples(self, info: FederationInfo) -> float:
        """As the inner algorithm."""
        return self.inner.visit_examples(self.inner_info(info))

    def kernel(self) -> Kernel | None:
        """The inner one with the weights of each cohort; none for criteria of updates, which it never shows.

        Nor where the server reads each update: there is no sum before it.
        """
        inner = self.inner.kernel()
        if inner is None or not getattr(inner, "weighs", False) or self.sends_values or self.trains_first:
            return None
        from murmura.aggregation.kernel import WeightedKernel

        return WeightedKernel(self, inner)

    # the server

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """The inner model, and that nothing has been weighted."""
        made = self.inner.server_init(self.inner_info(info), rng)
        return ServerState(
            {**made.model, WEIGHTING: Standing.first(len(self.criterion_list)).table()},
            {**made.private, WEIGHTING: np.zeros(1)},
        )

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """A criterion out of its range; otherwise whatever the inner algorithm refuses."""
        if CRITERIA in update.tables:
            for one, value in zip(self.criterion_list, update.tables[CRITERIA].values.ravel().tolist()):
                if (why := out_of_range(one.name, value)) is not None:
                    return why
        return self.inner.server_refuses(messages.inner_phase(phase), messages.inner(update))

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Publish what normalises; or the inner step with the weighted sum."""
        standing = Standing.read(server.model)
        if phase == CRITERIA:
            assert isinstance(received, Total)
            sums = received.update.tables[CRITERIA].values.ravel() / messages.SMALL
            model = {**server.model, WEIGHTING: standing.normalised(sums, received.count).table()}
            return ServerState(model, server.private), {}
        before, weighed = int(server.private[WEIGHTING][0]), self._weigh(received)
        if weighed is not None:
            received, counted = weighed
            standing, before = standing.weighed(counted, received.count, before), before + 1
        inner = ServerState(messages.inner_tables(server.model), messages.inner_tables(server.private))
        stepped, answers = self.inner.server_step(phase, inner, received)
        private = {**stepped.private, WEIGHTING: np.array([float(before)])}
        return ServerState({**stepped.model, WEIGHTING: standing.table()}, private), answers

    def _weigh(self, received: Received) -> tuple[Total, Shares] | None:
        """sum n w U, and what the clients counted; None: this is no training round."""
        cap = self.weighting.weight_cap
        if isinstance(received, IndividualUpdates):
            updates = list(received.updates.values())
            if CRITERIA not in updates[0].tables:
                return None
            values = np.concatenate([update.tables[CRITERIA].values for update in updates])
            sums, n = values.sum(axis=0), len(updates)
            share = self.client_shares(values, Standing(sums, n))
            counted = Shares.of(share, cap)
            scale = _scale(counted, n)
            parts = (messages.scaled(messages.inner(one), g * scale) for one, g in zip(updates, share.tolist()))
            return Total(add_up(parts), n), counted
        if WEIGHT not in received.update.tables:
            return None
        counted = Shares.read(received.update.tables[WEIGHT], cap)
        scale = _scale(counted, received.count)
        return Total(messages.scaled(messages.inner(received.update), scale), received.count), counted

    # what the inner algorithm is shown

    def _training(self, info: FederationInfo) -> tuple[str, ...]:
        """The phases of the inner training round."""
        return tuple(phase.name for phase in self.inner.phases(self.inner_info(info)) if phase.repeat is None)

    def inner_info(self, info: FederationInfo) -> FederationInfo:
        """The same, without features that only a criterion uses."""
        if self.inner_class.uses_features or not (info.features or info.feature_count):
            return info
        return replace(info, features=None, feature_count=0)

    def inner_context(self, context: RoundContext, phase: str = "") -> RoundContext:
        """The same, without what weighting adds to it."""
        info, model = self.inner_info(context.info), messages.inner_tables(context.model)
        return replace(context, info=info, model=model, phase=phase or context.phase)


def weighted(inner: Algorithm, weighting: Weighting) -> Weighted:
    """The algorithm with its clients weighted."""
    values = {name: getattr(part, name) for part in (inner, weighting) for name in field_names(type(part))}
    return weighted_class(type(inner))(**values)


@cache
def weighted_class(method: type[Algorithm]) -> type[Weighted]:
    """Weighted algorithms of one class: their flat settings are its own and those of a Weighting."""
    body = joined_fields(method.name, (Weighting, method))
    if taken := set(body["__annotations__"]) & set(dir(Weighted)):
        raise SettingError(f"{method.name} must not have a setting '{min(taken)}' to be weighted; rename it.")
    about = {"__doc__": f"{method.__name__} with its clients weighted.", "__module__": __name__}
    own = {"name": method.name, "inner_class": method}
    return settings(type(f"Weighted{method.__name__}", (Weighted,), {**body, **about, **own}))


def _scale(counted: Shares, clients: int) -> float:
    """n / sum g; where nobody has a share, so that nothing is added, 0."""
    return clients / total_share(counted.total, clients) if counted.total > 0 else 0.0
