"""What readable FPL uploads give away: known answers of the algebra, and closed forms of what is found."""

import numpy as np
import pytest

from murmura.core.contract import FederationInfo, History, RoundContext
from murmura.core.rng import Rng, client_secrets
from murmura.core.settings import as_dict
from murmura.core.update import SentUpdate
from murmura.data.sources.synthetic import synth
from murmura.lab.audits.attack import AdversaryKnowledge, ObservedUpdates
from murmura.lab.audits.audit import Audit, audit
from murmura.lab.audits.individual_updates import fpl_residuals, matches, negatives
from murmura.lab.audits.section import findings_table
from murmura.runtimes.simulation import simulated

FACTORS = 6


def one_triple(pi: float) -> tuple[SentUpdate, AdversaryKnowledge, dict[str, np.ndarray], History]:
    """The upload of somebody who draws one triple."""
    algorithm = simulated("pfpl", {"factors": FACTORS, "precision": "float64", "pi": pi}).preset.algorithm()
    info = FederationInfo(50, np.arange(50, dtype=np.int32), 1, 5)
    rng = Rng(client_secrets(4, 1)[0])
    history = History(np.array([3, 9, 20, 31, 44], np.int32), np.ones(5), np.full(5, pi))
    model = algorithm.server_init(info, Rng(client_secrets(5, 1)[0])).model
    state = algorithm.client_init(info, history, rng)
    _, update = algorithm.client_step(RoundContext(info, "train", 1, model), state, history, Rng(rng.secret, 1))
    known = AdversaryKnowledge(info, as_dict(algorithm), np.ones(50, np.int64), 1)
    return SentUpdate("train", 1, 0, model, update), known, dict(state), history


def test_one_negative_row_gives_the_vector_and_the_hidden_positive() -> None:
    sent_update, known, state, history = one_triple(pi=0.0)
    rows = negatives(sent_update, known)
    assert len(sent_update.update.tables["items"]) == len(rows.item) == 1  # no positive was sent
    np.testing.assert_allclose(rows.p[0], state["p"], rtol=1e-9)
    found = matches(sent_update, known)
    assert len(found) == 1
    assert found[0] in history.item


def test_a_wrong_decay_finds_nothing() -> None:
    """The impostor: whoever takes the decay of positives for that of negatives reads a wrong vector."""
    sent_update, known, state, _ = one_triple(pi=0.0)
    wrong = AdversaryKnowledge(known.info, {**known.settings, "alpha": 0.5}, known.popularity, 1)
    assert not np.allclose(negatives(sent_update, wrong).p[0], state["p"], rtol=1e-6)
    assert not len(matches(sent_update, wrong))


@pytest.fixture(scope="module")
def audits() -> dict[float, Audit]:
    data = synth(users=40, items=500, interactions=1200, seed=1).interactions
    settings = {"factors": FACTORS, "precision": "float64", "rounds": 3, "disclosure": "per-triple"}
    return {pi: audit(simulated("pfpl+", {**settings, "pi": pi}), data, 0) for pi in (0.0, 0.5, 1.0)}


def found(audits: dict[float, Audit], pi: float, attack: str, measure: str) -> float:
    one = next(finding for finding in audits[pi].findings if finding.attack == attack)
    return one.values[measure].mean


@pytest.mark.slow
def test_residuals_recover_at_pi_0_what_was_drawn_and_nothing_else(audits: dict[float, Audit]) -> None:
    """T R triples miss an item with probability (1 - q/n)^(T R), q: nobody else drew the same negative."""
    data = synth(users=40, items=500, interactions=1200, seed=1).interactions
    T, counts = len(data) // 40, data.user_counts
    q = (1 - 1 / (500 - counts)) ** (T - 1)
    expected = float(np.mean(1 - (1 - q / counts) ** (3 * T)))
    got = found(audits, 0.0, "fpl-residuals", "certain recall")
    assert got == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(len(data)))
    assert found(audits, 0.0, "fpl-residuals", "certain precision") > 0.999
    assert found(audits, 0.0, "fpl-residuals", "pm-AUC") > 0.9


def test_signs_show_nothing_at_pi_0_and_everything_that_was_sent_above(audits: dict[float, Audit]) -> None:
    assert found(audits, 0.0, "fpl-signs", "certain recall") == 0
    assert (
        0.3
        < found(audits, 0.5, "fpl-signs", "certain recall")
        < found(audits, 1.0, "fpl-signs", "certain recall")
    )
    assert found(audits, 0.5, "fpl-signs", "certain precision") == 1


def test_the_weak_attacks_are_weak(audits: dict[float, Audit]) -> None:
    assert 0.5 < found(audits, 0.0, "fpl-absence", "pm-AUC") < 0.7
    assert found(audits, 0.0, "fpl-inversion", "pm-AUC") < found(audits, 0.0, "fpl-residuals", "pm-AUC")


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [2, 12, 60])
def test_negatives_alone_give_a_history_away_as_fast_as_the_closed_form_says(rounds: int) -> None:
    """At pi = 0 one of the m items she has not is still unseen after v visits with (1 - 1/m)^(v T): a guess."""
    data = synth(users=40, items=120, interactions=800, seed=1).interactions
    settings = {"factors": 2, "precision": "float64", "rounds": rounds, "pi": 0.0}
    seen = audit(simulated("pfpl+", settings), data, 0, ["fpl-absence"])
    T, listed, counts = (
        len(data) // data.n_users,
        np.count_nonzero(data.item_counts),
        np.asarray(data.user_counts),
    )
    unseen = (1 - 1 / (listed - counts)) ** (rounds * T)
    got = next(one for one in seen.findings if one.attack == "fpl-absence").values["pm-AUC"].mean
    assert got == pytest.approx(float(np.mean(1 - unseen / 2)), abs=4 * 0.5 / np.sqrt(len(data)))
    assert rounds < 60 or got > 0.999


def test_a_secure_sum_is_said_to_hide_what_was_attacked() -> None:
    data = synth(users=110, items=60, interactions=1500, seed=1).interactions
    settings = {"factors": 3, "rounds": 1, "channel": "secure-sum"}
    summed, plain = (
        findings_table(audit(simulated("pfpl+", {**settings, **more}), data, 0, ["fpl-signs"]))
        for more in ({}, {"channel": "none"})
    )
    assert summed is not None
    assert plain is not None
    assert "nobody reads single updates" in summed.notes[0]
    assert not any("nobody reads" in note for note in plain.notes)


def test_no_letters_no_claims() -> None:
    _, known, _, _ = one_triple(pi=0.0)
    claims = fpl_residuals(ObservedUpdates(()), known, Rng(client_secrets(0, 1)[0]).stream(1))
    assert not claims.asserted.any()
