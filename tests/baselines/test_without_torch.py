"""The neural baselines where torch is not installed: they refuse to fit, and answer all the same."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from murmura.baselines import baseline
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.lab.neural.multvae import MultVae

NO_TORCH = "import sys; sys.modules['torch'] = None\n"
FIT = """
import numpy as np
from murmura.baselines import baseline
from murmura.core.errors import MissingExtraError
from murmura.core.interactions import Interactions
try:
    baseline({name!r})().fit(Interactions.of(np.array([0, 1]), np.array([0, 1])))
except MissingExtraError as error:
    print(error)
"""


@pytest.mark.process
@pytest.mark.smoke
@pytest.mark.parametrize("name", ["multvae", "neumf", "sasrec"])
def test_fitting_names_the_extra(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_TORCH + FIT.format(name=name)], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        f"{name} needs an optional part that is not installed: run pip install 'murmura[neural]'.\n"
    )
    assert baseline(name).extra == "neural"


@pytest.mark.process
@pytest.mark.smoke
def test_listing_the_models_does_not_import_torch() -> None:
    code = "import sys\nfrom murmura.baselines import BASELINES, baseline\n[baseline(n)() for n in BASELINES]\n"
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def two_by_two() -> tuple[Interactions, dict[str, NDArray[Any]]]:
    """Item 1 has no training row. With these layers the code of a user is tanh(sum of her items' weights)."""
    data = Interactions.of(np.array([0, 0, 1, 1]), np.array([10, 30, 30, 20]))
    layers = {
        "input_weight": [[0.5], [-1.0]],
        "input_bias": [0.0],
        "code_weight": [[1.0, 9.0]],  # the mean, then log sigma^2, which is not asked for
        "code_bias": [0.0, 9.0],
        "decoder_weight": [[2.0]],
        "decoder_bias": [0.25],
        "output_weight": [[1.0, -3.0]],
        "output_bias": [0.0, 0.5],
    }
    return data.rows(np.array([0, 1, 2])), {name: np.array(a, np.float32) for name, a in layers.items()}


def by_hand(total: float) -> list[float]:
    hidden = np.tanh(2.0 * np.tanh(total) + 0.25)
    return [hidden, -np.inf, -3.0 * hidden + 0.5]


def test_a_saved_vae_answers_by_hand() -> None:
    train, layers = two_by_two()
    model = MultVae.model.restore(train, layers, MultVae())
    both, one = by_hand((0.5 - 1.0) / np.sqrt(2)), by_hand(-1.0)
    assert model.score(np.array([0, 1], np.int32)) == pytest.approx(np.array([both, one]), rel=1e-6)
    assert model.score_history(np.array([2], np.int32)) == pytest.approx(np.array(one), rel=1e-6)
    assert model.score_history(np.array([2, 0, 1], np.int32)) == pytest.approx(np.array(both), rel=1e-6)
    assert model.score_history(np.array([1], np.int32)).tolist() == [
        1.0,
        0.0,
        2.0,
    ]  # nothing is known: popularity


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("multvae", {"topology": "600-200"}),
        ("multvae", {"topology": "0-1-2"}),
        ("multvae", {"dropout": 1.0}),
        ("neumf", {"layers": "7-4"}),
        ("neumf", {"layers": "64"}),
        ("neumf", {"negatives": 0}),  # without negatives NeuMF learns to say yes to everything
    ],
)
def test_wrong_settings_are_refused(name: str, wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=f"{name}.{next(iter(wrong))}"):
        baseline(name)(**wrong)
