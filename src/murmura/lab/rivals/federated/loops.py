"""Local training of heads over one item table, compiled: many clients of PFedRec and of FedMF with BCE.

The reference is `client_step` in `pfedrec`; the draws are those of `samples.SampledRival.draw`, word for word.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.kernels.compiled import compiled
from murmura.kernels.philox import Words, fill_words

Table = NDArray[Any]  # float32 or float64


class HeadSteps(NamedTuple):
    """The settings of a visit."""

    negatives: int
    batch: int
    rate: float  # of the head
    item_rate: float  # of the rows of the table
    bias: bool  # whether the head has one
    purpose: int  # of the first stream; two for each epoch
    epochs: int


class HeadClients(NamedTuple):
    """The clients of a batch: what they learn from, what they keep, and what comes of it."""

    secrets: Words  # (clients, 2)
    items: Ints  # (clients, longest)
    shared: Bools  # (clients, longest) the rows it learns from
    length: Longs
    spared: Ints  # (clients, some) items never drawn besides the own ones, -1: none
    w: Table  # (clients, d)
    b: Table  # (clients,)


@compiled(fast=True)
def visit_heads(
    Q: Table,
    listed: Ints,
    round_: int,
    clients: HeadClients,
    steps: HeadSteps,
    index: Ints,
    values: Table,
    scores: Table,
) -> None:
    """Local epochs of every client from the table Q, which is left as it was.

    What changed goes to index and values, -1 behind the last row, where these have room; the scores of all
    items, by the client's own table, to `scores` where that has.
    """
    items, d = Q.shape
    T, mark = Q.copy(), np.zeros(items, np.int64)
    g = np.zeros(items, Q.dtype)
    rate, item_rate = Q.dtype.type(steps.rate), Q.dtype.type(steps.item_rate)
    step = Q.dtype.type(0)
    most = clients.items.shape[1] * (1 + steps.negatives)
    sample, label, order_item = np.empty(most, np.int32), np.empty(most, Q.dtype), np.empty(most, np.int32)
    words, e = np.empty(most + 4, np.uint32), np.empty(steps.batch, Q.dtype)
    grad, touched = np.empty(d, Q.dtype), np.zeros(items, np.bool_)
    tag = 0
    for c in range(len(clients.length)):
        w, n = clients.w[c], clients.length[c]
        bias = clients.b[c]
        out = excluded(clients.items[c, :n], clients.spared[c], listed)
        shared, many = np.empty(n, np.int32), 0
        for row in range(n):
            if clients.shared[c, row]:
                shared[many] = clients.items[c, row]
                many += 1
        for epoch in range(steps.epochs):
            drawn = draw(
                clients.secrets[c],
                round_,
                steps,
                epoch,
                shared[:many],
                out,
                listed,
                words,
                order_item,
                sample,
                label,
            )
            for first in range(0, drawn, steps.batch):
                size = min(steps.batch, drawn - first)
                part = sample[first : first + size]
                scale = Q.dtype.type(1.0 / size)
                # the head, by the mean slope
                slope = step
                for f in range(d):
                    grad[f] = 0
                for k in range(size):
                    row = T[part[k]]
                    logit = bias
                    for f in range(d):
                        logit += w[f] * row[f]
                    s = Q.dtype.type(1.0 / (1.0 + exp(-logit))) - label[first + k]
                    slope += s
                    for f in range(d):
                        grad[f] += s * row[f]
                for f in range(d):
                    w[f] -= rate * scale * grad[f]
                if steps.bias:
                    bias -= rate * scale * slope
                # the rows, by the slopes at the new head
                for k in range(size):
                    row = T[part[k]]
                    logit = bias
                    for f in range(d):
                        logit += w[f] * row[f]
                    e[k] = Q.dtype.type(1.0 / (1.0 + exp(-logit))) - label[first + k]
                tag += 1
                for k in range(size):
                    if mark[part[k]] != tag:
                        mark[part[k]] = tag
                        g[part[k]] = 0
                    g[part[k]] += e[k]
                for k in range(size):
                    if mark[part[k]] == tag:
                        mark[part[k]] = 0
                        pull = item_rate * scale * g[part[k]]
                        for f in range(d):
                            T[part[k], f] -= pull * w[f]
                for k in range(size):
                    touched[part[k]] = True
        clients.b[c] = bias
        if scores.shape[0]:
            for i in range(items):
                logit = bias
                for f in range(d):
                    logit += w[f] * T[i, f]
                scores[c, i] = logit
        used = 0
        for i in range(items):
            if touched[i]:
                touched[i] = False
                if index.shape[0]:
                    index[c, used] = i
                    for f in range(d):
                        values[c, used, f] = T[i, f] - Q[i, f]
                    used += 1
                for f in range(d):
                    T[i, f] = Q[i, f]
        if index.shape[0]:
            for k in range(used, index.shape[1]):
                index[c, k] = -1


@compiled
def excluded(own: Ints, spared: Ints, listed: Ints) -> Longs:
    """The places in `listed` of what is never drawn, ascending, each less its own number."""
    place = np.searchsorted(listed, own)
    more = np.zeros(len(spared), np.int64)
    n = 0
    for item in spared:
        at = np.searchsorted(listed, item)
        if item >= 0 and at < len(listed) and listed[at] == item:
            more[n] = at
            n += 1
    out = np.sort(np.concatenate((place, more[:n])))
    return out - np.arange(len(out))


@compiled
def draw(
    secret: Words,
    round_: int,
    steps: HeadSteps,
    epoch: int,
    shared: Ints,
    out: Longs,
    listed: Ints,
    words: Words,
    found: Ints,
    sample: Ints,
    label: Floats,
) -> int:
    """The samples of one epoch in their order; how many there are."""
    zero, first = np.uint64(0), np.uint64(steps.purpose + 2 * epoch)
    many, free = len(shared), max(0, len(listed) - len(out))
    n = many
    for k in range(many):
        found[k] = shared[k]
    if free:
        fill_words(secret, np.uint64(round_), first, zero, zero, words[: (many * steps.negatives + 3) // 4 * 4])
        for k in range(many * steps.negatives):
            place = np.int64(np.uint64(words[k]) * np.uint64(free) >> np.uint64(32))
            found[n] = listed[place + np.searchsorted(out, place, side="right")]
            n += 1
    fill_words(secret, np.uint64(round_), first + np.uint64(1), zero, zero, words[: (n + 3) // 4 * 4])
    order = np.argsort(words[:n], kind="mergesort")
    for k in range(n):
        sample[k] = found[order[k]]
        label[k] = 1.0 if order[k] < many else 0.0
    return n
