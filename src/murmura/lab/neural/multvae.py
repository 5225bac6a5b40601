"""Liang, Krishnan, Hoffman and Jebara: Variational autoencoders for collaborative filtering (WWW 2018).

Mult-VAE^PR. The network is trained with torch (`multvae_network` has the formulas); it answers in
numpy, without noise: z is the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from murmura.baselines.base import popularity
from murmura.core.arrays import Ints, Longs, Singles
from murmura.core.model import Arrays
from murmura.core.settings import Count, NonNegative, Positive, Times, settings
from murmura.lab.neural.histories import Histories
from murmura.lab.neural.networks import NetworkBaseline, NetworkModel

if TYPE_CHECKING:
    from murmura.lab.neural.training_loop import Fit


@dataclass(frozen=True, eq=False)
class MultVaeModel(NetworkModel):
    """An encoder and a decoder; a user is what her history is encoded to, known or unknown."""

    read: Histories

    def score(self, users: Ints) -> Singles:
        """The logits of every item, decoded from the mean of the user's code."""
        start, column = self.read.start, self.read.column
        own = [column[start[user] : start[user + 1]] for user in users.tolist()]
        return self._decode(self.read.lengths[users], np.concatenate([column[:0], *own]))

    def score_history(self, items: Ints) -> Singles:
        """The same for any history: there is nothing to fold in. Popularity when it is empty."""
        own = np.flatnonzero(np.isin(self.read.item, items))
        if not len(own):
            return popularity(self.train)
        scores: Singles = self._decode(np.array([len(own)]), own)[0]
        return scores

    def _decode(self, size: Longs, column: Longs) -> Singles:
        """Encode users with `size` items each, one after the other in `column`, and decode."""
        from scipy.sparse import csr_array

        net, n = self.network, len(self.read.item)
        weight = np.repeat(1 / np.sqrt(np.maximum(size, 1)), size).astype(np.float32)
        x = csr_array((weight, column, np.concatenate(([0], np.cumsum(size)))), shape=(len(size), n))
        hidden = np.tanh(x @ net["input_weight"] + net["input_bias"])
        code = hidden @ net["code_weight"] + net["code_bias"]
        z = code[:, : len(net["decoder_weight"])]
        hidden = np.tanh(z @ net["decoder_weight"] + net["decoder_bias"])
        return self.spread(hidden @ net["output_weight"] + net["output_bias"], self.read.item)


@settings
class MultVae(NetworkBaseline):
    """Encode what a user has, decode what else she is likely to have.

    `topology` is the width of the encoder's hidden layer, of the code and of the decoder's hidden layer; the
    FPL and FedeRank papers try 200-100-200, 300-100-300 and 600-200-600. `l2` weighs the squared weights.
    """

    name = "multvae"
    model = MultVaeModel

    # widths of the hidden layers and the code
    topology: Annotated[str, Field(pattern="^[1-9][0-9]*-[1-9][0-9]*-[1-9][0-9]*$")] = "200-100-200"
    epochs: Count = 40  # passes over the users
    batch: Count = 200  # users of one step
    learning_rate: Positive = 0.001  # of Adam
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5  # share of a history that is hidden from the encoder
    anneal_cap: NonNegative = 0.2  # the most the divergence of the code weighs
    anneal_epochs: Times = 50  # epochs until it weighs that much
    l2: NonNegative = 0.0  # weight of the squared weights

    def trained(self, read: Histories, fit: Fit) -> Arrays:
        """Adam on the annealed bound."""
        from murmura.lab.neural import multvae_network

        encoder, latent, decoder = map(int, self.topology.split("-"))
        noise = multvae_network.Noise(self.dropout, self.anneal_cap, self.anneal_epochs)
        return multvae_network.train(read, (encoder, latent, decoder), noise, fit)
