"""Every item a FedSPLIT group has rated, from its update."""

import numpy as np
import pytest

from murmura.core.rng import Rng, server_secret
from murmura.evaluation.significance import Interval, bootstrap_interval
from murmura.lab.audits.attack import ItemClaims, popularity_reference
from murmura.lab.audits.fedsplit_updates import fedsplit_items, fedsplit_members
from murmura.lab.audits.judge import judge
from tests.audit.worlds import World, world

STREAM = Rng(server_secret(0)).stream(1024)


@pytest.fixture(scope="module")
def letters() -> World:
    return world(users=100, items=400, rows=5000)


def test_the_item_set_of_a_group_is_read_off_exactly(letters: World) -> None:
    claims = fedsplit_items(letters.observed, letters.known, STREAM)
    for client in range(letters.people.clients):
        rated = np.unique(letters.people.history(client, 0).item)
        np.testing.assert_array_equal(np.flatnonzero(claims.asserted[client]), rated)
    verdict = judge(claims, letters.people, letters.popularity, letters.known.info.listed)
    for name in ("pm-AUC", "AUC", "TPR@0.1%", "certain recall", "certain precision"):
        assert np.nanmin(verdict.per_client[name]) == 1, name


def test_members_are_ranked_better_than_by_popularity(letters: World) -> None:
    def found(claims: ItemClaims) -> Interval:
        verdict = judge(claims, letters.people, letters.popularity, letters.known.info.listed)
        assert verdict.victims == letters.known.people
        return bootstrap_interval(verdict.per_client["pm-AUC"])

    seen = letters.observed, letters.known, STREAM
    popular, members = found(popularity_reference("person").claims(*seen)), found(fedsplit_members(*seen))
    assert popular.low <= 0.5 <= popular.high
    assert members.low > popular.high
