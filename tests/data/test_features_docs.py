"""docs/data.md says which features there are, and its examples run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from murmura.core.settings import field_names
from murmura.data.graphs.feature_files import FeatureFiles
from murmura.data.graphs.knowledge_graph import PREFIXES, READERS
from murmura.data.reading import READING_KEYS
from murmura.data.sources.registry import load
from murmura.engine.prepared import prepare
from murmura.engine.protocol import protocol
from tests.cli.processes import murmura

DATA = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
PAGE = DATA.partition("\n## Features of items\n")[2].partition("\n## ")[0]


FLAGS = [
    name for name in READING_KEYS if name in (*field_names(FeatureFiles), "attributes") and name != "skip_bad"
]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_everything_with_a_name_is_on_the_page() -> None:
    for name in [*READERS, *PREFIXES, *FLAGS]:
        assert f"`{name}" in PAGE, name
    for name in FLAGS:
        assert f"--{name.replace('_', '-')}" in PAGE, name


def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "docs/data.md", "exec"), {})
    promised = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
    (commands,) = blocks("sh")
    for line in commands.splitlines():
        done = murmura(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"


@pytest.mark.parametrize("name", ["ml-1m", "yahoo-movies", "facebook-books", "foursquare-italy"])
def test_the_counts_of_the_sources(name: str, data_dir: Path) -> None:
    if not (data_dir / name).is_dir():
        pytest.skip(f"{name} is not in the data folder")
    dataset = load(name, data_dir)
    known = dataset.catalogue.item_features()
    kept = prepare(dataset, protocol("kgflex", dataset)).split.train.features
    assert known is not None
    assert kept is not None
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}`"))
    assert re.split(r"[ ,(]*\|[ ]*", row)[2].startswith(f"{len(known):,}")
    assert row.rstrip(" |").endswith(f" {len(kept):,}")
