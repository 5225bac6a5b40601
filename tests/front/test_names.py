"""The front door: every name is what its type says, and nothing is imported before it is used."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import murmura
import murmura.federated

SOURCE = Path(murmura.__file__)
ROOT = Path(__file__).parents[2]
WANTED = (
    "load",
    "prepare",
    "protocol",
    "simulate",
    "fit",
    "compare",
    "search",
    "report",
    "baseline",
    "evaluate",
)
TYPES = """
import numpy as np
import murmura
from murmura import report

data = murmura.load("ml-1m")
ready = murmura.prepare(data, murmura.protocol("default", data))
train = ready.split.train
trials = list(murmura.search(ready.selection(), "ease", murmura.grid({"reg": [1, 2]})))
plan = murmura.plan(data, "default", {"ease": {}})
reveal_type(data)
reveal_type(ready)
reveal_type(train)
reveal_type(murmura.fit("ease", train))
reveal_type(murmura.simulate("sfpl+", train, {"pi": 0.5}))
reveal_type(murmura.simulate("sfpl+", train).ledger)
reveal_type(murmura.baseline("ease"))
reveal_type(murmura.fit("ease", train).recommend(np.arange(3, dtype=np.int32)))
reveal_type(murmura.best(trials, "P@10"))
reveal_type(plan)
reveal_type(murmura.compare(plan, __import__("pathlib").Path("runs")))
reveal_type(murmura.report.build)
reveal_type(report.build)
reveal_type(murmura.evaluate)
reveal_type(murmura.__version__)
"""
REVEALED = [
    "murmura.core.catalogue.Dataset",
    "murmura.engine.prepared.PreparedData",
    "murmura.core.interactions.Interactions",
    "murmura.core.model.Model",
    "murmura.engine.federated_model.FederatedModel",
    "murmura.channel.ledger.Ledger",
    "type[murmura.baselines.base.Baseline]",
    "murmura.core.model.RankedLists",
    "murmura.studies.search.folder.Trial",
    "murmura.studies.compare.comparison_plan.Comparison",
    "Generator[murmura.studies.compare.comparison_plan.EntryMeans, None, None]",
    "def (folder: pathlib.Path, out: pathlib.Path | None =) -> pathlib.Path",
    "def (folder: pathlib.Path, out: pathlib.Path | None =) -> pathlib.Path",
    "-> murmura.evaluation.measure.Evaluation",
    "str",
]


def typed_names() -> dict[str, Any]:
    """What a type checker sees: the block under TYPE_CHECKING, run."""
    text = SOURCE.read_text(encoding="utf-8")
    block = text.split("if TYPE_CHECKING:\n", 1)[1].split("\n# ", 1)[0]
    seen: dict[str, Any] = {}
    exec("\n".join(line.removeprefix("    ") for line in block.splitlines()), seen)
    return {name: value for name, value in seen.items() if not name.startswith("_")}


def test_every_name_is_the_same_object_at_run_time_and_for_a_type_checker() -> None:
    seen = typed_names()
    assert sorted([*seen, "__version__"]) == dir(murmura)
    for name, value in seen.items():
        assert getattr(murmura, name) is value, name
    assert set(WANTED) <= set(seen)


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(AttributeError, match=r"murmura has no 'simulated'; it offers .*simulate"):
        _ = murmura.simulated  # type: ignore[attr-defined]


@pytest.mark.parametrize("order", ["import murmura.studies.compare.section, murmura", "import murmura"])
def test_report_is_the_same_whatever_was_imported_before(order: str) -> None:
    code = f"{order}\nprint(murmura.report.build.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "murmura.report.build\n"


@pytest.mark.slow
def test_a_type_checker_knows_what_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(TYPES, encoding="utf-8")
    # the whole tree beside it, as `make types` names it: what that has checked is not checked again
    command = [sys.executable, "-m", "mypy", "--no-color-output", "src", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    revealed = [line for line in done.stdout.splitlines() if "Revealed type is" in line]
    assert len(revealed) == len(REVEALED), done.stdout
    for line, wanted in zip(revealed, REVEALED):
        assert wanted in line, done.stdout
    assert "Success" in done.stdout, done.stdout


def test_everything_an_algorithm_needs_is_one_import() -> None:
    text = Path(murmura.federated.__file__).read_text(encoding="utf-8")
    offered = set(re.findall(r"^ *from [\w.]+ import (\w+) as \1$", text, re.MULTILINE))
    assert offered == {*dir(murmura.federated)}
    assert all(getattr(murmura.federated, name) is not None for name in offered)
    contract = importlib.import_module("murmura.core.contract")
    for name in ("Algorithm", "Phase", "FederationInfo", "History", "RoundContext", "Total", "ServerState"):
        assert getattr(murmura.federated, name) is getattr(contract, name)
