"""Murmura: a federated recommender, with honest evaluation against centralised rivals.

What a user of the Python API needs, by name; docs/python.md shows each. To write a federated algorithm, import
`murmura.federated`; to test one, `murmura.testing`.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from murmura.core.version import __version__ as __version__

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
    from murmura.core.errors import MurmuraError as MurmuraError
    from murmura.core.interactions import Interactions as Interactions
    from murmura.core.interactions import Vocabulary as Vocabulary
    from murmura.core.model import Model as Model
    from murmura.core.ranked_lists import RankedLists as RankedLists
    from murmura.core.split import Split as Split
    from murmura.data.frames import from_frame as from_frame
    from murmura.data.frames import from_sparse as from_sparse
    from murmura.data.frames import to_frame as to_frame
    from murmura.data.frames import to_pandas as to_pandas
    from murmura.data.frames import to_sparse as to_sparse
    from murmura.data.sources.registry import load as load
    from murmura.engine.federated_model import FederatedModel as FederatedModel
    from murmura.engine.protocol import PreparedData as PreparedData
    from murmura.engine.protocol import Protocol as Protocol
    from murmura.engine.protocol import Selection as Selection
    from murmura.engine.protocol import prepare as prepare
    from murmura.engine.protocol import protocol as protocol
    from murmura.evaluation import Evaluation as Evaluation
    from murmura.report.result_plot import plot as plot
    from murmura.runs.trials import Trial as Trial
    from murmura.runs.trials import best as best
    from murmura.runtimes.simulation import simulate as simulate
    from murmura.studies.compare import Comparison as Comparison
    from murmura.studies.compare import EntryMeans as EntryMeans
    from murmura.studies.compare import compare as compare
    from murmura.studies.compare import plan as _plan
    from murmura.studies.methods import fit as fit
    from murmura.studies.result_table import table as table
    from murmura.studies.search.grid import grid as grid
    from murmura.studies.search.grid import search as search
    from murmura.studies.single_run import evaluate as evaluate

    comparison = _plan

# imported on first use, so that `import murmura` stays light
if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name through

    def __getattr__(name: str) -> object:
        if name not in _names():
            raise AttributeError(f"murmura has no '{name}'; it offers {', '.join(sorted(_names()))}.")
        room, attribute = _names()[name]
        if room == __name__:
            return import_module(f"{room}.{attribute}")
        return getattr(import_module(room), attribute)


def __dir__() -> list[str]:
    return sorted([*_names(), "__version__"])


@cache
def _names() -> dict[str, tuple[str, str]]:
    """The module and the name behind each name of the block above: read from the block, stated nowhere else."""
    import ast
    from pathlib import Path

    text = Path(__file__).read_text(encoding="utf-8")
    block = next(node for node in ast.parse(text).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    found = {str(one.asname): (str(node.module), one.name) for node in imports for one in node.names}
    return {"comparison": found.pop("_plan"), **found}
