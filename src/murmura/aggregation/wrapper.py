"""An algorithm around another one: whatever is not said otherwise is the inner algorithm's."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from numpy.typing import NDArray

from murmura.aggregation import messages
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.contract import Algorithm, ClientState, FederationInfo, History, RoundContext
from murmura.core.model import ScoreTerms
from murmura.core.rng import Rng
from murmura.core.settings import field_names
from murmura.core.update import Arrays


class Wrapper(Algorithm):
    """Hands on to the inner algorithm what does not concern weights, without what weighting adds to it."""

    inner_class: ClassVar[type[Algorithm]]

    @cached_property
    def inner(self) -> Algorithm:
        """The algorithm itself."""
        return self.inner_class(**{name: getattr(self, name) for name in field_names(self.inner_class)})

    def inner_info(self, info: FederationInfo) -> FederationInfo:
        """The same, without features that only a criterion uses."""
        if self.inner_class.uses_features or not (info.features or info.feature_count):
            return info
        return replace(info, features=None, feature_count=0)

    def inner_context(self, context: RoundContext, phase: str = "") -> RoundContext:
        """The same, without what weighting adds to it."""
        info, model = self.inner_info(context.info), messages.inner_tables(context.model)
        return replace(context, info=info, model=model, phase=phase or context.phase)

    def check_rows(self, value: Floats, time: Longs | None) -> None:
        """As the inner algorithm."""
        self.inner.check_rows(value, time)

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
