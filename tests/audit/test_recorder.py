"""The recorder sees what leaves, and changes nothing."""

import numpy as np

from murmura.core.update import SentUpdate
from murmura.data.sources.synthetic import synth
from murmura.runtimes.simulation import simulated


def test_recording_shows_every_update_and_changes_no_result() -> None:
    data = synth(users=20, items=30, interactions=300).interactions
    updates: list[SentUpdate] = []
    ready = simulated("pfpl", {"factors": 4, "epochs": 3, "precision": "float64"})
    recorded = ready.fit(data, record=updates.append)
    plain = simulated("pfpl", {"factors": 4, "epochs": 3, "precision": "float64"}).fit(data)
    assert recorded.path == "plain"
    assert plain.path == "kernel"
    assert [(one.round, one.client) for one in updates] == [
        (round, client) for round in range(recorded.rounds) for client in range(20)
    ]
    np.testing.assert_allclose(recorded.model["Q"], plain.model["Q"], rtol=0, atol=1e-12)
    # the model an update answered is the one before its round
    alpha = 0.05
    for round in range(recorded.rounds - 1):
        b = updates[20 * round].model["b"].copy()
        for one in updates[20 * round : 20 * (round + 1)]:
            rows = one.update.tables["items"]
            b[rows.index] += alpha * rows.values[:, -1]
        np.testing.assert_allclose(b, updates[20 * (round + 1)].model["b"], rtol=0, atol=1e-12)
