"""Noise is the stated distribution, drawn from the system; impostors of it are found out."""

import ast
import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from murmura.channel.noise import LARGEST, NoiseSource, _below, discrete_gaussian, simulated_noise, system_noise
from murmura.channel.rounded_chain import RoundedChain, rounded_chain
from murmura.channel.shares import Entropy
from murmura.core.arrays import Floats, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import FederationError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng, client_secrets
from murmura.core.update import SparseRows, Update
from murmura.testing.data import crowd

SOURCE = Path(__file__).parents[2] / "src" / "murmura"
Sampler = Callable[[int, int, Entropy], Longs]
NOISY = ChannelSettings(channel="secure-sum", clip=2.0, epsilon=4.0)


def seeded(name: str) -> Entropy:
    return simulated_noise(7)("seed", name, 0)


def too_small(sigma: int, size: int, entropy: Entropy) -> Longs:
    return discrete_gaussian(round(0.95 * sigma), size, entropy)


def laplace(sigma: int, size: int, entropy: Entropy) -> Longs:
    """Of the same variance, and no Gaussian."""
    words = np.frombuffer(entropy(8 * size), "<u8") * 2.0**-64 - 0.5
    drawn: Longs = np.rint(-sigma / math.sqrt(2) * np.sign(words) * np.log1p(-2 * np.abs(words))).astype(
        np.int64
    )
    return drawn


def uniform(sigma: int, size: int, entropy: Entropy) -> Longs:
    words = np.frombuffer(entropy(8 * size), "<u8") * 2.0**-64 - 0.5
    drawn: Longs = np.rint(sigma * math.sqrt(12) * words).astype(np.int64)
    return drawn


def is_discrete_gaussian(sampler: Sampler, sigma: int, size: int = 60_000) -> bool:
    """Mean, variance, fourth moment and every frequency, each by a test of level 10^-4."""
    drawn = sampler(sigma, size, seeded(f"moments {sigma}")).astype(np.float64) / sigma
    far = stats.norm.isf(0.5e-4)
    moments: list[tuple[Floats, float]] = [(drawn, 0.0), (drawn**2, 1.0), (drawn**4, 3.0)]
    spreads = (1.0, math.sqrt(2.0), math.sqrt(96.0))  # deviations of x, x^2 and x^4 of a standard normal
    for (values, mean), spread in zip(moments, spreads):
        if abs(values.mean() - mean) > far * spread / math.sqrt(size) + 2.0 / sigma**2:
            return False
    return _frequencies(sampler, sigma, size)


def _frequencies(sampler: Sampler, sigma: int, size: int) -> bool:
    """Chi squared over bins of about equal probability, by the exact probabilities of whole numbers."""
    drawn = sampler(sigma, size, seeded(f"frequencies {sigma}"))
    reach = np.arange(-12 * sigma, 12 * sigma + 1)
    mass = np.exp(-(reach**2) / (2 * sigma**2))
    cumulated = np.cumsum(mass / mass.sum())
    edges = np.unique(reach[np.searchsorted(cumulated, np.linspace(0, 1, 33)[1:-1])])
    expected = np.diff(np.concatenate([[0.0], cumulated[edges + 12 * sigma], [1.0]])) * size
    found = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    return bool(stats.chisquare(found, expected).pvalue > 1e-4)


@pytest.mark.parametrize("sigma", [3, 16, 500, LARGEST])
def test_noise_is_discrete_gaussian(sigma: int) -> None:
    assert is_discrete_gaussian(discrete_gaussian, sigma)


@pytest.mark.parametrize("impostor", [too_small, laplace, uniform])
@pytest.mark.parametrize("sigma", [16, 500])
def test_impostors_are_found_out(impostor: Sampler, sigma: int) -> None:
    assert not is_discrete_gaussian(impostor, sigma)


def test_a_number_below_a_limit_is_uniform_where_words_do_not_divide() -> None:
    """3 * 2**61 leaves a quarter of all words over: taken modulo, the lowest third would come too often."""
    limit = np.full(20_000, 2**62 + 2**61, np.uint64)
    drawn = _below(limit, seeded("uniform"))
    assert 0 <= drawn.min() <= drawn.max() < 2**62 + 2**61
    assert abs((drawn < 2**61).mean() - 1 / 3) < 4 * math.sqrt(2 / 9 / 20_000)


def test_bytes_decide_and_nothing_else() -> None:
    one, other = (discrete_gaussian(40, 50, seeded("same")) for _ in range(2))
    assert (one == other).all()
    assert (one != discrete_gaussian(40, 50, seeded("other"))).any()
    with pytest.raises(ValueError, match="from 1 to 8192"):
        discrete_gaussian(LARGEST + 1, 1)


