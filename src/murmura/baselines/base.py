"""The one interface of the centralised methods: settings that can be fitted, and fitted models in files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmura.baselines import BASELINES, baseline
from murmura.core.arrays import Ints, Longs, Singles
from murmura.core.errors import DataError, MurmuraError, RunError, SettingError
from murmura.core.files import group, prefixed, read_archive, write_archive
from murmura.core.interactions import Interactions, RowIndex, Vocabulary, latest_each
from murmura.core.model import Among, Arrays, Method, Model, RankedLists, Watch
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict, from_dict

Pairs = tuple[Ints, Ints]  # users and items, side by side


M = TypeVar("M", bound="RankingModel")


@dataclass(frozen=True, eq=False)
class RankingModel(Model):
    """A model whose lists are the items with the highest scores, ranked by a compiled loop."""

    learned: ClassVar[tuple[str, ...]] = ()  # the fields that are arrays

    def arrays(self) -> Arrays:
        """What was learned."""
        return {name: getattr(self, name) for name in self.learned}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From what was learned, and the method where it is a field."""
        fields = {name: arrays[name] for name in cls.learned}
        if "method" in cls.__dataclass_fields__:
            fields |= {"method": method}
        return cls(train=train, **fields)

    def recommend(self, users: Ints, k: int = 10, workers: int = 1, among: Among | None = None) -> RankedLists:
        """The k best items a known user has not interacted with; ties go to the lower item id.

        A user without a training row is answered like an empty history. `among` marks the items that may be
        recommended, or has those of each user, of which the candidates are; None: the candidates.
        """
        from murmura.kernels.ranking import rank

        if isinstance(among, RowIndex):
            own = among
            return rank(
                lambda block: only_own(self.answer(block), block, own),
                users, k, self.train.by_user, self.candidates, workers,
            )  # fmt: skip
        allowed = self.candidates if among is None else among
        return rank(self.answer, users, k, self.train.by_user, allowed, workers)

    def recommend_history(self, items: Ints, k: int = 10, time: Longs | None = None) -> RankedLists:
        """The k best items for someone unknown, her own items excluded; `time` says when she had each."""
        from murmura.kernels.ranking import rank

        given, when = latest_each(items, time)
        own = given.astype(np.int32)
        seen = RowIndex(np.array([0, len(own)]), own, np.ones(len(own)), np.arange(len(own)))
        scores = self.score_history(own) if when is None else self.score_timed_history(own, when)
        return rank(lambda _: scores[None, :].copy(), np.zeros(1, np.int32), k, seen, self.candidates)

    def score_timed_history(self, items: Ints, time: Longs) -> NDArray[Any]:
        """The scores for someone unknown who had each item at a time, of which most models make no use."""
        return self.score_history(items)


def only_own(scores: NDArray[Any], users: Ints, own: RowIndex) -> NDArray[Any]:
    """The scores of each user's own items; all others are -inf, which is never recommended."""
    kept = np.full_like(scores, -np.inf)
    for row, user in enumerate(users.tolist()):
        items = own.of(user)
        kept[row, items] = scores[row, items]
    return kept


