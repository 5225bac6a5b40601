"""The list of one person, from a fitted run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.errors import SettingError
from murmura.core.model import Model
from murmura.core.ranked_lists import RankedLists
from murmura.core.score_terms import ScoreTerms
from murmura.engine.protocol import PreparedData
from murmura.engine.reasons import Reason, TermReason, item_vectors, reasons, sentence, term_reasons
from murmura.studies.single_run import open_run


@dataclass(frozen=True)
class Recommendation:
    """One line of a list."""

    rank: int
    item: Any  # own id
    name: str
    score: float
    similar: str  # the name of the nearest own item; "" where none was asked for or there is none
    cosine: float
    terms: tuple[TermReason, ...] | None = None  # what the score is the sum of, where the model says so

    def reason(self) -> str:
        """The reason as a person reads it."""
        if self.terms is not None:
            return sentence(self.score, list(self.terms))
        return f"similar to {self.similar} ({self.cosine:.2f})" if self.similar else ""

    def flat(self, why: bool) -> dict[str, Any]:
        """One flat object, as --json prints it."""
        line = {"rank": self.rank, "item": self.item, "name": self.name, "score": self.score}
        if why and self.terms is not None:
            return {**line, "terms": [asdict(one) for one in self.terms]}
        return {**line, "similar to": self.similar, "cosine": self.cosine} if why else line


def recommend_one(
    folder: Path, user: str, likes: list[str], k: int, why: bool, data_dir: Path | None = None
) -> list[Recommendation]:
    """The k best items of a known user, or of someone unknown who likes some items."""
    prepared, model = open_run(folder, data_dir)
    if prepared.protocol.classifies:
        raise SettingError(f"the run must be of a method that ranks items, but {folder} classifies samples.")
    train = prepared.split.train
    if user:
        code = train.users.index([user], "user")
        own = train.by_user.of(int(code[0]))
        lists = model.recommend(code, k)
    else:
        own = np.unique(train.items.index(likes, "item"))
        lists = model.recommend_history(own, k)
    if not why:
        return _shown(prepared, lists, [])
    terms = model.terms(int(code[0])) if user and len(own) else model.terms_history(own)
    if terms is not None:
        return _explained(_shown(prepared, lists, []), terms, _items(lists), model, own, k)
    return _shown(prepared, lists, reasons(item_vectors(model), own, _items(lists)))


def _explained(
    lines: list[Recommendation], terms: ScoreTerms, shown: Ints, model: Model, own: Ints, k: int
) -> list[Recommendation]:
    """The same list with the terms of every score, which is told as their sum."""
    offered = np.setdiff1d(np.flatnonzero(model.candidates), own).astype(np.int32)
    found = term_reasons(terms, offered, shown, k)
    return [
        replace(line, score=float(terms.scores[item]), terms=tuple(parts))
        for line, item, parts in zip(lines, shown.tolist(), found)
    ]


def _items(lists: RankedLists) -> Ints:
    row = lists.item[0]
    kept: Ints = row[row >= 0]
    return kept


def _shown(prepared: PreparedData, lists: RankedLists, found: list[Reason]) -> list[Recommendation]:
    catalogue, labels = prepared.catalogue, prepared.split.data.items.labels.tolist()
    lines = []
    for place, item in enumerate(_items(lists).tolist()):
        reason = found[place] if found else Reason(item, -1, 0.0)
        similar = catalogue.name(reason.nearest) if reason.nearest >= 0 else ""
        score = float(lists.score[0, place])
        lines.append(
            Recommendation(place + 1, labels[item], catalogue.name(item), score, similar, reason.cosine)
        )
    return lines
