"""Words of a page that not everybody knows, explained where they occur."""

from __future__ import annotations

import re
from collections.abc import Iterable

GLOSSARY: dict[str, tuple[str, str]] = {  # word -> where it occurs, what it means
    "IC@k": (r"IC@\d+", "item coverage: how many different items are in the first k places of anybody's list."),
    "G@k": (
        r"G@\d+",
        "1 - Gini index of how often items are in the first k places: 1 is all equally often, 0 one item only.",
    ),
    "pi": (
        r"\bpi\b",
        "the most of a person's positives that may ever take part in training, as her consent says. It limits "
        "what she contributes; it does not say what others can infer from it.",
    ),
    "disclosed": (
        r"disclosed|What left the devices",
        "the fraction of a person's positives that has left her device in some update at least once, as "
        "measured: the mean over people.",
    ),
    "TCC, CCE": (
        r"\b(TCC|CCE)\b",
        "item vectors exchanged in all epochs and in one, as the papers count them; bytes are measured.",
    ),
    "BD": (r"\bBD\b", "bias disparity: how far the lists depart from the training part's share of a category."),
    "pm-AUC": (
        r"pm-AUC",
        "how often an attacker ranks an own item above others of like popularity: .5 is nothing beyond "
        "popularity.",
    ),
    "epsilon": (
        r"\bepsilon\b",
        "a proven bound on what everything that is published reveals of one person; smaller is tighter.",
    ),
    "Pareto front": (r"\bfront\b", "the models that no other beats in both of two values."),
}


def terms_of(words: Iterable[str]) -> dict[str, str]:
    """The words of the glossary that occur."""
    text = "\n".join(words)
    return {word: meaning for word, (where, meaning) in GLOSSARY.items() if re.search(where, text)}
