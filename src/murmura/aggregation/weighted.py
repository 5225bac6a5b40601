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
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from murmura.aggregation import messages
from murmura.aggregation.criteria import ClientView, Criterion, measured, out_of_range
from murmura.aggregation.messages import (
    CRITERIA,
    OURS,
    QUALITY,
    SMALL,
    WEIGHT,
    WEIGHTING,
    Shares,
    Standing,
    row,
    row_table,
    scaled,
)
from murmura.aggregation.priority import OrderTrials, orders
from murmura.aggregation.weighting import Score, Weighting, shares, total_share
from murmura.core.arrays import Bools, Floats
from murmura.core.contract import (
    Algorithm,
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import DataError, SettingError
from murmura.core.kernel import Kernel, ScoringKernel
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.settings import field_names, joined_fields, settings
from murmura.core.update import Arrays, SparseRows, Update, add_up

T = TypeVar("T")


def of_inner(name: str) -> Any:
    """A method of the contract that weights do not concern, as the inner algorithm has it."""

    def method(self: Any, *given: Any) -> Any:
        return getattr(self.inner, name)(*map(self.inside, given))

    return method


class Weighted(Algorithm):
    """An algorithm whose clients are weighted, made by `weighted`: its settings and those of a Weighting."""

    inner_class: ClassVar[type[Algorithm]]

    check_rows = of_inner("check_rows")
    client_init = of_inner("client_init")
    client_negatives = of_inner("client_negatives")
    client_ready = of_inner("client_ready")
    client_fold_in = of_inner("client_fold_in")
    client_score = of_inner("client_score")
    client_terms = of_inner("client_terms")
    client_predict = of_inner("client_predict")
    disclosed_features = of_inner("disclosed_features")
    visit_examples = of_inner("visit_examples")

    def __post_init__(self) -> None:
        if not self.weighting.criteria:
            raise SettingError(f"{self.name} must have criteria to be weighted by, but has none; name some.")
        if self.weighting.adapt_order and not _tells_quality(type(self.inner)):
            raise SettingError(
                f"adapt_order must have a method whose clients tell how good the model is for them, but "
                f"{self.name} has no client_quality; leave it out."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(weighted, self.inner, self.weighting), ()

    @cached_property
    def inner(self) -> Algorithm:
        """The algorithm itself."""
        return self.inner_class(**{name: getattr(self, name) for name in field_names(self.inner_class)})

    def inside(self, given: T) -> T:
        """A part of the contract as the inner algorithm is shown it: without what weighting adds to it."""
        shown: Any = given
        if isinstance(given, RoundContext):
            shown = replace(given, info=self.inside(given.info), model=messages.inner_tables(given.model))
        elif isinstance(given, FederationInfo) and not self.inner_class.uses_features:
            if given.features or given.feature_count:  # only a criterion uses them
                shown = replace(given, features=None, feature_count=0)
        elif isinstance(given, Phase) and any(table.name in OURS for table in given.sends.tables):
            tables = tuple(table for table in given.sends.tables if table.name not in OURS)
            shown = replace(given, sends=MessageSpec(tables, given.sends.scalars), combine="sum")
        elif isinstance(given, Update):
            rows = {name: rows for name, rows in given.tables.items() if name not in OURS}
            shown = Update(rows, given.scalars)
        return cast(T, shown)

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
        criteria = {one.name: one.reveals for one in self.criterion_list}
        if self.weighting.adapt_order:
            criteria[QUALITY] = "how much of the client's own data the model gets right"
        return {**self.inner.reveals(), **{name: f"{what}; {whom}" for name, what in criteria.items()}}

    def shown(self, model: Arrays) -> dict[str, float]:
        """How many clients a round had in effect, how often one was capped, and the order where it adapts."""
        standing = Standing.read(model)
        places = enumerate(self._order(standing), start=1) if self.weighting.adapt_order else ()
        priority = {f"priority of {self.weighting.criteria[one]}": float(place) for place, one in places}
        return {**self.inner.shown(messages.inner_tables(model)), **standing.shown(), **priority}

    # what is exchanged

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """The inner phases, the training round's weighted, with an exchange of criteria before the first."""
        for one in self.criterion_list:
            one.check(info)
        inner = self.inner.phases(self.inside(info))
        training = [phase for phase in inner if phase.repeat is None]
        messages.check(self.name, training, alone=self.trains_first or self.weighting.adapt_order)
        made: list[Phase] = []
        for phase in inner:
            if phase is training[0] and not self.sends_values:
                made.append(self._criteria_phase(phase))
                phase = replace(phase, part=1.0)  # of the clients of the phase before, which are a part already
            made.append(phase if phase.repeat is not None else self._weighted_phase(phase))
        return tuple(made)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The inner model, and one small table: what normalises, and how the weights turned out."""
        inner = self.inner.publishes(self.inside(info))
        own = row_table(WEIGHTING, Standing.COLUMNS + len(self.criterion_list))
        return MessageSpec((*inner.tables, own), inner.scalars)

    def _criteria_phase(self, training: Phase) -> Phase:
        table = row_table(CRITERIA, len(self.criterion_list), SMALL)
        sends = MessageSpec((table, *self._quality_tables()))
        return Phase(CRITERIA, sends, asks=training.asks, part=training.part, follows=training.follows)

    def _quality_tables(self) -> tuple[TableSpec, ...]:
        return (row_table(QUALITY, 2, SMALL),) if self.weighting.adapt_order else ()

    def _weighted_phase(self, phase: Phase) -> Phase:
        """The inner message, with the criteria or the weight beside it."""
        if self.sends_values:
            own = row_table(CRITERIA, len(self.criterion_list), 1.0)
            sends = MessageSpec((*phase.sends.tables, own, *self._quality_tables()), phase.sends.scalars)
            return replace(phase, sends=sends, combine="each")
        cap = self.weighting.weight_cap
        larger = (replace(t, bound=None if t.bound is None else t.bound * cap) for t in phase.sends.tables)
        return replace(phase, sends=MessageSpec((*larger, row_table(WEIGHT, 3, SMALL)), phase.sends.scalars))

    # the client

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """The criteria; or the inner step, what leaves weighted or with the criteria beside it."""
        if context.phase == CRITERIA:
            update = None
            if self.trains_first:  # nothing is kept: the second exchange takes the same step again
                first = self._training(context.info)[0]
                update = self.inner.client_step(
                    replace(self.inside(context), phase=first), state, history, rng
                )[1]
            values = self.client_criteria(context, history, update)
            quality = self._quality(context, state, history)
            return state, Update({CRITERIA: row(values * SMALL), **quality})
        before = state
        state, update = self.inner.client_step(self.inside(context), state, history, rng)
        if context.phase not in self._training(context.info):
            return state, update
        values = self.client_criteria(context, history, update)
        if self.sends_values:
            own = {CRITERIA: row(values), **self._quality(context, before, history)}
            return state, Update({**update.tables, **own}, update.scalars)
        share = self.client_shares(values[None, :], Standing.read(context.model))
        cap = self.weighting.weight_cap
        sent = scaled(update, float(share[0]))
        return state, Update({**sent.tables, WEIGHT: Shares.of(share, cap).row(cap)}, sent.scalars)

    def client_shares(self, values: Floats, standing: Standing) -> Floats:
        """What clients with these criteria count, in equal shares, under the sums of their round."""
        first, cap = list(self._order(standing)), self.weighting.weight_cap
        return shares(self.score_function, values[:, first], standing.sums[first], standing.clients, cap)

    def _order(self, standing: Standing) -> tuple[int, ...]:
        """The criteria by their places in the settings, the first in priority first."""
        many = len(self.criterion_list)
        return orders(many)[standing.order] if self.weighting.adapt_order else tuple(range(many))

    def _quality(self, context: RoundContext, state: ClientState, history: History) -> dict[str, SparseRows]:
        """How much of what its owner shares the received model gets right: a share, and 1 if there is any."""
        if not self.weighting.adapt_order:
            return {}
        asked = replace(self.inside(context), phase=self._training(context.info)[0])
        found = self.inner.client_quality(asked, state, history.rows(history.consent > 0))
        right, of = found or (0.0, 0.0)
        if not 0 <= right <= of < np.inf:
            raise DataError(
                f"{self.name}.client_quality must return how much is right, from 0, and of how much, but "
                f"returned {right:g} of {of:g}; mend it."
            )
        quality = (right / of, 1.0) if of > 0 else (0.0, 0.0)
        return {QUALITY: row(np.array(quality) * SMALL)}

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
        return self.inner.client_discloses(self.inside(phase), self.inside(update), history, rng)

    def kernel(self) -> Kernel | None:
        """The inner one with the weights of each cohort; none where more than sums of its updates is needed."""
        inner = self.inner.kernel()
        shown = self.sends_values or self.trains_first or self.weighting.adapt_order
        if not isinstance(inner, ScoringKernel) or shown or not inner.weighs:
            return None
        from murmura.aggregation.kernel import WeightedKernel

        return WeightedKernel(self, inner)

    # the server

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """The inner model, and that nothing has been weighted."""
        made, many = self.inner.server_init(self.inside(info), rng), len(self.criterion_list)
        tried = OrderTrials.first(many).array() if self.weighting.adapt_order else np.zeros(0)
        kept = np.concatenate([[0.0], tried])  # the rounds weighed so far, and what is known of orders
        return ServerState(
            {**made.model, WEIGHTING: Standing.first(many).table()}, {**made.private, WEIGHTING: kept}
        )

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """A criterion out of its range; otherwise whatever the inner algorithm refuses."""
        if CRITERIA in update.tables:
            for one, value in zip(self.criterion_list, update.tables[CRITERIA].values.ravel().tolist()):
                if (why := out_of_range(one.name, value)) is not None:
                    return why
        if QUALITY in update.tables:
            right, one_or_none = update.tables[QUALITY].values.ravel().tolist()
            if not 0 <= right <= one_or_none:
                return f"a quality must be a part of 1, but is {right:g} of {one_or_none:g}."
        return self.inner.server_refuses(self.inside(phase), self.inside(update))

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Publish what normalises; or the inner step with the weighted sum."""
        kept, standing = server.private[WEIGHTING].copy(), Standing.read(server.model)
        summed = _criteria_sums(received)
        if summed is not None:
            tables, clients = summed
            sums = tables[CRITERIA] / (1.0 if self.sends_values else SMALL)
            kept[1:], order = self._decided(kept[1:], tables)
            standing = standing.normalised(sums, clients, order)
        if phase == CRITERIA:
            model, private = {**server.model, WEIGHTING: standing.table()}, {**server.private, WEIGHTING: kept}
            return ServerState(model, private), {}
        weighed = self._weigh(received, standing)
        if weighed is not None:
            received, counted = weighed
            standing = standing.weighed(counted, received.count, int(kept[0]))
            kept[0] += 1
        inner = ServerState(messages.inner_tables(server.model), messages.inner_tables(server.private))
        stepped, answers = self.inner.server_step(phase, inner, received)
        model = {**stepped.model, WEIGHTING: standing.table()}
        return ServerState(model, {**stepped.private, WEIGHTING: kept}), answers

    def _decided(self, tried: Floats, tables: Mapping[str, Floats]) -> tuple[Floats, int]:
        """What is known of the orders after a signal, and the order of the round."""
        if not self.weighting.adapt_order:
            return tried, 0
        right, of = tables[QUALITY].tolist()
        decided = OrderTrials.read(tried).decided(right / of if of > 0 else -1.0)
        return decided.array(), decided.order

    def _weigh(self, received: Received, standing: Standing) -> tuple[Total, Shares] | None:
        """sum n w U, and what the clients counted; None: this is no training round."""
        cap = self.weighting.weight_cap
        if isinstance(received, Total):
            if WEIGHT not in received.update.tables:
                return None
            counted = Shares.read(received.update.tables[WEIGHT], cap)
            scale = _scale(counted, received.count)
            return Total(scaled(self.inside(received.update), scale), received.count), counted
        updates = list(received.updates.values())
        if CRITERIA not in updates[0].tables:
            return None
        values = np.concatenate([update.tables[CRITERIA].values for update in updates])
        share = self.client_shares(values, standing)
        counted = Shares.of(share, cap)
        scale = _scale(counted, len(updates))
        parts = (scaled(self.inside(one), g * scale) for one, g in zip(updates, share.tolist()))
        return Total(add_up(parts), len(updates)), counted

    # what the inner algorithm is shown

    def _training(self, info: FederationInfo) -> tuple[str, ...]:
        """The phases of the inner training round."""
        return tuple(phase.name for phase in self.inner.phases(self.inside(info)) if phase.repeat is None)


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
    own = {"name": method.name, "inner_class": method, "holds": method.holds}
    return settings(type(f"Weighted{method.__name__}", (Weighted,), {**body, **about, **own}))


def _criteria_sums(received: Received) -> tuple[dict[str, Floats], int] | None:
    """The sums of what clients told of themselves, and of how many; None: nothing was told."""
    updates = [received.update] if isinstance(received, Total) else list(received.updates.values())
    if CRITERIA not in updates[0].tables:
        return None
    names = [name for name in (CRITERIA, QUALITY) if name in updates[0].tables]
    sums = {name: np.sum([one.tables[name].values[0] for one in updates], axis=0) for name in names}
    return sums, received.count if isinstance(received, Total) else len(updates)


def _tells_quality(method: type[Algorithm]) -> bool:
    return method.client_quality is not Algorithm.client_quality


def _scale(counted: Shares, clients: int) -> float:
    """n / sum g; where nobody has a share, so that nothing is added, 0."""
    return clients / total_share(counted.total, clients) if counted.total > 0 else 0.0
