"""BPR-MF of people who keep some of their rows back: those are not learned from, and never recommended."""

import numpy as np
import pytest

from murmura.baselines.bpr_mf import BprMf
from murmura.core.errors import SettingError
from murmura.testing import crowd


def test_what_is_kept_back_is_not_learned_from() -> None:
    data = crowd(40, 60)
    method = BprMf(epochs=1, pi=0.4, hides="rarest")
    shared = method.shared(data, 3)
    positives = {
        pair for who, item, _ in method.triples(data, 3, 1) for pair in zip(who.tolist(), item.tolist())
    }
    assert positives <= set(zip(shared.user.tolist(), shared.item.tolist()))
    counts = np.asarray(data.user_counts)
    assert (np.asarray(shared.user_counts) == np.floor(0.4 * counts + 1e-9)).all()


def test_what_is_kept_back_may_be_drawn_as_the_other_item_and_is_in_no_list() -> None:
    data = crowd(40, 60)
    method = BprMf(epochs=5, pi=0.3)
    shared = method.shared(data, 0)
    kept_back = set(zip(data.user.tolist(), data.item.tolist())) - set(
        zip(shared.user.tolist(), shared.item.tolist())
    )
    others = {
        pair
        for epoch in (1, 2, 3)
        for who, _, item in method.triples(data, 0, epoch)
        for pair in zip(who.tolist(), item.tolist())
    }
    assert others & kept_back
    model = method.fit(data, 0)
    assert model.train is data  # lists leave out what is in it


def test_with_everything_shared_nothing_is_different() -> None:
    data = crowd(40, 60)
    whole, plain = (
        method.fit(data, 0) for method in (BprMf(epochs=2, pi=1.0, hides="newest"), BprMf(epochs=2))
    )
    assert whole.Q.tobytes() == plain.Q.tobytes()
    with pytest.raises(SettingError, match="pi"):
        BprMf(pi=0.0)
