"""What readable FCF uploads give away: everything that is shared, in one round; nothing that is not."""

import numpy as np
import pytest

from murmura.core.contract import FederationInfo, History, RoundContext
from murmura.core.rng import Rng, client_secrets
from murmura.core.settings import as_dict
from murmura.core.update import SentUpdate, SparseRows, Update
from murmura.data.sources.synthetic import synth
from murmura.lab.audits.attack import AdversaryKnowledge
from murmura.lab.audits.audit import audit
from murmura.lab.audits.individual_updates import TOLERANCE, beyond_absence
from murmura.runtimes.simulation import simulated

OWN = np.array([3, 9, 20, 31, 44], np.int32)


def upload(pi: float) -> tuple[SentUpdate, AdversaryKnowledge]:
    """What somebody with five of fifty items sends by the paper's form."""
    algorithm = simulated("fcf-paper", {"factors": 6}).preset.algorithm()
    info = FederationInfo(50, np.arange(50, dtype=np.int32), 1, 5)
    history, rng = History(OWN, np.ones(5), np.full(5, pi)), Rng(client_secrets(4, 1)[0])
    model = algorithm.server_init(info, Rng(client_secrets(5, 1)[0])).model
    state = algorithm.client_init(info, history, rng)
    _, update = algorithm.client_step(RoundContext(info, "train", 1, model), state, history, Rng(rng.secret, 1))
    known = AdversaryKnowledge(info, as_dict(algorithm), np.ones(50, np.int64), 1)
    return SentUpdate("train", 1, 0, model, update), known


def test_a_dense_upload_says_which_items_are_shared_and_which_are_not() -> None:
    left = beyond_absence(*upload(1.0))
    assert np.flatnonzero(left > TOLERANCE).tolist() == OWN.tolist()
    assert left[OWN].min() > 100 * TOLERANCE
    assert not (beyond_absence(*upload(0.0)) > TOLERANCE).any()  # sent as if they had not been observed


def test_rows_that_are_no_multiples_of_one_vector_are_not_read() -> None:
    """The impostor: the same rows, each turned its own way, are told apart by nothing."""
    sent, known = upload(1.0)
    rows = sent.update.tables["items"]
    ways = np.random.default_rng(1).normal(size=rows.values.shape)
    turned = ways * np.linalg.norm(rows.values, axis=1)[:, None]
    other = SentUpdate("train", 1, 0, sent.model, Update({"items": SparseRows(rows.index, turned)}))
    assert np.flatnonzero(beyond_absence(other, known) > TOLERANCE).tolist() != OWN.tolist()


@pytest.mark.parametrize("model", ["fcf", "fcf-paper"])
@pytest.mark.parametrize("pi", [1.0, 0.5])
def test_one_round_gives_everything_away_that_is_shared(model: str, pi: float) -> None:
    data = synth(users=40, items=200, interactions=1200, seed=1).interactions
    found = audit(simulated(model, {"factors": 6, "rounds": 1, "clients": "all", "pi": pi}), data, 0)
    values = next(one.values for one in found.findings if one.attack == "fcf-items")
    assert values["certain precision"].mean == 1
    assert values["certain recall"].mean == pytest.approx(pi, abs=4 * 0.5 / np.sqrt(len(data)))
