"""NeuMF against plain twins: score, loss, gradients, the answer in numpy and the fold-in."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

import torch

from murmura.lab.neural import neumf_network
from murmura.lab.neural.neumf import Tower
from murmura.lab.neural.training_loop import Params
from tests.neural.differences import check_gradient
from tests.neural.plain import Arrays, plain_neumf

USERS, ITEMS = 3, 5


def network(layers: tuple[int, ...] = (6, 4, 3)) -> Params:
    made = neumf_network.initial(USERS, ITEMS, 2, layers, torch.Generator().manual_seed(2))
    rng = np.random.default_rng(4)  # embeddings of a trained size, biases other than zero
    return {name: torch.from_numpy(rng.normal(0, 0.7, p.shape)).requires_grad_() for name, p in made.items()}


def as_arrays(params: Params) -> Arrays:
    return {name: p.detach().numpy() for name, p in params.items()}


@pytest.mark.parametrize("layers", [(6, 4), (6, 4, 3), (2, 3, 3, 2)])
def test_scores_are_those_of_the_plain_twin(layers: tuple[int, ...]) -> None:
    params = network(layers)
    user, item = torch.arange(USERS), torch.arange(ITEMS).repeat(USERS, 1)
    plain = [[plain_neumf(as_arrays(params), u, i) for i in range(ITEMS)] for u in range(USERS)]
    assert neumf_network.logits(params, user, item).detach().numpy() == pytest.approx(
        np.array(plain), rel=1e-12
    )


@pytest.mark.parametrize("layers", [(6, 4), (6, 4, 3), (2, 3, 3, 2)])
def test_the_answer_in_numpy_is_the_network_in_torch(layers: tuple[int, ...]) -> None:
    params = network(layers)
    arrays, tower = as_arrays(params), Tower.of(as_arrays(params))
    for u in range(USERS):
        scores = tower.score(arrays["user_gmf"][u], arrays["user_mlp"][u])
        assert scores == pytest.approx(np.array([plain_neumf(arrays, u, i) for i in range(ITEMS)]), rel=1e-12)


def test_cross_entropy_by_hand() -> None:
    # sigmoid(log 3) = 3/4; sigmoid(0) = 1/2. The second user has met everything: her negative does not count.
    score = torch.tensor([[math.log(3), 0.0], [0.0, 5.0]], dtype=torch.float64)
    by_hand = -(math.log(3 / 4) + math.log(1 / 2) + math.log(1 / 2)) / 3
    assert float(neumf_network.cross_entropy(score, torch.tensor([True, False]))) == pytest.approx(
        by_hand, rel=1e-12
    )


@pytest.mark.parametrize("name", sorted(network()))
def test_gradient_by_finite_differences(name: str) -> None:
    params, user, item = network(), torch.tensor([0, 1, 2]), torch.tensor([[0, 1], [4, 2], [3, 3]])
    has_unseen = torch.tensor([True, True, False])
    check_gradient(
        lambda: neumf_network.cross_entropy(neumf_network.logits(params, user, item), has_unseen), params[name]
    )


def test_fold_in_descends_along_the_gradient() -> None:
    tower, rng, h = Tower.of(as_arrays(network())), np.random.default_rng(9), 1e-6
    wanted, weight = np.array([1.0, 0.0, 0.0, 1.0, 0.0]), np.array([0.5, 1.3, 1.3, 0.5, 1.3])
    start = rng.normal(0, 0.5, 5)

    def loss(both: NDArray[Any]) -> float:
        return tower.loss(both[:2], both[2:], wanted, weight)[0]

    score = tower.score(start[:2], start[2:])
    by_hand = sum(w * math.log1p(math.exp(-s if y else s)) for w, s, y in zip(weight, score, wanted))
    assert loss(start) == pytest.approx(by_hand, rel=1e-12)
    gradient = np.concatenate(tower.loss(start[:2], start[2:], wanted, weight)[1:])
    for place, step in enumerate(np.eye(5) * h):
        numeric = (loss(start + step) - loss(start - step)) / (2 * h)
        assert gradient[place] == pytest.approx(numeric, rel=1e-5, abs=1e-8)
