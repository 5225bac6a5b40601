"""The named configurations of KGFlex: the paper's, and ours for cohorts of a real federation."""

from __future__ import annotations

from murmura.algorithms.kgflex.hybrid import KGFlexHybrid
from murmura.algorithms.kgflex.kgflex import KGFlex
from murmura.algorithms.preset import Preset

TENTH = {"clients": 0.1, "rounds_per_epoch": 1, "epochs": 100}  # the authors' epoch is one round

KGFLEX = Preset(
    "kgflex", KGFlex, "KGFlex: features of items by information gain, a tenth of the clients a round.", TENTH
)
CKGFLEX = Preset(
    "ckgflex",
    KGFlex,
    "cKGFlex, ours: cohorts of 500, several negatives in the gain, AdaGrad on the server, mean steps.",
    {
        "clients": 500,
        "rounds_per_epoch": 1,
        "epochs": 100,
        "negatives": 10,
        "visit": "root",
        "optimiser": "adagrad",
        "server_alpha": 0.1,
    },
)
KGFLEX_HYBRID = Preset(
    "kgflex-hybrid",
    KGFlexHybrid,
    "KGFlex beside collaborative vectors, ours: w times its score + p_u . q_i - beta log(count).",
    {**TENTH, "clients": 0.2, "epochs": 300, "negatives": 20, "first_limit": 200, "second_limit": 200},
)
