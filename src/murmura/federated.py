"""The one import for writing a federated algorithm: the contract, its messages, its randomness, its settings.

`from murmura.federated import Algorithm, Phase, Table, ...`; docs/new-algorithm.md writes one with it, and
`murmura.testing` holds it to every promise.
"""

from pydantic import Field

from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.disclosure import Disclosure, Table
from murmura.core.errors import DataError, FederationError, MurmuraError, SettingError
from murmura.core.federation import (
    Algorithm,
    Answers,
    Call,
    ClientState,
    History,
    Letters,
    Phase,
    Public,
    ServerState,
    Total,
)
from murmura.core.interactions import Interactions
from murmura.core.kernel import CohortRound, Kernel, SequentialKernel
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
    "Call",
    "ChannelSettings",
    "ClientState",
    "CohortRound",
    "Consent",
    "DataError",
    "Disclosure",
    "FederationError",
    "Field",
    "Floats",
    "History",
    "Interactions",
    "Ints",
    "Kernel",
    "Letters",
    "Longs",
    "MurmuraError",
    "Phase",
    "Population",
    "Public",
    "Purpose",
    "Rng",
    "Schedule",
    "SequentialKernel",
    "ServerState",
    "SettingError",
    "Singles",
    "SparseRows",
    "States",
    "Table",
    "Tally",
    "Total",
    "Update",
    "add_up",
    "settings",
]
