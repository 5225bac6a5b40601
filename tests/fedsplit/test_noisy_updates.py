"""FedSPLIT's letters with noise: what leaves, how noisy it is, and that without noise nothing changes."""

import math
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.channel.noise_terms import epsilon_of, mu_of
from murmura.core.schedule import Schedule
from murmura.core.update import SentUpdate
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.protections.local_privacy import NoisyUpdates, shortened
from murmura.lab.protections.mechanisms import Guarantee, analytic_sigma
from murmura.runtimes.inprocess import InProcess
from tests.fedsplit.worlds import raters

SMALL: dict[str, Any] = {"factors": 3, "patterns": 4, "epochs": 60, "precision": "float64"}
ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)


def trained(method: FedSplit) -> tuple[FederatedModel, list[SentUpdate]]:
    data, seen = raters(people=40, items=30, share=0.5), list[SentUpdate]()
    groups = (np.arange(data.n_users) // 8).astype(np.int32)
    model = fit(Plan(method, data, ONCE, groups=groups), runtime=InProcess(), record=seen.append)
    return model, [one for one in seen if one.phase == "factors"]


def test_letters_have_all_items_and_no_negative_factor_and_the_mean_is_public() -> None:
    method = NoisyUpdates(**SMALL, update_noise=0.5, update_clip=4.0)
    model, letters = trained(method)
    assert len(letters) == 5
    for letter in letters:
        rows = letter.update.tables["items"]
        assert rows.index.tolist() == model.plan.info.listed.tolist()  # what was not rated is not to be seen
        assert rows.values[:, :3].min() >= 0
    assert float(model.model["mu"][0]) == method.public_mean


def test_noise_is_as_large_as_stated_in_the_biases_which_nothing_cuts() -> None:
    """sigma = 2 C update_noise, five standard errors; a letter of half of it would be found out."""
    _, letters = trained(NoisyUpdates(**SMALL, update_noise=30.0, update_clip=4.0))
    drawn = np.concatenate([one.update.tables["items"].values[:, 3] for one in letters])
    sigma, n = 2 * 4.0 * 30.0, len(drawn)
    assert abs(drawn.std() / sigma - 1) < 5 / math.sqrt(2 * n)
    assert abs(drawn.std() / (sigma / 2) - 1) > 5 / math.sqrt(2 * n)


def test_without_noise_and_with_room_it_is_fedsplit_with_a_public_mean() -> None:
    mu = 3.5
    noisy, _ = trained(NoisyUpdates(**SMALL, update_noise=1e-12, update_clip=1e3, public_mean=mu))

    class Told(FedSplit):
        means = NoisyUpdates.means
        public_mean = mu

    plain, _ = trained(Told(**SMALL))
    np.testing.assert_allclose(noisy.model["b"], plain.model["b"], atol=1e-6)
    np.testing.assert_allclose(noisy.model["patterns"], plain.model["patterns"], atol=1e-3)


def test_the_accountant_of_a_letter() -> None:
    """Any two letters of length C are at most 2 C apart: noise of update_noise times that is 1/noise-GDP."""
    sigma = analytic_sigma(2 * 4.0, Guarantee(8.0, 1e-3))
    assert sigma / (2 * 4.0) == pytest.approx(1 / mu_of(8.0, 1e-3))
    assert epsilon_of(2 * 4.0 / sigma, 1e-3) == pytest.approx(8.0)


def test_a_letter_is_shortened_to_its_clip() -> None:
    letter = np.full((4, 4), 3.0)
    assert np.linalg.norm(shortened(letter, 2.0)) == pytest.approx(2.0)
    assert shortened(letter, 100.0) is letter
