"""The everyday door: a named configuration is fitted in this process, like any other recommender.

What the devices of a simulation hold is said here too: an operator's and those of `murmura devices` agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.algorithms.preset import ConfiguredPreset
from murmura.channel.ledger import DeviceCosts, device_costs
from murmura.core.arrays import Ints
from murmura.core.catalogue import Dataset
from murmura.core.channel import ChannelSettings
from murmura.core.contract import History
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.model import Method, Model
from murmura.core.population import SumObserver
from murmura.core.progress import SILENT, Progress
from murmura.core.rng import Rng, client_secrets
from murmura.core.update import UpdateObserver
from murmura.data.filters import LatestPerPair
from murmura.data.sources.registry import liked_rows, load
from murmura.data.user_tables import ClientGroups, groups_of_file, random_groups
from murmura.engine.federated_model import FederatedModel
from murmura.engine.federation import Runtime
from murmura.engine.fit import Watch, fit
from murmura.engine.itinerary import Itinerary
from murmura.engine.plan import Plan, federation_info, refuse_unfit
from murmura.engine.prepared import prepare, with_item_features
from murmura.engine.protocol import protocol
from murmura.runtimes.cluster import Cluster
from murmura.runtimes.inprocess import InProcess


@dataclass(frozen=True)
class FederatedMethod(Method):
    """A federated method with its settings, ready to be fitted on the users of a data set."""

    preset: ConfiguredPreset
    runtime: Runtime = field(default_factory=InProcess)

    def __post_init__(self) -> None:
        if (groups := self.preset.grouping()) is not None:
            groups.check()

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self.preset.name

    @property
    def seeded(self) -> bool:
        """Whether the seed changes the result."""
        return self.preset.seeded

    @property
    def uses_order(self) -> bool:
        """Whether the result depends on the order of a person's rows in time."""
        return self.preset.algorithm().uses_order

    @property
    def uses_features(self) -> bool:
        """Whether its clients need to know the features of the items."""
        return self.preset.algorithm().uses_features

    def epoch_rounds(self, train: Interactions) -> int:
        """How many rounds an epoch has with the users of `train`."""
        algorithm = self.preset.algorithm()
        return Itinerary(algorithm, federation_info(algorithm, train), self.preset.schedule()).epoch_rounds

    @property
    def server_reads(self) -> str:
        """What the server gets to read of the clients, in two words."""
        return self.preset.channel_settings().server_reads

    def fit(
        self,
        train: Interactions,
        seed: int = 0,
        progress: Progress = SILENT,
        watch: Watch | None = None,
        folder: Path | None = None,
        checkpoint_every: int | None = None,
        record: UpdateObserver | None = None,
        record_sums: SumObserver | None = None,
    ) -> FederatedModel:
        """Train a federation of the users of `train`, or of their groups; `record` is shown what leaves.

        `record_sums` is shown what the server receives of it.
        """
        self._refuse_unfit(train, seed)
        groups = self.groups(train, seed)
        fitted = fit(
            self.plan(train, seed, groups),
            runtime=self.runtime,
            folder=folder,
            checkpoint_every=checkpoint_every,
            watch=watch,
            progress=progress,
            record=record,
            record_sums=record_sums,
        )
        return fitted if groups is None else replace(fitted, names=groups.labels)

    def plan(self, train: Interactions, seed: int, groups: ClientGroups | None) -> Plan:
        """The training that the settings describe."""
        return Plan(
            self.preset.algorithm(),
            train,
            self.preset.schedule(),
            self.preset.consent(),
            seed,
            None if groups is None else groups.of,
            self.preset.channel_settings(),
        )

    def device_costs(self, train: Interactions, seed: int) -> DeviceCosts:
        """What a device of this federation would send and receive, where everybody shares all."""
        algorithm, groups = self.preset.algorithm(), self.groups(train, seed)
        refuse_unfit(algorithm, train)
        info = federation_info(algorithm, train, None if groups is None else groups.of)
        if (counts := algorithm.expected_counts(train)) is not None:
            info = replace(info, counts=counts)
        schedule, channel = self.preset.schedule(), self.preset.channel_settings()
        return device_costs(algorithm, info, schedule, channel, private_reads=True)

    def fit_resumably(
        self,
        train: Interactions,
        seed: int,
        progress: Progress,
        folder: Path,
        checkpoint_every: int | None,
        watch: Watch | None = None,
    ) -> FederatedModel:
        """Fit; saves itself in `folder` every `checkpoint_every` rounds, by default after every epoch."""
        every = checkpoint_every or self.epoch_rounds(train)
        return self.fit(train, seed, progress, watch, folder, every)

    def save(self, path: Path, model: Model) -> None:
        """Keep what a training left as one file, complete or not at all."""
        assert isinstance(model, FederatedModel)
        model.save(path)

    def load(self, path: Path, train: Interactions) -> FederatedModel:
        """The federation a file keeps, joined with the data it was trained on."""
        return FederatedModel.load(path, train, self.preset.algorithm())

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse what cannot be learned from, and settings that do not go with so many people."""
        self._refuse_unfit(train, seed)
        self.plan(train, seed, self.groups(train, seed))

    def _refuse_unfit(self, train: Interactions, seed: int) -> None:
        algorithm = self.preset.algorithm()
        refuse_unfit(algorithm, train)
        if isinstance(self.runtime, Cluster):
            self.runtime.check(self.preset, train)
        if self.groups(train, seed) is not None and len(train) and not np.ptp(train.value):
            raise DataError(
                f"{self.name} learns from ratings, but all {len(train)} of them are {train.value[0]:g}; take a "
                "protocol that keeps them, such as --protocol ratings."
            )

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> tuple[Ints, Ints] | None:
        """The (user, item) pairs taken as negatives when every client is visited once; None: none are drawn."""
        algorithm = self.preset.algorithm()
        info = federation_info(algorithm, train)
        secrets = client_secrets(seed, train.n_users)
        who, drawn = [], []
        for user in range(train.n_users):
            negatives = algorithm.client_negatives(info, History.of(train, user), Rng(secrets[user], epoch))
            if negatives is None:
                return None
            drawn.append(negatives)
            who.append(np.full(len(negatives), user, np.int32))
        return np.concatenate(who), np.concatenate(drawn)

    def groups(self, train: Interactions, seed: int) -> ClientGroups | None:
        """Who shares a client; None: everyone is one."""
        wanted = self.preset.grouping()
        if wanted is None:
            return None
        if wanted.groups == "random":
            seed = seed if wanted.grouping_seed is None else wanted.grouping_seed
            return random_groups(train.n_users, seed, wanted.smallest, wanted.largest)
        return groups_of_file(Path(wanted.groups), train.users, wanted.user_column, wanted.group_column)


def small_cohort(name: str, settings: Mapping[str, Any], people: int) -> dict[str, Any]:
    """The minimum cohort of a simulation among fewer people than one asks for by default; {} elsewhere.

    A simulation shows what a method would learn from these people. A federation of real devices never lowers
    its minimum by itself.
    """
    defaults = {one.name: one.default for one in fields(algorithm(name).settings)}  # type: ignore[arg-type]
    summed = {**defaults, **settings}.get("channel", "none") != "none"
    if not summed or "minimum_cohort" in settings or people >= ChannelSettings().minimum_cohort:
        return {}
    return {"minimum_cohort": people}


def simulated(name: str, settings: dict[str, Any] | None = None, workers: int = 1) -> FederatedMethod:
    """The federated method of that name, `settings` as on the command line: simulated("sfpl+", {"pi": 0.9})."""
    return FederatedMethod(algorithm(name)(**settings or {}), InProcess(workers=workers))


def simulate(
    name: str, train: Interactions, settings: dict[str, Any] | None = None, *, seed: int = 0, workers: int = 1
) -> FederatedModel:
    """Train the federated method of that name in this process, the users of `train` as its clients.

    Args:
        name: Its name on the command line: "sfpl+".
        train: The training part; every user is a client, or belongs to one where the method takes groups.
        settings: As on the command line: {"pi": 0.9, "epochs": 5}; the others keep their defaults.
        seed: Decides every draw; the same seed gives the same bits.
        workers: Threads; the result does not depend on it.
    """
    given = settings or {}
    fewer = small_cohort(name, given, train.n_users)
    return simulated(name, {**fewer, **given}, workers).fit(train, seed)


def training_rows(
    name: str, rules: str, data_dir: Path | None = None, reading: Mapping[str, Any] | None = None
) -> Interactions:
    """What the devices of a simulated federation hold: all rows, or the training part of a protocol.

    `reading` are the arguments of `load` about how the data is read.
    """
    return held_rows(load(name, data_dir, **(reading or {})), rules)


def held_rows(dataset: Dataset, rules: str) -> Interactions:
    """The same of a data set that is loaded."""
    if not rules and dataset.interactions.samples is None:
        return with_item_features(dataset, LatestPerPair().apply(liked_rows(dataset)))
    return prepare(dataset, protocol(rules or "default", dataset)).split.train


def groups_of(data: Interactions, preset: ConfiguredPreset, seed: int) -> Ints | None:
    """The device of every user, where the method is for groups of people; None: everyone has one."""
    found = FederatedMethod(preset).groups(data, seed)
    return None if found is None else found.of