class Baseline(Method):
    """A centralised method: a frozen set of hyper-parameters that can be fitted."""

    name: ClassVar[str]
    model: ClassVar[type[Model]]
    seeded: ClassVar[bool] = True  # False: the seed changes nothing, one run is enough
    extra: ClassVar[str | None] = None  # the optional part of Murmura that `fit` needs

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> Model:
        """Learn from the training part, by default in one step; refuses to learn from nothing."""
        require_rows(train, self.name)
        self.check(train, seed)
        return self.learn(train, seed, progress)

    def learn(self, train: Interactions, seed: int, progress: Progress) -> Model:
        """The one step of a method that has no epochs."""
        raise NotImplementedError

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse data it cannot learn from, before anything is written: samples with labels, by default."""
        if train.samples is not None:
            raise DataError(
                f"{self.name} learns from interactions, but this data has samples with labels; take a method "
                "that classifies, or other data."
            )

    def save(self, path: Path, model: Model) -> None:
        """Keep a fitted model as one file, complete or not at all; its training part stays with the data."""
        save_model(path, self, model, rows=False)

    def load(self, path: Path, train: Interactions) -> Model:
        """The model a file keeps, with the training part it was fitted on."""
        return load_model(path, train)[1]


class EpochBaseline(Baseline, Generic[M]):
    """A method that learns in epochs: whoever watches may end them."""

    model: ClassVar[type[RankingModel]]
    epochs: int

    @abstractmethod
    def training(self, train: Interactions, seed: int) -> Iterator[M]:
        """The model after each epoch, which the next one may change."""

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> M:
        """Learn epoch after epoch; `watch` gets a copy of the model after each."""
        require_rows(train, self.name)
        self.check(train, seed)
        progress.begin("epochs", self.epochs)
        for epoch, model in enumerate(self.training(train, seed), start=1):
            progress.advance()
            if watch is not None:
                so_far = {name: array.copy() for name, array in model.arrays().items()}
                if not watch(epoch, self.model.restore(train, so_far, self)):
                    break
        progress.end()
        return model


def popularity(train: Interactions) -> Singles:
    """What someone is shown of whom nothing is known: the number of training rows of each item."""
    return train.item_counts.astype(np.float32)


def require_rows(train: Interactions, name: str) -> None:
    """Refuse to learn from nothing."""
    if not len(train):
        raise SettingError(f"{name} needs at least one training row, but the training part is empty.")


FORMAT, VERSION = "murmura-model", 2
_COLUMNS = ("user", "item", "value", "time")


def save_model(path: Path | str, method: Baseline, model: Model, *, rows: bool = True) -> None:
    """Write the method, its settings, the training part and what was learned; whole, or not at all.

    Without `rows` the training part is left out: whoever loads it has it.
    """
    train = model.train
    header = {"format": FORMAT, "version": VERSION, "model": method.name, "settings": as_dict(method)}
    arrays: Arrays = prefixed(model=model.arrays())
    if rows:
        columns = {name: column for name in _COLUMNS if (column := getattr(train, name)) is not None}
        arrays |= prefixed(train=columns) | {"users": train.users.labels, "items": train.items.labels}
    write_archive(Path(path), arrays, header, DataError)


def load_model(path: Path | str, train: Interactions | None = None) -> tuple[Baseline, Model]:
    """The method with its settings, and the fitted model, as they were saved; `train` where it was left out."""
    header, arrays = _read_model(Path(path))
    try:
        method = from_dict(baseline(header["model"]), header["settings"])
        if train is None:
            train = _training_part(arrays)
        return method, method.model.restore(train, group(arrays, "model"), method)
    except (MurmuraError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{path} is not a usable model: {error}; fit and save it again.") from None


def _training_part(arrays: Arrays) -> Interactions:
    if "users" not in arrays:
        raise DataError("it was saved without its training part, which its run folder finds")
    users, items, rows = Vocabulary(arrays["users"]), Vocabulary(arrays["items"]), group(arrays, "train")
    return Interactions(users, items, rows["user"], rows["item"], rows["value"], rows.get("time"))


def _read_model(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays; a foreign or damaged file is refused before anything is built."""
    if not path.is_file():
        raise DataError(
            f"a model must be a file that save_model wrote, but {path} is not there; check the path."
        )
    try:
        arrays, header = read_archive(path)
    except RunError:
        arrays, header = {}, {}
    if header.get("format") != FORMAT:
        raise DataError(
            f"a model must be a file that save_model wrote, but {path} is damaged or foreign; fit it again."
        )
    if header.get("version") != VERSION or header.get("model") not in BASELINES:
        raise DataError(
            f"{path} must be a version {VERSION} model that this Murmura knows, but it is version "
            f"{header.get('version')} of '{header.get('model')}'; use the Murmura that wrote it."
        )
    return header, arrays
