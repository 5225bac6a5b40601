"""The training loop: what it minimises, what it leaves behind, what it refuses."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

import torch

from murmura.core.errors import SettingError
from murmura.lab.neural.training_loop import Fit, one_thread_generator, optimise

TARGET = torch.tensor([[1.0, -2.0], [3.0, 0.5]])


def fitted(l2: float, epochs: int = 400, rate: float = 0.05) -> dict[str, NDArray[Any]]:
    """Minimise |W - T|^2 + |b - 1|^2, the same for each of four examples."""
    params = {"weight": torch.zeros(2, 2, requires_grad=True), "bias": torch.zeros(2, requires_grad=True)}

    def loss(chosen: torch.Tensor, epoch: float) -> torch.Tensor:
        return ((params["weight"] - TARGET) ** 2).sum() + ((params["bias"] - 1) ** 2).sum()

    with one_thread_generator(0) as generator:
        return optimise(params, loss, 4, Fit(epochs, 2, rate, l2), generator)


def test_l2_enters_the_loss_of_weights_and_spares_biases() -> None:
    # the minimum of |W - T|^2 + l2 |W|^2 is T / (1 + l2)
    found = fitted(l2=0.5)
    assert found["weight"] == pytest.approx(TARGET.numpy() / 1.5, abs=1e-3)
    assert found["bias"] == pytest.approx(np.ones(2), abs=1e-3)
    assert fitted(l2=0.0)["weight"] == pytest.approx(TARGET.numpy(), abs=1e-3)


def test_every_example_is_seen_once_per_epoch_in_another_order() -> None:
    params, seen = {"weight": torch.zeros(1, 1, requires_grad=True)}, []

    def loss(chosen: torch.Tensor, epoch: float) -> torch.Tensor:
        seen.append((epoch, chosen.tolist()))
        return (params["weight"] ** 2).sum()

    with one_thread_generator(5) as generator:
        optimise(params, loss, 7, Fit(2, 3, 0.1, 0.0), generator)
    epochs = [[i for _, part in seen[e : e + 3] for i in part] for e in (0, 3)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(7))] * 2
    assert epochs[0] != epochs[1]
    assert [when for when, _ in seen] == pytest.approx([0, 3 / 7, 6 / 7, 1, 10 / 7, 13 / 7])


def test_threads_and_the_callers_generator_are_as_they_were() -> None:
    torch.manual_seed(123)
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(2)
    try:
        fitted(0.0, epochs=2)
        assert torch.get_num_threads() == 2
        with pytest.raises(RuntimeError, match="stop"), one_thread_generator(1):
            raise RuntimeError("stop")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_lost_loss_is_refused_in_one_sentence() -> None:
    params = {"weight": torch.full((1, 1), torch.inf, requires_grad=True)}
    with (
        one_thread_generator(0) as generator,
        pytest.raises(SettingError, match=r"learning_rate must .* lower it"),
    ):
        optimise(params, lambda c, e: params["weight"].sum(), 1, Fit(1, 1, 0.1, 0.0), generator)