@pytest.mark.slow
def test_real_noise_is_the_systems_and_only_simulations_have_another() -> None:
    """Whoever else mentions the seeded source, or gives an aggregator one, would be found here."""
    assert system_noise("seed", "train", 3) is os.urandom
    users = {
        path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if _names(path, "simulated_noise")
    }
    audits = {"lab/audits/attacked_training.py", "lab/audits/sums/canaries.py"}  # attacks on simulations
    assert users == {"channel/noise.py", "engine/plan.py", "server/loopback.py", *audits}
    given = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if _gives_noise(path)}
    assert given == {"server/loopback.py"}
    drawn = ast.parse((SOURCE / "channel" / "noise.py").read_text(encoding="utf-8"))
    random = [node for node in ast.walk(drawn) if isinstance(node, ast.Attribute) and node.attr == "random"]
    inside = next(n for n in ast.walk(drawn) if isinstance(n, ast.FunctionDef) and n.name == "simulated_noise")
    assert all(inside.lineno <= node.lineno <= (inside.end_lineno or 0) for node in random)


def _names(path: Path, name: str) -> bool:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return any(isinstance(node, ast.Name | ast.FunctionDef) and name in vars(node).values() for node in nodes)


def _gives_noise(path: Path) -> bool:
    """Whether a call in it gives `noise=` to an aggregator, or to servers that start some."""
    calls = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    )
    makers = (
        call for call in calls if isinstance(call.func, ast.Name) and call.func.id in ("Aggregator", "Servers")
    )
    return any(word.arg == "noise" for call in makers for word in call.keywords)


def test_each_aggregator_adds_the_whole_noise_and_the_count_has_none() -> None:
    through = made(multiplier=3.0, source=simulated_noise(1))
    steps = through.sigma[1:]
    assert through.sigma[0] == 0
    assert (steps == steps[0]).all()
    assert steps[0] == pytest.approx(3.0 * 2.0 / (through.rounding / math.sqrt(len(steps))), rel=1e-3)
    sums = np.zeros(through.words, np.int64)
    sums[0] = 3
    total = through.sum_up(sums, 5)
    values = np.concatenate([rows.values.ravel() for rows in total.update.tables.values()])
    assert total.count == 3
    assert total.noise == pytest.approx(math.sqrt(2) * 3.0 * 2.0, rel=1e-3)
    assert abs(values.std() / total.noise - 1) < 4 / math.sqrt(2 * len(values))
    one = through.noise(simulated_noise(1)("seed", "train", 5))
    assert abs(one[1:].std() / steps[0] - 1) < 4 / math.sqrt(2 * len(steps))


def test_rounding_makes_no_vector_longer_than_noise_is_measured_by() -> None:
    """Without noise it does; with it, a vector that has become longer is rounded towards zero."""
    info, phase = world()
    longest = []
    for multiplier in (0.0, 200.0):  # so much that steps are coarse
        through = rounded_chain(NOISY, phase, info, 5, multiplier)
        lengths = []
        for client in range(40):
            rng = Rng(client_secrets(0, 40)[client], 3)
            rows = np.arange(info.items, dtype=np.int32)
            values = rng.stream(200).normals(info.items * 3).reshape(-1, 3).astype(np.float32)
            vector = through.device(Update({"items": SparseRows(rows, values)}), rng, 3)
            numbers = through.ring.server(vector).astype(np.float64) * through.steps
            lengths.append(float(np.sqrt((numbers[1:] ** 2).sum())))
        longest.append(max(lengths))
    assert longest[0] > NOISY.clip
    assert longest[1] <= NOISY.clip * (1 + 1e-12)


def test_noise_that_does_not_fit_is_refused() -> None:
    info, phase = world()
    with pytest.raises(SettingError, match=r"must be at least 16 steps, but is 4; raise bits"):
        rounded_chain(NOISY, phase, info, 5, 1e-4)
    with pytest.raises(SettingError, match=r"must be at most 8192 steps, but is 10000; raise epsilon"):
        rounded_chain(NOISY, phase, info, 5, 5e3)
    with pytest.raises(FederationError, match="must have a source"):
        made(multiplier=3.0).sum_up(np.zeros(made(multiplier=3.0).words, np.int64), 1)
    with pytest.raises(SettingError, match=r"channel must be 'secure-sum' where epsilon is given"):
        ChannelSettings(channel="readable", epsilon=1.0)
    with pytest.raises(SettingError, match="as_if must be left out where epsilon is"):
        ChannelSettings(as_if=100)


def world() -> tuple[FederationInfo, Phase]:
    people: Interactions = crowd(30, 400)
    info = FederationInfo.of(people)
    return info, Phase("train", MessageSpec((TableSpec("items", "item", info.items, 3),)))


def made(multiplier: float, source: NoiseSource | None = None) -> RoundedChain:
    info, phase = world()
    return rounded_chain(NOISY, phase, info, 30, multiplier, source)
