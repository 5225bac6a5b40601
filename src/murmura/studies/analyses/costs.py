"""What FPL's communication costs by the papers' formulas, from the size of a data set alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.channel.ledger import paper_costs
from murmura.core.contract import FederationInfo
from murmura.studies.papers.experiments import Counts, Experiment
from murmura.studies.sweep import entry_label


def costs(counts: Counts, model: str, settings: dict[str, Any]) -> dict[str, float]:
    """CCE, freshness and its normalised form, T and clients per round of a configuration on so much data."""
    preset = algorithm(model)(**settings)
    listed = np.arange(counts.items, dtype=np.int32)
    info = FederationInfo(counts.items, listed, counts.users, counts.rows)
    triples = preset.algorithm().visit_examples(info)
    schedule, cohort = preset.schedule(), preset.schedule().cohort(info)
    rounds = schedule.epoch_rounds(info, triples)
    pi = preset.consent().average_pi
    found = paper_costs(rounds, rounds, cohort, counts.items, triples, pi, counts.rows)
    del found["TCC"]  # needs the number of epochs, which a training finds
    return {**found, "T": float(triples), "clients per round": float(cohort)}


def calculated_costs(experiment: Experiment, data: str) -> dict[str, dict[str, float]]:
    """Every entry of an experiment on a data set of which only the size is known: label -> measure -> value."""
    found = {}
    for label, row in experiment.rows.items():
        for key, values in (row.sweep or {"": [None]}).items():
            for value in values:
                settings = {**row.settings, key: value} if key else row.settings
                name = entry_label(label, key, value) if key else label
                found[name] = costs(experiment.counts[data], row.model, settings)
    return found
