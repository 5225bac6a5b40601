"""Attribute inference: what an attack on items says of somebody's gender, age or occupation.

Weinsberg, Bhagat, Ioannidis and Taft (BlurMe: inferring and obfuscating user gender based on ratings, RecSys
2012) guess it from ratings. Here the adversary has no ratings: its features are the scores that an attack gives
the items of a user. It trains on users whose attribute is public and guesses those of the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Bools, Floats, Longs, Singles
from murmura.core.errors import DataError
from murmura.core.interactions import Vocabulary
from murmura.core.rng import Purpose, Stream
from murmura.data.tables.column_kinds import TextLayout
from murmura.data.tables.text_file import read_text
from murmura.data.tables.text_table import lines
from murmura.data.user_tables import table_with_header
from murmura.lab.audits.attack import ItemClaims

GUESSED = " guessed"  # after an attribute's name: the measure
FOLDS = 5  # the attribute of four fifths is public, that of the last fifth is guessed; each fifth once
RIDGE = 10.0  # of the mean variance of the features
STILL = 1e-9  # of the root mean square of all features: what deviates less is the same of everybody
SPLITS = Purpose.OWN + 10  # the stream of the folds
UNKNOWN = -1

Labels = Mapping[str, Longs]  # attribute -> (users,) everyone's class; UNKNOWN: nothing is known


def labels_of_file(path: Path, users: Vocabulary) -> Labels:
    """From MovieLens 1M's `users.dat`, or a table with a header, a column `user` and one for each attribute."""
    if path.suffix == ".dat":
        header, rows = ["user", "gender", "age", "occupation"], _movielens_rows(path)
    else:
        header, rows = table_with_header(path)
    if header.count("user") != 1 or len(header) < 2:
        raise DataError(
            f"{path}: it must have a column 'user' and columns of attributes, but has {', '.join(header)}; "
            "name yours."
        )
    codes = users.find([row[header.index("user")] for row in rows])
    known, found = codes >= 0, dict[str, Longs]()
    for place, name in enumerate(header):
        if name != "user":
            found[name] = np.full(len(users), UNKNOWN, np.int64)
            own = np.array([row[place] for row in rows], np.str_)[known]
            found[name][codes[known]] = np.unique(own, return_inverse=True)[1]
    return found


def _movielens_rows(path: Path) -> list[list[str]]:
    rows = [fields or [] for _, fields in lines(read_text(path), TextLayout("::"))]
    for line, row in enumerate(rows, start=1):
        if len(row) != 5:
            raise DataError(
                f"{path}, line {line}: a row must be user::gender::age::occupation::zip, but has {len(row)} "
                "fields; fix it."
            )
    return rows


def inferred(claims: ItemClaims, labels: Labels, stream: Stream) -> dict[str, Floats]:
    """For each attribute a number for every client, NaN of who is no victim.

    The mean is the balanced accuracy of the guesses, the mean over classes of the share guessed right. The
    same guess for everybody gets one over the number of classes: the prior.
    """
    asked, scores = claims.asked, claims.scores
    victims = np.ones(len(scores), np.bool_) if asked is None else asked.any(axis=1)
    place = np.flatnonzero(victims).astype(np.int32)
    rows = scores[place] if asked is None else np.where(asked[place], scores[place], 0.0)
    fold = np.argsort(np.argsort(stream.words(len(place)), kind="stable"), kind="stable") % FOLDS
    guesses = guess_classes(features(rows), {name: of[place] for name, of in labels.items()}, fold)
    found = {}
    for name, of in labels.items():
        found[name + GUESSED] = np.full(len(scores), math.nan)
        found[name + GUESSED][place] = balanced(of[place], guesses[name])
    return found


def features(scores: Floats) -> Singles:
    """Scores of items with everybody's length 1, centred, over the root of how much they deviate."""
    length = np.linalg.norm(scores, axis=1, keepdims=True)
    unit = scores / np.where(length > 0, length, 1.0)
    unit -= unit.mean(axis=0)
    spread = unit.std(axis=0)
    moves = spread > STILL
    scaled: Singles = np.where(moves, unit / np.sqrt(np.where(moves, spread, 1.0)), 0.0).astype(np.float32)
    return scaled


def guess_classes(X: Singles, labels: Labels, fold: Longs) -> dict[str, Longs]:
    """Linear discriminants with a ridge and equal priors: every fold is guessed from the others.

    With S the covariance of the features and m_k the mean of class k, the guess is the k with the largest
    m_k' S^-1 x - m_k' S^-1 m_k / 2.
    """
    guesses = {name: np.full(len(X), UNKNOWN, np.int64) for name in labels}
    for one in range(FOLDS):
        public, hidden = np.flatnonzero(fold != one), np.flatnonzero(fold == one)
        if not len(hidden) or not len(public):
            continue
        classes = {name: _public_classes(of, public) for name, of in labels.items()}
        means = [X[own].mean(axis=0) for each in classes.values() for own in each.values()]
        if not means:
            continue
        M = np.array(means)
        with threadpool_limits(1, "blas"):
            S = X[public].T @ X[public] / np.float32(len(public))
            S[np.diag_indices(len(S))] += RIDGE * np.trace(S) / len(S) + np.finfo(np.float32).tiny
            W = np.linalg.solve(S, M.T)
            says = X[hidden] @ W - (M * W.T).sum(axis=1) / 2
        first = 0
        for name, each in classes.items():
            own = says[:, first : first + len(each)]
            first += len(each)
            if each:
                guesses[name][hidden] = np.array(list(each))[own.argmax(axis=1)]
    return guesses


def _public_classes(of: Longs, public: Longs) -> dict[int, Longs]:
    """The users of every class whose attribute is public."""
    known = of[public]
    return {int(k): public[known == k] for k in np.unique(known[known != UNKNOWN])}


def balanced(true: Longs, guessed: Longs) -> Floats:
    """Each user's part in the balanced accuracy, which is their mean; NaN where the class is not known."""
    known: Bools = true != UNKNOWN
    weight = np.full(len(true), math.nan)
    if known.any():
        sizes = np.bincount(true[known])
        classes = int((sizes > 0).sum())
        right = guessed[known] == true[known]
        weight[known] = right * (known.sum() / classes) / sizes[true[known]]
    return weight
