"""The one import for writing a federated algorithm: the contract, its messages, its randomness, its settings.

What a compiled path needs is here too, and brings the compiler when it is first asked for.

`from murmura.federated import Algorithm, Phase, TableSpec, ...`; docs/new-algorithm.md writes one with it, and
`murmura.testing` holds it to every promise.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import Field as Field

from murmura.core.arrays import Bools as Bools
from murmura.core.arrays import Floats as Floats
from murmura.core.arrays import Ints as Ints
from murmura.core.arrays import Longs as Longs
from murmura.core.arrays import Singles as Singles
from murmura.core.channel import ChannelSettings as ChannelSettings
from murmura.core.client_batch import NO_ROW as NO_ROW
from murmura.core.client_batch import BatchRows as BatchRows
from murmura.core.client_batch import BatchUpdate as BatchUpdate
from murmura.core.client_batch import ClientBatch as ClientBatch
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
from murmura.core.interactions import Classification as Classification
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
from murmura.core.schedule import Schedule as Schedule
from murmura.core.settings import settings as settings
from murmura.core.update import Arrays as Arrays
from murmura.core.update import SparseRows as SparseRows
from murmura.core.update import Update as Update
from murmura.core.update import add_up as add_up

if TYPE_CHECKING:
    from murmura.kernels.client_blocks import ClientBlock as ClientBlock
    from murmura.kernels.client_blocks import FlatPopulation as FlatPopulation
    from murmura.kernels.client_blocks import send_rows as send_rows
    from murmura.kernels.client_blocks import shared_items as shared_items
    from murmura.kernels.cohort_kernel import CohortKernel as CohortKernel
    from murmura.kernels.compiled import compiled as compiled
    from murmura.kernels.philox import coin_at as coin_at
    from murmura.kernels.philox import draw_below as draw_below

# the module of each name above; imported on first use
_HOMES = {
    "ClientBlock": "murmura.kernels.client_blocks",
    "FlatPopulation": "murmura.kernels.client_blocks",
    "send_rows": "murmura.kernels.client_blocks",
    "shared_items": "murmura.kernels.client_blocks",
    "CohortKernel": "murmura.kernels.cohort_kernel",
    "compiled": "murmura.kernels.compiled",
    "coin_at": "murmura.kernels.philox",
    "draw_below": "murmura.kernels.philox",
}

if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name through

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'murmura.federated' has no attribute '{name}'")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    here = {name for name in globals() if not name.startswith("_")}
    return sorted(here - {"TYPE_CHECKING", "Any", "import_module"} | {*_HOMES})
