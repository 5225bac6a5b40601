"""Classifiers on the command line: compared, fitted, evaluated, reported; and what does not fit is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.algorithms import ALGORITHMS
from murmura.algorithms.preset import neutral
from murmura.cli.app import app
from murmura.core.catalogue import TRAIN, Catalogue, Dataset, Split
from murmura.core.errors import DataError, RunError, SettingError
from murmura.engine.experiment import score
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.engine.protocol import protocol
from murmura.engine.run_folder import Run
from murmura.runtimes.inprocess import InProcess
from murmura.studies.methods import method
from murmura.testing import crowd, labelled
from tests.data.digits import write_digits
from tests.samples.softmax import Softmax

SMALL = "clients=10,test_images=12"
SETTINGS = ["-S", "softmax.clients=5", "-S", "softmax.epochs=2", "-S", "softmax.rounds_per_epoch=5"]


@pytest.fixture(autouse=True)
def named() -> object:
    with ALGORITHMS.also("softmax", neutral("softmax", Softmax)):
        yield


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    return write_digits(tmp_path / "mnist")


def murmura(*arguments: object) -> str:
    """What a command prints; what it refuses is raised."""
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.mark.slow
def test_compare_and_report(digits: Path, tmp_path: Path) -> None:
    out, rules = tmp_path / "run", f"mnist-shards:{SMALL}"
    base = ["compare", "--data", digits, "--protocol", rules, "--models", "softmax", *SETTINGS]
    lines = murmura(*base, "--seeds", 2, "--out", out, "--json").splitlines()
    found = json.loads(lines[-1])
    assert found["accuracy"] > 0.5
    assert found["accuracy"] == pytest.approx(found["accuracy/clients"])  # test sets of one size
    assert 0 <= found["clients/90"] <= found["clients/80"] <= found["clients/70"] <= 1
    run = Run.open(out / "softmax-seed0")
    header, rows = run.read_table("confusion.csv")
    table = np.array([[int(n) for n in row[1:]] for row in rows])
    assert header == ["label", *map(str, range(10))]
    assert table.sum() == 120
    assert np.trace(table) / 120 == pytest.approx(run.read("metrics.json")["accuracy"])
    _, people = run.read_table("per_user.csv")
    assert len(people) == 10
    assert np.mean([float(row[1]) for row in people]) == pytest.approx(run.read("metrics.json")["accuracy"])
    assert not run.has("recommendations.tsv")
    assert not Run.open(out).has("items.csv")
    assert run.config["protocol"]["classifies"]
    with pytest.raises(RunError, match="must rank items to be analysed, but it classifies samples"):
        murmura("analyse", "bias", out)
    murmura("report", out)
    page = (out / "report.html").read_text("utf-8")
    assert "Results: classified samples" in page
    assert "share of all test samples classified rightly" in page
    again = murmura(*base, "--seeds", 2, "--out", out)  # nothing is run again; the table for people
    assert "accuracy" in again
    assert "rounds" in again


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["mnist-iid", "mnist-dirichlet"])
def test_fit_and_evaluate(digits: Path, tmp_path: Path, rules: str) -> None:
    out = tmp_path / "one"
    murmura(
        "fit", "--data", digits, "--protocol", f"{rules}:{SMALL}", "--model", "softmax",
        "-S", "clients=5", "-S", "epochs=2", "-S", "rounds_per_epoch=5", "--out", out,
    )  # fmt: skip
    for asked in (["--user", "1"], ["--likes", "1"]):
        with pytest.raises(SettingError, match=r"that ranks items, but .* classifies samples"):
            murmura("recommend", out, *asked)
    found = json.loads(murmura("evaluate", out, "--json"))
    assert found["accuracy"] > 0.5
    assert Run.open(out).has("confusion.csv")
    murmura("report", out)
    (digits / "train-images-idx3-ubyte.gz").unlink()
    write_digits(digits, seed=1, packed=True)
    with pytest.raises(RunError, match="the data must be what"):
        murmura("evaluate", out)


def test_other_images_with_the_same_labels_are_refused(digits: Path, tmp_path: Path) -> None:
    from tests.data.digits import idx

    out = tmp_path / "one"
    murmura("fit", "--data", digits, "--protocol", f"mnist-iid:{SMALL}", "--model", "softmax",
            "-S", "epochs=1", "-S", "rounds_per_epoch=1", "--out", out)  # fmt: skip
    (digits / "train-images-idx3-ubyte.gz").write_bytes(idx(np.zeros((600, 12, 12))))
    with pytest.raises(RunError, match=r"the data must be what .* its fingerprint differs"):
        murmura("evaluate", out)
    about = Run.open(out).read("data.json")
    Run.open(out).write_json("data.json", {key: about[key] for key in about if key != "samples"})
    with pytest.raises(RunError, match="with the samples it was trained on"):  # the model knows, too
        murmura("evaluate", out)


def test_rounds_that_are_scored_stay_in_this_process(digits: Path, tmp_path: Path) -> None:
    """No other process could: the method is known in this one alone."""
    rules = f"mnist-shards:{SMALL}"
    base = ["--data", digits, "--protocol", rules, "--models", "softmax", *SETTINGS]
    one = murmura("compare", *base, "--seeds", 2, "--out", tmp_path / "one", "--json")
    assert murmura("compare", *base, "--seeds", 2, "--out", tmp_path / "two", "--json", "--workers", 2) == one
    for command in (["compare"], ["sweep", "--key", "rate", "--values", "0.1"]):
        with pytest.raises(SettingError, match="--cluster must be left out under protocol 'mnist-shards"):
            murmura(*command, *base, "--cluster", "local:2", "--out", tmp_path / "cluster")


def test_what_does_not_fit_is_refused(digits: Path, tmp_path: Path) -> None:
    for model in ("mostpop", "sfpl"):
        with pytest.raises(DataError, match=r"(mostpop|fpl) learns from interactions, but this data has"):
            murmura("compare", "--data", digits, "--protocol", f"mnist-iid:{SMALL}", "--models", model,
                    "--out", tmp_path / model)  # fmt: skip
        assert not (tmp_path / model / "config.yaml").exists()
    with pytest.raises(
        DataError, match="softmax classifies samples with labels, but this data has interactions"
    ):
        murmura("compare", "--data", "checkerboard", "--models", "softmax", "--out", tmp_path / "board")
    with pytest.raises(DataError, match="softmax classifies samples"):
        Plan(Softmax(), crowd())
    with pytest.raises(DataError, match="learns from interactions"):
        method("sfpl", {}).fit(labelled())


def test_the_test_labels_are_not_with_what_is_fitted() -> None:
    data = labelled(awkward=False)
    part = np.where(np.arange(len(data)) % 3, TRAIN, 2).astype(np.uint8)
    sealed = Split("every third", data, part).sealed()
    assert len(sealed.data) == (part == TRAIN).sum()
    assert not np.isin(np.flatnonzero(part == 2), sealed.data.item).any()


def test_a_classifier_must_answer_with_labels() -> None:
    class Wrong(Softmax):
        def client_predict(self, context: object, state: object, queries: object) -> object:  # type: ignore[override]
            return np.full(len(queries), 0.5)  # type: ignore[arg-type]

    data = labelled(awkward=False)
    split = Split("every third", data, np.where(np.arange(len(data)) % 3, TRAIN, 2).astype(np.uint8))
    fitted = fit(Plan(Wrong(), split.train), runtime=InProcess())
    rules = protocol("mnist-iid", Dataset("labelled", data, Catalogue(data.items)))
    with pytest.raises(DataError, match=r"answers must be labels from 0 to 2, but 48 are not, such as 0.5"):
        score(fitted, split, rules, 1, (10,))
