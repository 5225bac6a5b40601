"""Which samples were classified rightly, client by client, as a run folder keeps it."""

from pathlib import Path

import numpy as np

from murmura.core.interactions import Interactions, Vocabulary
from murmura.engine.curve_file import ANSWERS, record_answers
from murmura.engine.run_folder import Run


def test_answers_are_kept_client_by_client_in_the_order_of_the_samples(tmp_path: Path) -> None:
    people, things = Vocabulary(np.array(["a", "b", "c"])), Vocabulary(np.arange(5))
    user = np.array([2, 0, 2, 0, 2], np.int32)  # b has held nothing out
    test = Interactions(people, things, user, np.arange(5, dtype=np.int32), np.zeros(5))
    run = Run.create(tmp_path / "run", {"model": {"name": "fedavg"}})
    right = np.isin(test.item, [0, 3])  # c's first, a's second
    record_answers(run, right, test)
    assert run.read_table(ANSWERS) == (["user", "right"], [["a", "01"], ["c", "100"]])
