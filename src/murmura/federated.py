"""The one import for writing a federated algorithm: the contract, its messages, its randomness, its settings.

`from murmura.federated import Algorithm, Phase, TableSpec, ...`; docs/new-algorithm.md writes one with it, and
`murmura.testing` holds it to every promise.
"""

from pydantic import Field as Field

from murmura.core.arrays import Bools as Bools
from murmura.core.arrays import Floats as Floats
from murmura.core.arrays import Ints as Ints
from murmura.core.arrays import Longs as Longs
from murmura.core.arrays import Singles as Singles
from murmura.core.channel import ChannelSettings as ChannelSettings
from murmura.core.consent import Consent as Consent
from murmura.core.contract import Algorithm as Algorithm
from murmura.core.contract import Answers as Answers
from murmura.core.contract import ClientState as ClientState
from murmura.core.contract import FederationInfo as FederationInfo
from murmura.core.contract import History as History
from murmura.core.contract import IndividualUpdates as IndividualUpdates
from murmura.core.contract import Phase as Phase
from murmura.core.contract import RoundContext as RoundContext
from murmura.core.contract import Samples as Samples
from murmura.core.contract import ServerState as ServerState
from murmura.core.contract import Total as Total
from murmura.core.errors import DataError as DataError
from murmura.core.errors import FederationError as FederationError
from murmura.core.errors import MurmuraError as MurmuraError
from murmura.core.errors import SettingError as SettingError
from murmura.core.interactions import Interactions as Interactions
from murmura.core.kernel import CohortRound as CohortRound
from murmura.core.kernel import Kernel as Kernel
from murmura.core.kernel import SequentialKernel as SequentialKernel
from murmura.core.message import MessageSpec as MessageSpec
from murmura.core.message import RowBounds as RowBounds
from murmura.core.message import TableSpec as TableSpec
from murmura.core.population import Population as Population
from murmura.core.population import States as States
from murmura.core.population import Tally as Tally
from murmura.core.rng import Purpose as Purpose
from murmura.core.rng import Rng as Rng
from murmura.core.samples import Classification as Classification
from murmura.core.schedule import Schedule as Schedule
from murmura.core.settings import settings as settings
from murmura.core.update import Arrays as Arrays
from murmura.core.update import SparseRows as SparseRows
from murmura.core.update import Update as Update
from murmura.core.update import add_up as add_up
