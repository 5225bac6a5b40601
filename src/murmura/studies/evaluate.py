"""A fitted model on the test part in one call: the choice is stated first, and no other may follow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmura.core.errors import DataError
from murmura.core.locks import locked
from murmura.core.model import Model
from murmura.engine.experiment import record_lists, record_outcome, score
from murmura.engine.protocol import PreparedData
from murmura.engine.run import Run, environment
from murmura.evaluation.measure import Evaluation
from murmura.evaluation.registry import chosen_metrics


def evaluate(
    model: Model,
    ready: PreparedData,
    *,
    choice: str | dict[str, Any],
    metrics: Sequence[str] = (),
    cutoffs: tuple[int, ...] | None = None,
    folder: Path | None = None,
    workers: int = 1,
) -> Evaluation:
    """Open the test part for a stated choice and score a model on it.

    Args:
        model: Fitted on `ready.split.train`.
        ready: What `prepare` gave; another choice is refused from then on, the same one may score more models.
        choice: What was chosen, and how: "ease, reg 500, by nDCG@10 on validation". Whoever chooses afterwards
            has seen the test part.
        metrics: By name, as `--metrics` takes them; none: the usual ones.
        cutoffs: The lengths of lists; None: the protocol's.
        folder: A run folder that keeps the choice, the metrics and the lists.
        workers: Threads; the values do not depend on it.
    """
    if model.train.fingerprint != ready.split.train.fingerprint:
        raise DataError(
            "the model must be fitted on ready.split.train, but was fitted on other rows; fit it again there."
        )
    rules, stated = ready.protocol, {"choice": choice}
    wanted = chosen_metrics(metrics, rules.scores)
    if folder is None:
        split = ready.open(None, stated)
        return score(model, split, rules, workers, cutoffs or rules.cutoffs, metrics=wanted).evaluation
    with locked(folder):
        run = Run.create(folder, {"data": ready.data, "protocol": rules.name, **stated})
        run.write_json("data.json", ready.describe())
        run.write_json("environment.json", environment())
        split = ready.open(run, stated)
        outcome = score(model, split, rules, workers, cutoffs or rules.cutoffs, metrics=wanted)
        record_lists(run, outcome.lists, split)
        record_outcome(run, outcome, split)
        run.mark("done")
    return outcome.evaluation
