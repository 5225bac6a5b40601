"""The one import for writing a federated algorithm: the contract, its messages, its randomness, its settings.

`from murmura.federated import Algorithm, Phase, TableSpec, ...`; docs/new-algorithm.md writes one with it, and
`murmura.testing` holds it to every promise.
"""

from pydantic import Field

from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import (
    Algorithm,
    Answers,
    ClientState,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    RoundContext,
    ServerState,
    Total,
)
from murmura.core.errors import DataError, FederationError, MurmuraError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.kernel import CohortRound, Kernel, SequentialKernel
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.population import Population, States
from murmura.core.rng import Purpose, Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.tally import Tally
from murmura.core.update import Arrays, SparseRows, Update, add_up

__all__ = [
    "Algorithm",
    "Answers",
    "Arrays",
    "Bools",
    "ChannelSettings",
    "ClientState",
    "CohortRound",
    "Consent",
    "DataError",
    "FederationError",
    "FederationInfo",
    "Field",
    "Floats",
    "History",
    "IndividualUpdates",
    "Interactions",
    "Ints",
    "Kernel",
    "Longs",
    "MessageSpec",
    "MurmuraError",
    "Phase",
    "Population",
    "Purpose",
    "Rng",
    "RoundContext",
    "Schedule",
    "SequentialKernel",
    "ServerState",
    "SettingError",
    "Singles",
    "SparseRows",
    "States",
    "TableSpec",
    "Tally",
    "Total",
    "Update",
    "add_up",
    "settings",
]
