"""Kang and McAuley: Self-attentive sequential recommendation (ICDM 2018), SASRec.

    x_t = sqrt(d) e(s_t) + p_t                              the t-th item of a window of a history
    x <- x + dropout(attention(norm(x)))                    heads side by side; place t sees places 1 ... t
    x <- x + dropout(W_2 relu(W_1 norm(x) + b_1) + b_2)     both in every block
    score of item i after place t = norm(x_t) . e(i)

Two departures. The loss is softmax cross entropy of the next item among `negatives` items drawn for the step,
not binary cross entropy with one (with as many as there are items it is the whole softmax; Klenitskiy and
Vasilev, RecSys 2023, found it better). A history longer than a window is met at a random place in each
epoch, not always at its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from murmura.core.arrays import Ints
from murmura.core.rng import Rng, server_secret
from murmura.lab.neural.histories import Sequences, windows
from murmura.lab.neural.sasrec import EPSILON
from murmura.lab.neural.training_loop import Arrays, Fit, Params, one_thread_generator, optimise

SPREAD = 0.02  # standard deviation of a new embedding


class Shape(NamedTuple):
    """How large the network is, and how much of it is dropped in training."""

    dim: int
    blocks: int
    heads: int
    length: int
    dropout: float


def initial(n_items: int, shape: Shape, generator: torch.Generator) -> Params:
    """Small embeddings; Glorot's normal for the weights, zero for the biases; norms leave as is."""
    d = shape.dim
    params: Params = {
        "item": torch.randn(n_items, d, generator=generator) * SPREAD,
        "place": torch.randn(shape.length, d, generator=generator) * SPREAD,
    }
    for n in range(1, shape.blocks + 1):
        for name in ("query", "key", "value", "inner", "outer"):
            params[f"{name}{n}_weight"] = torch.randn(d, d, generator=generator) * d**-0.5
        params |= {f"inner{n}_bias": torch.zeros(d), f"outer{n}_bias": torch.zeros(d)}
    for name in (*(f"{at}{n}" for n in range(1, shape.blocks + 1) for at in ("attend", "feed")), "last"):
        params |= {f"{name}_scale": torch.ones(d), f"{name}_shift": torch.zeros(d)}
    return {name: p.requires_grad_() for name, p in params.items()}


def _norm(params: Params, name: str, x: Tensor) -> Tensor:
    d = x.shape[-1]
    return functional.layer_norm(x, (d,), params[f"{name}_scale"], params[f"{name}_shift"], EPSILON)


def _dropped(x: Tensor, dropout: float, generator: torch.Generator | None) -> Tensor:
    """A share of the entries set to zero, the rest scaled up; without a generator all are kept."""
    if generator is None or not dropout:
        return x
    return x * torch.empty_like(x).bernoulli_(1 - dropout, generator=generator) / (1 - dropout)


def states(params: Params, shape: Shape, column: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """(rows, places) items to (rows, places, dim): what each place knows of itself and those before it.

    Padding stands at the end, where no place that counts looks. A generator drops entries.
    """
    rows, places = column.shape
    x = shape.dim**0.5 * functional.embedding(column, params["item"]) + params["place"][:places]
    x = _dropped(x, shape.dropout, generator)
    for n in range(1, shape.blocks + 1):
        normed = _norm(params, f"attend{n}", x)
        query, key, value = (
            (normed @ params[f"{name}{n}_weight"]).view(rows, places, shape.heads, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + _dropped(seen.transpose(1, 2).reshape(x.shape), shape.dropout, generator)
        normed = _norm(params, f"feed{n}", x)
        inner = torch.relu(normed @ params[f"inner{n}_weight"] + params[f"inner{n}_bias"])
        fed = inner @ params[f"outer{n}_weight"] + params[f"outer{n}_bias"]
        x = x + _dropped(fed, shape.dropout, generator)
    return _norm(params, "last", x)


def cross_entropy(params: Params, state: Tensor, target: Tensor, drawn: Tensor) -> Tensor:
    """- log softmax of each state's next item among itself and the drawn ones, the mean."""
    positive = (state * functional.embedding(target, params["item"])).sum(1)
    others = state @ functional.embedding(drawn, params["item"]).T
    others = others.masked_fill(drawn == target[:, None], -torch.inf)
    return (torch.logsumexp(torch.cat([positive[:, None], others], 1), 1) - positive).mean()


def draw_items(n_items: int, negatives: int, generator: torch.Generator) -> Tensor:
    """Different items, each set of so many equally likely; all where there are no more."""
    return torch.randperm(n_items, generator=generator)[:negatives]


def train(sequences: Sequences, shape: Shape, negatives: int, fit: Fit) -> Arrays:
    """Fit to everyone with two items or more; `fit.batch` counts people. The parameters, by name."""
    start, lengths = sequences.histories.start, sequences.histories.lengths
    people, n_items = np.flatnonzero(lengths > 1), len(sequences.histories.item)
    newest: tuple[int, Tensor] | None = None
    with one_thread_generator(fit.seed) as generator:
        params = initial(n_items, shape, generator)

        def columns(epoch: int) -> Tensor:
            nonlocal newest
            if newest is None or newest[0] != epoch:  # items of one time are shuffled anew in each epoch
                ordered = sequences.ordered(Rng(server_secret(fit.seed), epoch))
                newest = epoch, torch.from_numpy(ordered)
            return newest[1]

        def loss(chosen: Tensor, epoch: float) -> Tensor:
            who, ordered = people[chosen.numpy()], columns(int(epoch))
            size = np.minimum(lengths[who], shape.length + 1)
            share = torch.rand(len(who), generator=generator, dtype=torch.float64).numpy()
            begin = start[who] + (share * (lengths[who] - size + 1)).astype(np.int64)
            cut = windows(ordered.numpy(), begin, begin + size)
            column, last = torch.from_numpy(cut.column), torch.from_numpy(cut.size - 1)
            followed = torch.arange(column.shape[1] - 1) < last[:, None]
            state = states(params, shape, column[:, :-1], generator)[followed]
            drawn = draw_items(n_items, negatives, generator)
            return cross_entropy(params, state, column[:, 1:][followed], drawn)

        return optimise(params, loss, len(people), fit, generator)


def drawn_negatives(sequences: Sequences, negatives: int, seed: int, epoch: int) -> tuple[Ints, Ints]:
    """Users and unmet items that `train` would set against their next ones: one set drawn for each user."""
    histories = sequences.histories
    who, items = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    with one_thread_generator(1_000_003 * epoch + seed) as generator:
        for user in np.flatnonzero(histories.lengths > 1).tolist():
            drawn = draw_items(len(histories.item), negatives, generator).numpy()
            own = histories.column[histories.start[user] : histories.start[user + 1]]
            unmet = drawn[~np.isin(drawn, own)]
            who.append(np.full(len(unmet), user, np.int32))
            items.append(histories.item[unmet])
    return np.concatenate(who), np.concatenate(items)
