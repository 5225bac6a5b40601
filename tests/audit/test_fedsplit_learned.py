"""An attack that learns from half of the groups, and what a cover leaves it."""

import numpy as np
import pytest

from murmura.core.rng import Rng, server_secret
from murmura.data.sources.synthetic import synth
from murmura.lab.audits.attack import ItemAttack, claims_of
from murmura.lab.audits.audit import Audit, audit
from murmura.lab.audits.fedsplit_updates import fedsplit_learned, logistic
from murmura.runtimes.simulation import simulated
from tests.audit.worlds import world

SMALL = {"factors": 3, "patterns": 5, "epochs": 60, "joint_epochs": 30, "smallest": 3, "largest": 6}


def test_the_regression_finds_the_odds_it_was_given() -> None:
    random = np.random.default_rng(0)
    n, true = 20_000, np.array([-0.5, 1.2, -0.8])
    X = np.column_stack([np.ones(n), random.normal(size=(n, 2))])
    y = (random.random(n) < 1 / (1 + np.exp(-X @ true))).astype(float)
    spread = np.sqrt(np.diag(np.linalg.inv((X * (0.25 * np.ones(n))[:, None]).T @ X)))
    assert (np.abs(logistic(X, y) - true) < 8 * spread).all()
    assert np.abs(logistic(X, random.permutation(y))[1:]).max() < 0.1


def test_nobody_is_claimed_about_by_who_knew_her() -> None:
    w, told = world(users=60, items=200, rows=3000), []

    def watching(observed, known, stream):  # type: ignore[no-untyped-def]
        told.append(set(known.insiders))
        made = fedsplit_learned(observed, known, stream)
        made.scores[list(known.insiders)] = np.nan
        return made

    watcher = ItemAttack("watching", "", watching, learns=True)
    claims = claims_of(watcher, w.observed, w.known, w.people, Rng(server_secret(0)).stream(1024))
    assert not np.isnan(claims.scores).any()
    assert told[0] | told[1] == set(range(w.people.clients))
    assert not told[0] & told[1]


@pytest.fixture(scope="module")
def audits() -> dict[str, Audit]:
    data = synth(users=150, items=300, interactions=4000, seed=2).interactions
    names = ["fedsplit-items", "fedsplit-learned"]
    return {
        unrated: audit(simulated("fedsplit", {**SMALL, "unrated": unrated}), data, 0, names)
        for unrated in ("zero", "prior", "decoys")
    }


def test_a_prior_alone_hides_nothing_from_who_compares(audits: dict[str, Audit]) -> None:
    for unrated in ("zero", "prior"):
        exact = audits[unrated].findings[0]
        assert exact.values["certain recall"].mean == 1
        assert exact.values["certain precision"].mean == 1


def test_decoys_leave_little_to_comparing_and_to_learning(audits: dict[str, Audit]) -> None:
    before, after = audits["zero"].findings, audits["decoys"].findings
    assert after[0].values["certain precision"].mean < 0.6  # everything has moved
    assert after[0].values["pm-AUC"].high < 0.6
    assert before[1].values["pm-AUC"].low > 0.8
    assert after[1].values["pm-AUC"].high < 0.6
