"""What a run folder says of its trials: which was best."""

from pathlib import Path
from typing import Any

import pytest

from murmura.engine.run_folder import Run
from murmura.studies.evidence import Evidence
from murmura.studies.search.folder import Trial

LOW, HIGH = (Trial({"factors": k}, value, model="mf", row="mf") for k, value in ((3, 0.7), (5, 0.9)))


@pytest.mark.parametrize(("metric", "won", "lost"), [("MSE", LOW, HIGH), ("P@10", HIGH, LOW)])
def test_the_best_trial_of_an_error_is_the_lowest(metric: str, won: Trial, lost: Trial) -> None:
    prepared: Any = None  # the trials alone are looked at

    def best_and_top(chosen: Trial) -> tuple[float, float]:
        both = (LOW, HIGH)
        return Evidence(Run(Path()), prepared, (), (), None, both, (chosen,), metric).chosen_trials()["mf"]

    value, top = best_and_top(won)
    assert value == top
    value, top = best_and_top(lost)
    assert value < top
