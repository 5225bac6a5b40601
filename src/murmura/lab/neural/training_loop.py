"""The one training loop of the networks: Adam over shuffled batches, with a generator of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from murmura.core.errors import SettingError
from murmura.core.progress import SILENT, Progress

Arrays = dict[str, NDArray[Any]]
Params = dict[str, Tensor]
Watch = Callable[[int, Arrays], bool]  # (epochs done, the parameters so far) -> go on?
Loss = Callable[[Tensor, float], Tensor]  # (numbers of the batch's examples, epochs done so far) -> mean loss


class Fit(NamedTuple):
    """How a network is fitted: how long and how fast it learns, from which seed, and who looks on."""

    epochs: int
    batch: int
    learning_rate: float
    l2: float  # times the sum of squares of all weights, biases excepted, is added to the mean loss
    seed: int = 0
    progress: Progress = SILENT
    watch: Watch | None = None


class _OneThread:
    """How many callers want torch on one thread now, and what to go back to after the last of them."""

    def __init__(self) -> None:
        self.lock, self.callers, self.before = Lock(), 0, 1

    def enter(self) -> None:
        with self.lock:
            if not self.callers:
                self.before = torch.get_num_threads()
            self.callers += 1
            torch.set_num_threads(1)  # also of the calling thread, which may be new

    def leave(self) -> None:
        with self.lock:
            self.callers -= 1
            if not self.callers:
                torch.set_num_threads(self.before)


_ONE = _OneThread()


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread, in several callers at a time too; the last to leave restores the number of threads.

    On one thread every sum has one order: the result depends neither on the cores of the machine nor on what
    else runs.
    """
    _ONE.enter()
    try:
        yield
    finally:
        _ONE.leave()


@contextmanager
def one_thread_generator(seed: int) -> Iterator[torch.Generator]:
    """A generator of its own and one thread; the caller's generator is not touched."""
    with one_thread():
        yield torch.Generator().manual_seed(seed)


def optimise(params: Params, loss: Loss, n: int, fit: Fit, generator: torch.Generator) -> Arrays:
    """Minimise the mean loss over n examples by Adam (Kingma and Ba 2015), in place; the parameters as arrays.

    Adam's `weight_decay` w adds w * p to the gradient of p: with w = 2 * l2 that is the gradient of l2 * |p|^2.
    """
    weights = [p for p in params.values() if p.dim() > 1]
    biases = [p for p in params.values() if p.dim() <= 1]
    groups = [
        {"params": weights, "weight_decay": 2 * fit.l2},
        {"params": biases, "weight_decay": 0.0},
    ]
    adam = torch.optim.Adam([g for g in groups if g["params"]], lr=fit.learning_rate, fused=True)
    fit.progress.begin("epochs", fit.epochs)
    for epoch in range(fit.epochs):
        order, total = torch.randperm(n, generator=generator), 0.0
        for first in range(0, n, fit.batch):
            value = loss(order[first : first + fit.batch], epoch + first / n)
            adam.zero_grad()
            value.backward()
            adam.step()
            total += float(value.detach())
        if not math.isfinite(total):
            raise SettingError(
                f"learning_rate must keep the loss finite, but {fit.learning_rate:g} lost it in epoch "
                f"{epoch + 1}; lower it."
            )
        fit.progress.advance()
        if fit.watch is not None and not fit.watch(epoch + 1, as_arrays(params)):
            break
    fit.progress.end()
    return as_arrays(params)


def as_arrays(params: Params) -> Arrays:
    """A copy of the parameters, out of the reach of further training."""
    return {name: p.detach().numpy().copy() for name, p in params.items()}
