"""FedSPLIT's letters under differential privacy, the future work of its section 5. Ours, to show what it costs.

The server reads every letter, so each group adds Gaussian noise to its own before it leaves: local
differential privacy, whose unit is a group with all its ratings. A letter has rows of all items on offer, as
those it leaves out would tell what the group has not rated; it is shortened to `letter_clip` in L2, and any two
letters are then at most twice that apart: noise of `letter_noise` times that distance is mu-private with
mu = 1 / letter_noise (`epsilon_of` of the channel's accountant). What is negative after that becomes 0, and a
public number stands for the mean.

Noise is drawn from a training stream: a simulation, which protects nobody. No preset has it.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.core.arrays import Floats
from murmura.core.contract import ClientState, ClientStep, FederationInfo, History, RoundContext
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Positive, settings
from murmura.core.update import SparseRows, Update


@settings
class NoisyLetters(FedSplit):
    """FedSPLIT whose groups add noise to what they send."""

    name: ClassVar[str] = "fedsplit-noisy-letters"

    letter_clip: Positive = 20.0  # C: no letter is longer than this in L2
    letter_noise: Positive = 1.0  # standard deviation over 2 C
    public_mean: Positive = 3.5  # of ratings: known without asking anybody

    def means(self, info: FederationInfo, rows: History) -> Update:
        """What everybody knows: nothing of a group."""
        return Update(scalars={"mean": self.public_mean, "groups": 1.0})

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """As printed; then the letter of all items, shortened, with noise, without negative factors."""
        state, update = super().client_step(context, state, history, rng)
        if context.phase == "means":
            return state, update
        rows, listed = update.tables["items"], context.info.listed
        letter: Floats = np.zeros((len(listed), self.width))
        letter[np.searchsorted(listed, rows.index)] = rows.values
        letter = shortened(letter, self.letter_clip)
        seed = rng.stream(Purpose.ROUNDING).words_at(np.arange(4))
        noise = np.random.default_rng(seed).normal(0.0, 2 * self.letter_clip * self.letter_noise, letter.shape)
        letter += noise
        letter[:, : self.factors] = np.maximum(letter[:, : self.factors], 0.0)
        return state, Update({"items": SparseRows(listed, letter.astype(self.precision))})


def shortened(letter: Floats, clip: float) -> Floats:
    """No longer than the clip in L2."""
    length = float(np.sqrt((letter**2).sum()))
    return letter if length <= clip else letter * (clip / length)
