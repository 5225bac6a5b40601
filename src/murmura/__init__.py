"""Murmura: a federated recommender, with honest evaluation against centralised rivals.

What a user of the Python API needs, by name; docs/python.md shows each. To write a federated algorithm, import
`murmura.federated`; to test one, `murmura.testing`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from murmura.core.version import __version__ as __version__
from murmura.core.version import renamed as _renamed

if TYPE_CHECKING:
    from murmura import report as report
    from murmura.algorithms import algorithm as algorithm
    from murmura.baselines import baseline as baseline
    from murmura.baselines.base import Baseline as Baseline
    from murmura.baselines.base import RankingModel as RankingModel
    from murmura.channel.ledger import Ledger as Ledger
    from murmura.cli.notebook import progress as progress
    from murmura.core.catalogue import Catalogue as Catalogue
    from murmura.core.catalogue import Dataset as Dataset
    from murmura.core.catalogue import Split as Split
    from murmura.core.errors import MurmuraError as MurmuraError
    from murmura.core.interactions import Interactions as Interactions
    from murmura.core.interactions import Vocabulary as Vocabulary
    from murmura.core.model import Model as Model
    from murmura.core.model import RankedLists as RankedLists
    from murmura.data.frames import from_frame as from_frame
    from murmura.data.frames import from_sparse as from_sparse
    from murmura.data.frames import to_frame as to_frame
    from murmura.data.frames import to_pandas as to_pandas
    from murmura.data.frames import to_sparse as to_sparse
    from murmura.data.sources.registry import load as load
    from murmura.engine.federated_model import FederatedModel as FederatedModel
    from murmura.engine.prepared import PreparedData as PreparedData
    from murmura.engine.prepared import Selection as Selection
    from murmura.engine.prepared import prepare as prepare
    from murmura.engine.protocol import Protocol as Protocol
    from murmura.engine.protocol import protocol as protocol
    from murmura.evaluation import Evaluation as Evaluation
    from murmura.report.result_plot import plot as plot
    from murmura.report.results_frame import read as read
    from murmura.runtimes.simulation import simulate as simulate
    from murmura.studies.compare.comparison_plan import Comparison as Comparison
    from murmura.studies.compare.comparison_plan import EntryMeans as EntryMeans
    from murmura.studies.compare.comparison_plan import plan as plan
    from murmura.studies.compare.comparison_plan import table as table
    from murmura.studies.compare.run import compare as compare
    from murmura.studies.evaluate.run import evaluate as evaluate
    from murmura.studies.methods import fit as fit
    from murmura.studies.search.folder import Trial as Trial
    from murmura.studies.search.folder import best as best
    from murmura.studies.search.grid import search as search
    from murmura.studies.search.space import grid as grid

# The names above by their module. A test holds both lists to each other.
_NAMES = {
    "murmura": "report",
    "murmura.algorithms": "algorithm",
    "murmura.baselines": "baseline",
    "murmura.baselines.base": "Baseline RankingModel",
    "murmura.channel.ledger": "Ledger",
    "murmura.cli.notebook": "progress",
    "murmura.core.catalogue": "Catalogue Dataset Split",
    "murmura.core.errors": "MurmuraError",
    "murmura.core.interactions": "Interactions Vocabulary",
    "murmura.core.model": "Model RankedLists",
    "murmura.data.frames": "from_frame from_sparse to_frame to_pandas to_sparse",
    "murmura.data.sources.registry": "load",
    "murmura.engine.federated_model": "FederatedModel",
    "murmura.engine.prepared": "PreparedData Selection prepare",
    "murmura.engine.protocol": "Protocol protocol",
    "murmura.evaluation": "Evaluation",
    "murmura.report.result_plot": "plot",
    "murmura.report.results_frame": "read",
    "murmura.runtimes.simulation": "simulate",
    "murmura.studies.compare.comparison_plan": "Comparison EntryMeans plan table",
    "murmura.studies.compare.run": "compare",
    "murmura.studies.evaluate.run": "evaluate",
    "murmura.studies.methods": "fit",
    "murmura.studies.search.folder": "Trial best",
    "murmura.studies.search.grid": "search",
    "murmura.studies.search.space": "grid",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
# What was renamed: the new name, and the version that no longer knows the old one (docs/stability.md).
_RENAMED = {"comparison": ("plan", "0.3")}

# imported on first use, so that `import murmura` stays light
if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name through

    def __getattr__(name: str) -> object:
        if name in _RENAMED:
            name = _renamed(f"murmura.{name}", *_RENAMED[name])
        if name not in _HOMES:
            raise AttributeError(f"murmura has no '{name}'; it offers {', '.join(sorted(_HOMES))}.")
        home = _HOMES[name]
        return import_module(f"{home}.{name}") if home == __name__ else getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])
