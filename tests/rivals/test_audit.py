"""What one upload of a rival shows: whole histories; and what hides them."""

import numpy as np
import pytest

from murmura.core.arrays import Bools
from murmura.core.contract import Algorithm, FederationInfo
from murmura.core.rng import Purpose, Rng
from murmura.core.schedule import Schedule
from murmura.core.update import SentUpdate
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.audits.attack import AdversaryKnowledge, ItemAttack, ObservedUpdates
from murmura.lab.audits.rival_updates import ATTACKS
from murmura.lab.rivals.federated.colr import CoLR
from murmura.lab.rivals.federated.fedrec import FedRec
from murmura.lab.rivals.federated.fedrecon import FedRecon
from murmura.lab.rivals.federated.pfedrec import PFedRec
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

SIDES, INTERSECTION = ATTACKS


def read(algorithm: Algorithm, attack: ItemAttack, rounds: int) -> tuple[Bools, Bools]:
    """What is asserted, and what is so: (clients, items) each, of people with a few of many items."""
    data = crowd(30, 300)
    data = data.rows(np.isin(data.user, np.flatnonzero((data.user_counts > 4) & (data.user_counts < 60))))
    seen: list[SentUpdate] = []
    fit(Plan(algorithm, data, Schedule(rounds=rounds)), runtime=InProcess(), record=seen.append)
    own = np.zeros((data.n_users, data.n_items), np.bool_)
    own[data.user, data.item] = True
    settings = {"rank": algorithm.rank} if isinstance(algorithm, CoLR) else {}
    known = AdversaryKnowledge(FederationInfo.of(data), settings, own.sum(0), data.n_users)
    found = attack.claims(ObservedUpdates(tuple(seen)), known, Rng(np.zeros(2, np.uint32)).stream(Purpose.OWN))
    there = own.any(1)
    return found.asserted[there], own[there]


@pytest.mark.parametrize(
    "algorithm",
    [
        PFedRec(factors=8, item_factor=1.0, precision="float64"),
        PFedRec(factors=8, item_factor=1.0, bias=False, ranks_with="server", precision="float64"),
        FedRecon(factors=8, precision="float64"),
        CoLR(factors=8, rank=4, precision="float64"),
    ],
    ids=["pfedrec", "fedmf-bce", "fedrecon", "colr"],
)
def test_one_upload_shows_the_history(algorithm: Algorithm) -> None:
    asserted, own = read(algorithm, SIDES, 1)
    exact = (asserted == own).all(1).mean()
    assert exact >= 0.9


def test_filled_rows_fall_to_intersection_and_sticky_ones_do_not() -> None:
    exact = {}
    for sticky in (False, True):
        asserted, own = read(FedRec(factors=4, sticky=sticky, precision="float64"), INTERSECTION, 20)
        exact[sticky] = (asserted == own).all(1).mean()
    assert exact[False] >= 0.9
    assert exact[True] <= 0.1
