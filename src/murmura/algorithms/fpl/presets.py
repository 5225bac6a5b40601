"""The named configurations of FPL: the four published ones, and ours for cohorts of a real federation."""

from __future__ import annotations

from murmura.algorithms.fpl.fpl import FPL
from murmura.algorithms.preset import Preset

ONE_CLIENT = {"clients": 1, "rounds_per_epoch": "visits", "epochs": 20}
EVERYONE = {**ONE_CLIENT, "clients": "all"}

SFPL = Preset(
    "sfpl",
    FPL,
    "sFPL: one client a round, one triple: sequential training, as of a centralised BPR.",
    ONE_CLIENT,
)
SFPL_PLUS = Preset(
    "sfpl+", FPL, "sFPL+: one client a round, T = floor(X+ / |U|) triples.", {**ONE_CLIENT, "triples": "mean"}
)
PFPL = Preset("pfpl", FPL, "pFPL: all clients in every round, one triple each.", EVERYONE)
PFPL_PLUS = Preset(
    "pfpl+",
    FPL,
    "pFPL+: all clients in every round, T = floor(X+ / |U|) triples each.",
    {**EVERYONE, "triples": "mean"},
)
CFPL = Preset(
    "cfpl",
    FPL,
    "cFPL, ours: cohorts of 500, T = |I_u|, AdaGrad on the server, local passes, biases from shared counts.",
    {
        "clients": 500,
        "rounds_per_epoch": "triples",  # an epoch visits everyone once on average
        "epochs": 20,
        "triples": "own",
        "optimiser": "adagrad",
        "server_alpha": 0.1,
        "warm": 2,
        "refresh": 2,
        "prior": True,
    },
)
DP_CFPL = Preset(
    "dp-cfpl",
    FPL,
    "dp-cfpl, ours: cFPL for noise (epsilon): everyone in few rounds, few factors, one state of AdaGrad.",
    {
        **CFPL.defaults,
        "clients": "all",
        "rounds_per_epoch": 1,
        "epochs": 5,
        "factors": 4,
        "optimiser": "adagrad-norm",
        "server_alpha": 0.3,
        "warm": 5,
        "refresh": 5,
        "channel": "secure-sum",
        "clip": 1.0,
    },
)
