"""What the score of a list is the sum of, where a baseline can say so."""

from typing import Any

import numpy as np
import pytest

from murmura.baselines import baseline
from murmura.core.settings import as_dict
from tests.baselines.kit import checkerboard, quick, scattered


@pytest.mark.parametrize("name", ["ease", "item-knn", "user-knn"])
@pytest.mark.parametrize("groups", [2, 8], ids=["more users", "more items"])
@pytest.mark.parametrize("own", [{}, {"values": "raw"}, {"power": 2.0}, {"similarity": "jaccard"}], ids=str)
def test_the_terms_of_a_score_add_up_to_it(name: str, groups: int, own: dict[str, Any]) -> None:
    known = {key: value for key, value in own.items() if key in as_dict(quick(name))}
    train = scattered() if groups == 2 else checkerboard(groups, 6, 9)[0]
    model = baseline(name)(**as_dict(quick(name)) | known).fit(train)
    for user in range(0, train.n_users, 5):
        terms, items = model.terms(user), train.by_user.of(user)
        assert terms is not None
        np.testing.assert_allclose(terms.scores, model.score(np.array([user]))[0], rtol=2e-5, atol=1e-5)
        stranger = model.terms_history(items)
        assert stranger is not None
        np.testing.assert_allclose(stranger.scores, model.score_history(items), rtol=2e-5, atol=1e-5)
    nobody = model.terms_history(np.zeros(0, np.int32))
    assert nobody is not None
    assert np.array_equal(nobody.scores, model.score_history(np.zeros(0, np.int32)))
