"""The loss of Mult-VAE^PR against answers worked out by hand and in plain numpy; impostors must be refused."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

import torch

from murmura.lab.neural import multvae_network
from murmura.lab.neural.training_loop import Params
from tests.neural.differences import check_gradient
from tests.neural.plain import plain_negative_elbo

START, ITEM = torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1])  # user 0 has items 0 and 2, user 1 has item 1


def small_network(dtype: torch.dtype = torch.float64) -> Params:
    made = multvae_network.initial(3, (4, 2, 5), torch.Generator().manual_seed(7))
    return {name: (2 * p.detach()).to(dtype).requires_grad_() for name, p in made.items()}


def both_users() -> multvae_network.Bags:
    return multvae_network.bags(START, ITEM, torch.tensor([0, 1]))


def test_multinomial_loss_by_hand() -> None:
    # softmax(0, log 2, 0) = (1/4, 1/2, 1/4); softmax(0, 0, 0) = 1/3 each
    logits = torch.tensor([[0.0, math.log(2.0), 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    user_0 = -2 * math.log(1 / 4)  # items 0 and 2: a sum over items, not a mean
    user_1 = -math.log(1 / 3)
    assert float(multvae_network.multinomial_loss(logits, both_users())) == pytest.approx(
        (user_0 + user_1) / 2, rel=1e-12
    )


def closed_form(mean: NDArray[Any], log_variance: NDArray[Any]) -> float:
    """KL(N(m, s^2) | N(0, 1)) = - log s + (s^2 + m^2) / 2 - 1/2, dimension by dimension."""
    total = 0.0
    for m, v in zip(mean.ravel(), log_variance.ravel()):
        s = math.exp(v / 2)
        total += -math.log(s) + (s * s + m * m) / 2 - 0.5
    return total / len(mean)


MEAN = np.array([[0.3, -1.2, 0.0], [2.0, 0.1, -0.4]])
LOG_VARIANCE = np.array([[0.0, 0.7, -1.1], [-0.2, 1.3, 0.4]])


def averaged(mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
    """The fault of a well-known version: the mean over latent dimensions where the sum is meant."""
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).mean()


def one_sided(mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
    """Another: sigma taken for sigma^2."""
    return 0.5 * (mean**2 + torch.exp(0.5 * log_variance) - 1 - 0.5 * log_variance).sum(1).mean()


def test_kl_is_the_closed_form_and_an_impostor_is_not() -> None:
    mean, log_variance = torch.from_numpy(MEAN), torch.from_numpy(LOG_VARIANCE)
    expected = closed_form(MEAN, LOG_VARIANCE)
    assert float(multvae_network.kl_divergence(mean, log_variance)) == pytest.approx(expected, rel=1e-12)
    for impostor in (averaged, one_sided):
        assert float(impostor(mean, log_variance)) != pytest.approx(expected, rel=0.05)


def test_kl_is_what_sampling_says() -> None:
    """E_q[log q(z) - log p(z)] over many z, within four standard errors."""
    rng, n = np.random.default_rng(3), 40_000
    m, s = MEAN[:1], np.exp(LOG_VARIANCE[:1] / 2)
    z = m + s * rng.standard_normal((n, 3))
    drawn = (-np.log(s) - 0.5 * ((z - m) / s) ** 2 + 0.5 * z**2).sum(1)
    kl = float(multvae_network.kl_divergence(torch.from_numpy(MEAN[:1]), torch.from_numpy(LOG_VARIANCE[:1])))
    assert abs(kl - drawn.mean()) < 4 * drawn.std() / math.sqrt(n)


def test_elbo_is_its_plain_twin() -> None:
    network, rng = small_network(), np.random.default_rng(5)
    kept, epsilon = np.array([0.0, 2.0, 2.0]), rng.standard_normal((2, 2))
    ours = multvae_network.negative_elbo(
        network, both_users(), torch.from_numpy(kept), torch.from_numpy(epsilon), 0.3
    )
    arrays = {name: p.detach().numpy() for name, p in network.items()}
    plain = plain_negative_elbo(arrays, [[0, 2], [1]], [[0.0, 2.0], [2.0]], epsilon, 0.3)
    assert float(ours.detach()) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize(
    "name", [f"{n}_{k}" for n in ("input", "code", "decoder", "output") for k in ("weight", "bias")]
)
def test_gradient_by_finite_differences(name: str) -> None:
    network, rng = small_network(), np.random.default_rng(6)
    noise = torch.tensor([2.0, 0.0, 2.0], dtype=torch.float64), torch.from_numpy(rng.standard_normal((2, 2)))
    check_gradient(lambda: multvae_network.negative_elbo(network, both_users(), *noise, 0.7), network[name])


def test_beta_climbs_to_its_cap_and_stays() -> None:
    noise = multvae_network.Noise(0.5, 0.2, 40)
    assert [noise.beta(e) for e in (0, 10, 40, 400)] == pytest.approx([0, 0.05, 0.2, 0.2])
    assert multvae_network.Noise(0.5, 0.2, 0).beta(0) == pytest.approx(0.2)


def test_bags_pick_the_histories_of_a_batch() -> None:
    batch = multvae_network.bags(torch.tensor([0, 2, 2, 3]), ITEM, torch.tensor([2, 1, 0]))
    assert batch.start.tolist() == [0, 1, 1]
    assert batch.row.tolist() == [0, 2, 2]
    assert batch.item.tolist() == [1, 0, 2]
    assert batch.size.tolist() == [1, 0, 2]
