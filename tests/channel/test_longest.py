"""The length of a sum: honest devices never reach its bound, a device that lies beyond it is found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.algorithms import optimisers
from murmura.algorithms.fpl.fpl import FPL
from murmura.channel.rounded_chain import RoundedChain, rounded_chain
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase, Total
from murmura.core.errors import FederationError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng, Words, client_secrets, server_secret
from murmura.core.update import SparseRows, Update
from tests.hypothesis_profiles import examples

ITEMS, ROUND = 60, 2
INFO = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), 200, 2000)
PHASE = Phase("train", MessageSpec((TableSpec("items", "item", ITEMS, 4, "float64"),), ("hits",)))


def one(rng: np.random.Generator, scale: float) -> Update:
    values = scale * rng.choice([-1.0, 1.0], (ITEMS, 4)) * rng.random((ITEMS, 4))
    return Update({"items": SparseRows(INFO.listed, values)}, {"hits": scale})


@given(st.integers(2, 16), st.integers(1, 12), st.floats(1e-6, 1e6), st.booleans(), st.integers(0, 2**32 - 1))
@examples(2)
def test_honest_devices_never_reach_it(bits: int, count: int, scale: float, alike: bool, seed: int) -> None:
    """Whatever they send: all in one direction at the clip, or noise far below a step that rounds up."""
    through = rounded_chain(ChannelSettings(channel="secure-sum", clip=3.0, bits=bits), PHASE, INFO, 200)
    rng = np.random.default_rng(seed)
    first = one(rng, scale)
    secrets = client_secrets(seed, count)
    sent = [first if alike else one(rng, scale) for _ in range(count)]
    words = [through.device(u, Rng(secrets[k], ROUND), ROUND) for k, u in enumerate(sent)]
    through.server(through.ring.add_up(words), ROUND)


def test_what_rounding_adds_is_what_is_derived() -> None:
    """At two bits the roundings of a hundred devices are measurable, and far below what each could add."""
    through = rounded_chain(ChannelSettings(channel="secure-sum", clip=3.0, bits=2), PHASE, INFO, 200)
    step = 3.0 / 2
    assert through.rounding == pytest.approx(step * np.sqrt(ITEMS * 4 + 1))
    tiny, secrets = (
        Update({"items": SparseRows(INFO.listed, np.full((ITEMS, 4), 0.05))}, {"hits": 0.05}),
        (client_secrets(0, 100)),
    )
    words = through.ring.add_up(through.device(tiny, Rng(s, ROUND), ROUND) for s in secrets)
    moved = through.ring.server(words)[1:] * step - 100 * 0.05
    length = float(np.sqrt((moved**2).sum()))
    assert 0 < length < through.rounding * 10 * 0.5  # its mean: S sqrt(count) / 2 at most
    assert length < through.longest(100) - 100 * 3.0 < 100 * through.rounding


def test_a_lie_within_the_bounds_of_single_numbers_is_refused_by_the_length_of_the_sum() -> None:
    through = rounded_chain(ChannelSettings(channel="secure-sum"), PHASE, INFO, 200)
    words = through.ring.add_up(honest(through, 99))
    lie = lying_upload(through, 0.9 * 99)
    assert (np.abs(through.ring.server(through.ring.add_up([words, lie]))) <= 100 * through.limits).all()
    with pytest.raises(FederationError, match="a sum of 100 devices must be at most 3000"):
        through.server(through.ring.add_up([words, lie]), ROUND)
    through.server(through.ring.add_up([words, lying_upload(through, 0.9 * 100 / np.sqrt(241))]), ROUND)


def honest(through: RoundedChain, devices: int) -> list[Words]:
    rng, secrets = np.random.default_rng(1), client_secrets(1, devices)
    return [through.device(one(rng, 0.1), Rng(s, ROUND), ROUND) for s in secrets]


def lying_upload(through: RoundedChain, clips: float) -> Words:
    """So many clips in every number, signs at random: the worst a device can say to a memory of squares."""
    signs = np.random.default_rng(0).choice([-1, 1], through.words)
    vector = np.rint(signs * clips * 2.0**15).astype(np.int64)
    vector[0] = 1
    return through.ring.wrap(vector)


# One upload against a server with AdaGrad: every defence alone keeps it learning, none lets it be stopped

MINE = FPL(factors=3, precision="float64", optimiser="adagrad", triples="own", prior=True, server_alpha=0.1)
TOUCHED = 5.0  # what every row honestly gets in a round


def learned(through: RoundedChain, lie: float | None) -> float:
    """How far the median bias comes in eleven rounds of equal sums, after one with a lie of so many clips."""
    server = MINE.server_init(INFO, Rng(server_secret(0)))
    counts = Update({"counts": SparseRows(INFO.listed, np.full((ITEMS, 1), 30.0))})
    server = MINE.server_step("prior", server, Total(counts, 200))[0]
    secrets = client_secrets(3, 100)
    first = server
    for t in range(12):
        values = np.tile([0.0, 0.0, 0.0, TOUCHED / 100], (ITEMS, 1))
        fair = Update({"items": SparseRows(INFO.listed, values)})
        sent = [through.device(fair, Rng(s, t), t) for s in secrets[: 100 - (lie is not None and not t)]]
        if lie is not None and not t:
            sent.append(lying_upload(through, lie))
        total = through.server(through.ring.add_up(sent), t)
        server = MINE.server_step("train", server, total)[0]
        first = first if t else server
    return float(np.median(server.model["b"] - first.model["b"]))


def test_one_upload_cannot_stop_adagrad(monkeypatch: pytest.MonkeyPatch) -> None:
    through = rounded_chain(ChannelSettings(channel="secure-sum"), MINE.phases(INFO)[1], INFO, 200)
    honestly = learned(through, None)
    old, new = 0.9 * 99, 0.9 * 100 / np.sqrt(through.words)  # at the limit of a number, at that of the length
    with pytest.raises(FederationError, match="one broke its clip"):
        learned(through, old)
    assert learned(through, new) > 0.25 * honestly
    monkeypatch.setattr(RoundedChain, "_shorten", lambda self, vector, count: [])
    assert learned(through, old) > 0.25 * honestly  # shortened rows alone suffice
    monkeypatch.setattr(optimisers, "shorten_rows", lambda sent, longest, width: sent)
    assert learned(through, old) < 0.01 * honestly  # without both it hardly moves again
