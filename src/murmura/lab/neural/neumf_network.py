"""He, Liao, Zhang, Nie, Hu, Chua: Neural collaborative filtering (WWW 2017), NeuMF.

    gmf = p_u * q_i                                      one pair of embeddings, entry by entry
    mlp = relu(W_n ... relu(W_1 [p'_u, q'_i] + b_1) ...)   another pair, through a tower
    score = h . [gmf, mlp] + b,   loss = binary cross entropy of sigmoid(score)

Each positive comes with `negatives` items the user has not met in training, drawn anew in each epoch. Both
parts learn together from the start; the paper's separate training of each beforehand is left out.

Items a user has not met in training, uniformly, without rejection.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from murmura.core.arrays import Ints
from murmura.lab.neural.histories import Histories
from murmura.lab.neural.training_loop import Arrays, Fit, Params, one_thread_generator, optimise

SPREAD = 0.01  # standard deviation of a new embedding, as in the paper


def initial(
    n_users: int, n_items: int, factors: int, layers: tuple[int, ...], generator: torch.Generator
) -> Params:
    """Small embeddings; Glorot's normal for the tower and the output, zero for the biases."""
    half = layers[0] // 2
    embeddings = {
        "user_gmf": (n_users, factors),
        "item_gmf": (n_items, factors),
        "user_mlp": (n_users, half),
        "item_mlp": (n_items, half),
    }
    params: Params = {
        name: torch.randn(shape, generator=generator) * SPREAD for name, shape in embeddings.items()
    }
    for n, (a, b) in enumerate(pairwise(layers), start=1):
        params[f"tower{n}_weight"] = torch.randn(a, b, generator=generator) * (2 / (a + b)) ** 0.5
        params[f"tower{n}_bias"] = torch.zeros(b)
    last = factors + layers[-1]
    params["output_weight"] = torch.randn(last, 1, generator=generator) * (2 / (last + 1)) ** 0.5
    params["output_bias"] = torch.zeros(1)
    return {name: p.requires_grad_() for name, p in params.items()}


def logits(params: Params, user: Tensor, item: Tensor) -> Tensor:
    """The score of each user's items: (users,) and (users, n) to (users, n).

    W_1 is applied to the user's and to the item's half apart, so that a user is read once for all her items.
    """
    half, (users, n) = params["user_mlp"].shape[1], item.shape
    entry = params["tower1_weight"]
    of_user = functional.embedding(user, params["user_mlp"]) @ entry[:half] + params["tower1_bias"]
    of_item = functional.embedding(item.flatten(), params["item_mlp"]) @ entry[half:]
    mlp = torch.relu(of_item.view(users, n, -1) + of_user[:, None, :])
    level = 2
    while f"tower{level}_weight" in params:
        mlp = torch.relu(functional.linear(mlp, params[f"tower{level}_weight"].T, params[f"tower{level}_bias"]))
        level += 1
    factors = params["user_gmf"].shape[1]
    gmf = functional.embedding(user, params["user_gmf"]) * params["output_weight"][:factors, 0]
    product = torch.einsum("uf,unf->un", gmf, functional.embedding(item, params["item_gmf"]))
    return product + mlp @ params["output_weight"][factors:, 0] + params["output_bias"]


def cross_entropy(score: Tensor, has_unseen: Tensor) -> Tensor:
    """- log sigmoid of the first column, - log (1 - sigmoid) of the others: the mean over all pairs.

    A user who has met everything (`has_unseen` False) has no negatives; her other columns do not count.
    """
    positive, negative = functional.softplus(-score[:, 0]), functional.softplus(score[:, 1:]).sum(1)
    pairs = len(score) + has_unseen.sum() * (score.shape[1] - 1)
    return (positive.sum() + (negative * has_unseen).sum()) / pairs


def train(histories: Histories, factors: int, layers: tuple[int, ...], negatives: int, fit: Fit) -> Arrays:
    """Fit to every pair of training; `fit.batch` counts positives. The parameters, by name."""
    unmet, item = UnseenItems.of(histories), torch.from_numpy(histories.column.copy())
    user = torch.repeat_interleave(unmet.start.diff())
    with one_thread_generator(fit.seed) as generator:
        params = initial(histories.n_users, len(histories.item), factors, layers, generator)

        def loss(chosen: Tensor, epoch: float) -> Tensor:
            who = user[chosen]
            drawn = unmet.draw(who.repeat_interleave(negatives), generator).view(-1, negatives)
            score = logits(params, who, torch.cat([item[chosen, None], drawn], 1))
            return cross_entropy(score, unmet.has_unseen(who))

        return optimise(params, loss, len(user), fit, generator)


def drawn_negatives(histories: Histories, negatives: int, seed: int, epoch: int) -> tuple[Ints, Ints]:
    """What `train` draws beside every pair, from a generator of its own: users and items."""
    unmet = UnseenItems.of(histories)
    user = torch.repeat_interleave(unmet.start.diff())
    who = user[unmet.has_unseen(user)].repeat_interleave(negatives)
    with one_thread_generator(1_000_003 * epoch + seed) as generator:
        drawn = unmet.draw(who, generator)
    return who.numpy().astype(np.int32), histories.item[drawn.numpy()].astype(np.int32)


class UnseenItems(NamedTuple):
    """Where the items a user has not met lie between those she has.

    Before her j-th item s_j (from 0) lie s_j - j items she has not met. So her r-th unmet item (from 0) is
    r + the number of her items with s_j - j <= r: one binary search per draw, whatever she has met.
    """

    start: Tensor  # (users + 1,)
    before: Tensor  # (entries,) user * (columns + 1) + s_j - j, ascending
    n_items: int

    @staticmethod
    def of(histories: Histories) -> UnseenItems:
        """From what everyone has met."""
        start, column = torch.from_numpy(histories.start.copy()), torch.from_numpy(histories.column.copy())
        user = torch.repeat_interleave(start.diff())
        place = torch.arange(len(column)) - start[user]
        n_items = len(histories.item)
        return UnseenItems(start, user * (n_items + 1) + column - place, n_items)

    def has_unseen(self, user: Tensor) -> Tensor:
        """Whether there is anything each user has not met."""
        return self._unseen_count(user) > 0

    def draw(self, user: Tensor, generator: torch.Generator) -> Tensor:
        """One unmet item per entry of `user`; any item for a user who has met everything."""
        drawn = torch.rand(len(user), generator=generator, dtype=torch.float64)
        return self.at(user, (drawn * self._unseen_count(user)).long()).clamp(max=self.n_items - 1)

    def at(self, user: Tensor, r: Tensor) -> Tensor:
        """The r-th unmet item of each user."""
        passed = torch.searchsorted(self.before, user * (self.n_items + 1) + r, right=True)
        return r + passed - self.start[user]

    def _unseen_count(self, user: Tensor) -> Tensor:
        return self.n_items - (self.start[user + 1] - self.start[user])
