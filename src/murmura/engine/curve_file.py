"""The learning curve of a classifier, kept in a run's folder while it trains: a resumed run goes on with it."""

from __future__ import annotations

import time

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.interactions import Interactions
from murmura.core.model import Model
from murmura.engine.run_folder import Run
from murmura.evaluation.classification import local_accuracy
from murmura.evaluation.learning_curve import LearningCurve

FILE, ANSWERS = "accuracy.csv", "answers.csv"


class CurveRecorder:
    """Scores the model after every round on what each client has held out."""

    def __init__(self, test: Interactions, run: Run | None = None) -> None:
        self.test, self.run, self.seconds = test, run, 0.0
        self.clients: Longs = np.flatnonzero(test.user_counts)
        self.rounds: dict[int, Floats] = {}
        if run is not None and run.has(FILE):
            _, rows = run.read_table(FILE)
            self.rounds = {int(row[0]): np.array(row[1:], np.float64) for row in rows}

    def watch(self, epoch: int, model: Model) -> bool:
        """One more round; it always goes on."""
        started = time.perf_counter()
        test = self.test
        right = model.predict(test.user, test.item) == test.value
        self.rounds[epoch] = local_accuracy(right, test.user, test.n_users)[self.clients]
        self._keep()
        self.seconds += time.perf_counter() - started
        return True

    def values(self) -> dict[str, float]:
        """How fast it went, by the names of `LearningCurve`."""
        accuracy = np.array([self.rounds[epoch] for epoch in sorted(self.rounds)])
        return LearningCurve(accuracy, self.test.user_counts[self.clients]).values()

    def _keep(self) -> None:
        if self.run is not None:
            names = self.test.users.labels[self.clients].tolist()
            rows = [(epoch, *(f"{a:.6g}" for a in self.rounds[epoch])) for epoch in sorted(self.rounds)]
            self.run.write_table(FILE, ("round", *names), rows)


def record_answers(run: Run, right: Bools, test: Interactions) -> None:
    """Write which held-out samples of every client were classified rightly: a digit each, 1 right, 0 wrong."""
    digits = np.where(right, "1", "0")[np.argsort(test.user, kind="stable")]
    ends = np.cumsum(test.user_counts).tolist()
    rows = [
        (name, "".join(digits[start:end].tolist()))
        for name, start, end in zip(test.users.labels.tolist(), [0, *ends], ends)
        if end > start
    ]
    run.write_table(ANSWERS, ("user", "right"), rows)
