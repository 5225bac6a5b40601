"""The list of one person, from a fitted run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.arrays import Ints, Longs
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import Model, RankedLists, ScoreTerms
from murmura.core.progress import SILENT, Progress
from murmura.data.sources.registry import one_person
from murmura.data.splits.temporal import begin_of_day
from murmura.engine.prepared import PreparedData
from murmura.engine.reasons import item_vectors, nearest_own, sentence, term_reasons
from murmura.studies.scorer import Scorer


@dataclass(frozen=True)
class Recommendation:
    """One line of a list."""

    rank: int
    item: Any  # own id
    name: str
    score: float
    why: str = ""  # the reason as a person reads it
    reason: Mapping[str, Any] = field(default_factory=dict)  # and as plain values

    def flat(self) -> dict[str, Any]:
        """One flat object, as --json prints it."""
        return {"rank": self.rank, "item": self.item, "name": self.name, "score": self.score, **self.reason}


@dataclass(frozen=True, eq=False)
class Person:
    """Whom a list is for: a user of the training part, or someone unknown with a history of her own."""

    own: Ints  # her items
    time: Longs | None = None  # when she had each, where that is known
    code: int | None = None  # her number, if she was in the training
    foreign: int = 0  # rows of items that the model does not know

    @staticmethod
    def known(train: Interactions, user: str) -> Person:
        """A user of the training part."""
        code = int(train.users.index([user], "user")[0])
        return Person(train.by_user.of(code), code=code)

    @staticmethod
    def of_items(train: Interactions, likes: list[str]) -> Person:
        """Someone unknown, by the ids of the items she likes."""
        return Person(np.unique(train.items.index(likes, "item")))

    @staticmethod
    def of_file(prepared: PreparedData, file: str, user: str, data_dir: Path | None) -> Person:
        """Someone unknown, by a file of her rows; its times are seen as the run's protocol sees times."""
        rows, items = one_person(file, user, data_dir), prepared.split.train.items
        codes = items.find(rows.items.labels[rows.item])
        if not (codes >= 0).any():
            raise DataError(
                f"{file} must have at least one of the {len(items)} items of the run, but none of its "
                f"{len(codes)} rows has; check that both use the same ids."
            )
        time = rows.time
        if time is not None and prepared.protocol.order == "day":
            time = begin_of_day(time)
        kept = codes >= 0
        return Person(codes[kept], None if time is None else time[kept], foreign=int((~kept).sum()))

    def best(self, model: Model, k: int) -> RankedLists:
        """Her list."""
        if self.code is not None:
            return model.recommend(np.array([self.code], np.int32), k)
        return model.recommend_history(self.own, k, self.time)

    def terms(self, model: Model) -> ScoreTerms | None:
        """What her scores are sums of, where the model says so."""
        if self.code is not None and len(self.own):
            return model.terms(self.code)
        return model.terms_history(self.own, self.time)


def recommend_one(
    folder: Path,
    user: str,
    likes: list[str],
    k: int,
    why: bool,
    data_dir: Path | None = None,
    history: str = "",
    label: str = "",
    progress: Progress = SILENT,
) -> tuple[list[Recommendation], Person]:
    """The k best items of a known user, of someone unknown who likes some items, or of a file's one person.

    `label` says which model of a folder of several.
    """
    scorer = Scorer.open(folder, label, data_dir=data_dir)
    prepared, model = scorer.prepared, scorer.model(progress)
    if prepared.protocol.classifies:
        raise SettingError(f"the run must be of a method that ranks items, but {folder} classifies samples.")
    train = prepared.split.train
    if history:
        person = Person.of_file(prepared, history, user, data_dir)
    else:
        person = Person.known(train, user) if user else Person.of_items(train, likes)
    return _lines(prepared, model, person, k, why), person


def _lines(prepared: PreparedData, model: Model, person: Person, k: int, why: bool) -> list[Recommendation]:
    lists, own, name = person.best(model, k), np.unique(person.own), prepared.catalogue.name
    shown: Ints = lists.item[0][lists.item[0] >= 0]
    ids, scores = prepared.split.data.items.labels[shown].tolist(), lists.score[0].tolist()
    lines = [
        Recommendation(rank, own_id, name(item), score)
        for rank, (item, own_id, score) in enumerate(zip(shown.tolist(), ids, scores), start=1)
    ]
    if not why:
        return lines
    terms = person.terms(model)
    if terms is None:
        found = []
        for line, (nearest, cosine) in zip(lines, nearest_own(item_vectors(model), own, shown)):
            similar = name(nearest) if nearest >= 0 else ""
            text = f"similar to {similar} ({cosine:.2f})" if similar else ""
            found.append(replace(line, why=text, reason={"similar to": similar, "cosine": cosine}))
        return found
    offered = np.setdiff1d(np.flatnonzero(model.candidates), own).astype(np.int32)
    stated = term_reasons(terms.named(name), offered, shown, k)
    return [
        replace(line, score=score, why=sentence(score, parts), reason={"terms": [asdict(one) for one in parts]})
        for line, score, parts in zip(lines, terms.scores[shown].tolist(), stated)  # the sum of its terms
    ]
