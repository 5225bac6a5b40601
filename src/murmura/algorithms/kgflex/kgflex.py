"""KGFlex as the presets run it: the paper's method, and what is ours around it.

With every setting of its own at its default it is the published method, to the bit; `paper` has it. A person's
features may be chosen by other measures, above a threshold and against several negatives for each of her items;
the server may feed another optimiser with the same sum, and a visit's update may be scaled or clipped, so that
no learning rate diverges for those who have many items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from murmura.algorithms import optimisers
from murmura.algorithms.kgflex.gain import Measure, draw_negatives, gain
from murmura.algorithms.kgflex.loop_arrays import entropy_table
from murmura.algorithms.kgflex.paper import KGFlexPaper, join, split
from murmura.core.arrays import Bools, Floats, Ints
from murmura.core.contract import (
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
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng, Stream
from murmura.core.settings import Count, Positive, settings
from murmura.core.update import SparseRows, Update

if TYPE_CHECKING:
    from murmura.core.kernel import Kernel

Clip = Annotated[float, Field(gt=0)]


@settings
class KGFlex(KGFlexPaper):
    """KGFlex with other measures of a feature, an optimiser on the server, and scaled or clipped updates."""

    name: ClassVar[str] = "kgflex"

    measure: Measure = "information-gain"  # how much a feature says about what a person has
    least: Annotated[float, Field(ge=0, lt=1)] = 0.0  # only features with a gain above this
    negatives: Count = 1  # others for each of her items, in the gain of a feature
    drawn: Literal["uniform", "popular"] = "uniform"  # how they are drawn; popular: by public counts
    visit: Literal["sum", "root", "mean"] = "sum"  # the gradients of n pairs: added, over sqrt(n), over n
    clip_update: Clip | None = None  # the largest L2 norm of what one visit adds
    optimiser: optimisers.Optimiser = "sum"  # how the server steps
    server_alpha: Positive | None = None  # the server's learning rate; None: alpha

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One repeating sum of gradient rows, with a count of their senders where the optimiser needs it."""
        width = self.factors + 1 + (self.optimiser == "per-contributor")
        table = TableSpec("features", "feature", info.feature_count, width, self.precision)
        return (Phase("train", MessageSpec((table,))),)

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """G and b, and what the optimiser remembers of them."""
        model = super().server_init(info, rng).model
        return ServerState(model, optimisers.begin(self.optimiser, join(model)))

    def gain_negatives(self, info: FederationInfo, own: Ints, stream: Stream) -> Ints:
        """Several for each of her items."""
        return draw_negatives(info, own, self.negatives * len(own), self.drawn == "popular", stream)

    def gains(self, p: Any, n: Any, half: int) -> Floats:
        """The chosen measure."""
        return gain(self.measure, p, n, half, entropy_table(2 * half))

    def least_gain(self) -> float:
        """The threshold."""
        return self.least

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """The published step; the rows that leave are clipped and counted."""
        state, update = super().client_step(context, state, history, rng)
        rows = update.tables["features"]
        values = rows.values
        if self.clip_update is not None and len(rows):
            norm = float(np.sqrt((values.astype(np.float64) ** 2).sum()))
            values = (values * min(1.0, self.clip_update / max(norm, 1e-300))).astype(self.precision)
        if self.optimiser == "per-contributor":
            values = np.pad(values, ((0, 0), (0, 1)), constant_values=1.0)
        return state, Update({"features": SparseRows(rows.index, values)})

    def climb(
        self, context: RoundContext, state: ClientState, own: Ints, pairs: Ints, shared: Bools
    ) -> tuple[Floats, Floats, Bools]:
        """The published sums, scaled by the number of pairs."""
        c, sent, touched = super().climb(context, state, own, pairs, shared)
        scale = self.scale(len(pairs))
        return c * scale, sent * scale, touched

    def scale(self, pairs: int) -> float:
        """What the gradients of a visit with so many pairs are multiplied with."""
        return float(max(pairs, 1) ** -self.power())

    def power(self) -> float:
        """Gradients of n pairs are divided by n to this."""
        return {"sum": 0.0, "root": 0.5, "mean": 1.0}[self.visit]

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The optimiser, fed with the sum; ends a training that diverges."""
        assert isinstance(received, Total)
        rate, sent = self.server_alpha or self.alpha, received.update.tables["features"]
        theta, memory = optimisers.move(self.optimiser, rate, join(server.model), server.private, sent)
        self.check_bounded(theta)
        return ServerState(split(theta), memory), {}

    def kernel(self) -> Kernel:
        """The compiled twin."""
        from murmura.algorithms.kgflex.kernel import KGFlexKernel

        return KGFlexKernel(self)
