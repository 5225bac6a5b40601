"""Features of one's own on the command line: all commands that load data take them, and folders keep them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from murmura.algorithms import algorithm
from murmura.core.errors import DataError
from murmura.core.features import encode_features
from murmura.runtimes.simulation import training_rows
from murmura.server.described import describe_items
from murmura.studies.configuration import named_data
from murmura.wire.description import FederationDescription
from tests.cli.processes import murmura, ratings

BAD = "<http://x/a> <http://x/b> <http://x/c> .\nnot a triple\n"
COMMANDS = [
    "compare --data DATA --models mostpop",
    "fit --data DATA --model mostpop",
    "search --data DATA --model user-knn --grid k=5",
    "sweep --data DATA --models sfpl --values 0",
    "evaluate --lists DATA --data DATA",
    "audit --data DATA",
    "serve --like DATA --state state",
    "serve --items ITEMS --state state",
    "devices http://127.0.0.1:9 --data DATA",
    "data describe DATA",
    "data features DATA",
    "data split DATA --out split.npz",
    "data convert DATA out.csv",
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    data = ratings(tmp_path)
    rows = [line.split(",") for line in data.read_text().splitlines()]
    items = sorted({row[rows[0].index("item")] for row in rows[1:]})
    made = {name: tmp_path / name for name in ("bad.nt", "items.txt", "kinds.csv", "mapping.tsv", "graph.nt")}
    made["bad.nt"].write_text(BAD)
    made["items.txt"].write_text("\n".join(items))
    made["kinds.csv"].write_text(
        "item,kind\n" + "".join(f"{item},{'even' if n % 2 else 'odd'}\n" for n, item in enumerate(items[1:]))
    )
    made["mapping.tsv"].write_text("".join(f"{item}\thttp://x/{item}\n" for item in items))
    made["graph.nt"].write_text(
        "".join(f"<http://x/{item}> <http://p/by> <http://x/Ann> .\n" for item in items)
    )
    return {**made, "data": data}


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_reads_the_file_it_is_given(words: str, files: dict[str, Path], tmp_path: Path) -> None:
    line = words.replace("DATA", str(files["data"])).replace("ITEMS", str(files["items.txt"])).split()
    done = murmura(*line, "--features", str(files["bad.nt"]), cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "bad.nt, line 2: a triple must be" in done.stderr


@pytest.mark.parametrize("words", ["compare --models mostpop --out mine", "fit --model mostpop --out mine"])
def test_the_folder_keeps_them_and_a_file_brings_them(
    words: str, files: dict[str, Path], tmp_path: Path
) -> None:
    flags = ["--features", "graph.nt", "--mapping", "mapping.tsv", "--hops", "1", "--feature-items", "3"]
    data = ["--data", files["data"].name, *flags, "--exclude", "rdf:type,p", "--exclude", ""]
    done = murmura(*words.split(), *data, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load((tmp_path / "mine" / "config.yaml").read_text())
    assert config["data"] == {
        **{key: config["data"][key] for key in ("dir", "name", "skip_bad") if key in config["data"]},
        "features": "graph.nt",
        "mapping": "mapping.tsv",
        "hops": 1,
        "feature_items": 3,
        "exclude": [["rdf:type", "p"], []],
    }
    kept = {**config["data"], "name": str(files["data"])}
    kept |= {key: str(files[kept[key]]) for key in ("features", "mapping")}
    found = named_data({"data": kept}).prepare("default").split.train.features
    assert found is not None
    assert "by: Ann" in found.names
    again = murmura(*words.split(), *data, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    other = murmura(*words.split(), *data, "--labels", "mapping.tsv", cwd=tmp_path)
    assert other.returncode == 4, other.stderr


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_flags_come_on_top_of_a_file(command: str, files: dict[str, Path], tmp_path: Path) -> None:
    models = "models: {mostpop: {}}" if command == "compare" else "model: {name: mostpop}"
    text = f"data: {{name: {files['data'].name}, features: bad.nt}}\n{models}\n"
    (tmp_path / "run.yaml").write_text(text)
    assert murmura(command, "--config", "run.yaml", "--out", "a", cwd=tmp_path).returncode == 3
    done = murmura(command, "--config", "run.yaml", "--features", "kinds.csv", "--out", "b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load((tmp_path / "b" / "config.yaml").read_text())["data"]["features"] == "kinds.csv"


def test_a_folder_without_features_is_kept_as_ever(files: dict[str, Path], tmp_path: Path) -> None:
    murmura("fit", "--model", "mostpop", "--data", files["data"].name, "--out", "mine", cwd=tmp_path)
    config = yaml.safe_load((tmp_path / "mine" / "config.yaml").read_text())
    assert list(config["data"]) == ["name", "dir", "skip_bad"]


def test_features_described(files: dict[str, Path], tmp_path: Path) -> None:
    words = ("data", "features", files["data"].name, "--features", "kinds.csv")
    done = murmura(*words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    items = facts["items"]
    assert facts["items_without"] == 1
    assert facts["features"] == 2
    assert facts["pairs"] == items - 1
    assert facts["by_hop"] == {"1": 2}
    assert facts["by_predicate"] == {"kind": 2}
    assert facts["features_per_item"] == {
        "least": 0, "quarter": 1, "median": 1, "three quarters": 1, "most": 1,
    }  # fmt: skip
    assert facts["items_per_feature"]["most"] == items // 2
    assert facts["most_frequent"][0] == {"name": "kind: odd", "items": items // 2}
    assert f"note: 1 of {items} items have no feature in kinds.csv; they are kept." in done.stderr
    shown = murmura(*words, "--top", "1", "--protocol", "default", cwd=tmp_path).stdout
    assert "kind: odd" in shown
    assert "kind: even" not in shown
    plain = murmura("data", "features", files["data"].name, cwd=tmp_path)
    assert plain.returncode == 3
    assert "nothing is known of the items of 'ratings'; give --features FILE." in plain.stderr


def test_the_devices_of_a_federation_hold_them(files: dict[str, Path]) -> None:
    given = {"features": str(files["kinds.csv"])}
    assert training_rows(str(files["data"]), "").features is None
    for rules in ("", "default"):
        found = training_rows(str(files["data"]), rules, None, given).features
        assert found is not None
        assert set(found.names) == {"kind: even", "kind: odd"}
    described = describe_items(files["items.txt"], algorithm("kgflex")(), 10, 100, given)
    published = described.info.features
    assert published is not None
    assert set(published.names) == {"kind: even", "kind: odd"}
    downloaded = FederationDescription.decode(described.encode()).with_features(encode_features(published))
    assert downloaded.info.features is not None
    assert downloaded.info.features.fingerprint == published.fingerprint


def test_a_federation_over_items_has_features_where_its_method_uses_them(files: dict[str, Path]) -> None:
    given = {"features": str(files["kinds.csv"])}
    other = describe_items(files["items.txt"], algorithm("cfpl")(), 10, 100, given)
    assert (other.info.features, other.info.feature_count, other.feature_hash) == (None, 0, "")
    with pytest.raises(DataError, match="kgflex learns from features of items, but nothing is known of these"):
        describe_items(files["items.txt"], algorithm("kgflex")(), 10, 100)


def test_features_that_too_few_items_share_under_a_protocol_are_refused(
    files: dict[str, Path], tmp_path: Path
) -> None:
    own = "item,own\n" + "".join(f"{item},{item}\n" for item in files["items.txt"].read_text().split())
    (tmp_path / "own.csv").write_text(own)
    words = (files["data"].name, "--features", "own.csv")
    shown = murmura("data", "features", *words, "--protocol", "default", cwd=tmp_path)
    assert shown.returncode == 3
    assert "protocol default must leave a feature that 2 items share, but none of the" in shown.stderr
    fitted = murmura("fit", "--model", "kgflex", "--data", *words, "--out", "mine", cwd=tmp_path)
    assert fitted.returncode == 3
    assert "kgflex learns from features that items share, but none is shared by as many" in fitted.stderr
    vsm = murmura("fit", "--model", "vsm", "--data", *words, "--out", "other", cwd=tmp_path)
    assert vsm.returncode == 2
    assert "vsm needs items with features, but the data have none" in vsm.stderr


def test_a_model_is_not_opened_with_other_features_than_it_learned_from(
    files: dict[str, Path], tmp_path: Path
) -> None:
    words = ("--model", "kgflex", "--data", files["data"].name, "--features", "kinds.csv", "-S", "epochs=2")
    assert murmura("fit", *words, "--out", "mine", cwd=tmp_path).returncode == 0
    reader = files["data"].read_text().splitlines()[1].split(",")[0]
    ask = ("recommend", "mine", "--user", reader, "--why")
    assert murmura(*ask, cwd=tmp_path).returncode == 0
    files["kinds.csv"].write_text(files["kinds.csv"].read_text().replace("odd", "aside", 1))
    changed = murmura(*ask, cwd=tmp_path)
    assert changed.returncode != 0
    assert "must be restored with the features of items it was trained on" in changed.stderr
