"""A paper's table of its data sets: counted on the data, nothing is trained."""

from __future__ import annotations

from murmura.engine.protocol import protocol
from murmura.studies.config import DataConfig
from murmura.studies.data_facts import DataFacts, data_facts
from murmura.studies.papers.reproduce import ExperimentPlace


def described(place: ExperimentPlace) -> DataFacts:
    """What the experiment's protocol leaves of a data set; groups over as many groupings as it has seeds."""
    dataset = DataConfig(name=place.data).load(place.data_dir)
    return data_facts(dataset, protocol(place.experiment.protocol, dataset), place.experiment.seeds)
