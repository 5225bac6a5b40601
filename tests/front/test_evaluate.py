"""Evaluation from Python: the choice is stated once, results show themselves."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import murmura
from murmura.cli.notebook import NotebookBar
from murmura.core.errors import DataError, RunError, SettingError
from murmura.evaluation import evaluate as evaluate_lists
from murmura.evaluation.measure import PlainTable, number


def prepared() -> murmura.PreparedData:
    data = murmura.load("synth")
    return murmura.prepare(data, murmura.protocol("default:candidates=20,draws=2", data))


def test_a_model_is_scored_for_one_choice_and_no_other(tmp_path: Path) -> None:
    ready = prepared()
    model = murmura.fit("mostpop", ready.split.train)
    found = murmura.evaluate(
        model, ready, choice="mostpop, as it is", metrics=("HR", "IC"), folder=tmp_path / "run"
    )
    assert list(found.values) == ["HR@10", "IC@10", "HR/sampled@10"]
    opened = json.loads((tmp_path / "run" / "opened.json").read_text(encoding="utf-8"))
    assert opened["choice"] == {"choice": "mostpop, as it is"}
    assert json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8")) == found.values
    split = ready.open(None, {"choice": "mostpop, as it is"})
    lists = model.recommend(found.users, 10)
    assert evaluate_lists(lists, split, metrics=("HR",)).values["HR@10"] == found.values["HR@10"]
    with pytest.raises(RunError, match="opened for one choice"):
        murmura.evaluate(model, ready, choice="something better")
    with pytest.raises(RunError, match="before the test part is opened"):
        ready.selection()


def test_a_model_of_other_rows_and_an_unknown_metric_are_refused_before_it_is_opened() -> None:
    ready = prepared()
    other = murmura.fit("mostpop", ready.selection().split.train)
    with pytest.raises(DataError, match=r"must be fitted on ready\.split\.train"):
        murmura.evaluate(other, ready, choice="mostpop")
    model = murmura.fit("mostpop", ready.split.train)
    with pytest.raises(SettingError, match="did you mean 'nDCG'"):
        murmura.evaluate(model, ready, choice="mostpop", metrics=("NDCG",))
    assert not ready.sealed.is_open


def test_results_are_tables_and_figures() -> None:
    ready = prepared()
    model = murmura.fit("mostpop", ready.split.train)
    scores = {"most & pop": murmura.evaluate(model, ready, choice="it", metrics=("HR", "IC"))}
    assert "<td" in scores["most & pop"]._repr_html_()
    made = murmura.table(scores, "mine")
    assert "most &amp; pop" in made._repr_html_()
    assert made.columns == ("", "HR@10", "IC@10", "HR/sampled@10")
    assert str(made).splitlines()[0] == "mine"
    trials = list(murmura.search(prepared().selection(), "ease", murmura.grid({"reg": [1, 2]})))
    assert murmura.table(trials).columns == ("", "value", "seconds")
    figure = murmura.plot(scores, "HR@10")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["most & pop"]
    with pytest.raises(SettingError, match="no result has a value of 'hr@10': did you mean 'HR@10'"):
        murmura.plot(scores, "hr@10")
    with pytest.raises(SettingError, match="but holds a str"):
        murmura.table(["x"])  # type: ignore[arg-type]


def test_numbers_of_a_table() -> None:
    assert [number(value) for value in (0.123456, 12345.0, 3.0, None, float("nan"))] == [
        "0.12346",
        "12,345",
        "3",
        "",
        "",
    ]
    assert str(PlainTable(("a", "b"), (("x", "1"), ("long", "22")))) == "a      b\nx      1\nlong  22"


def test_a_notebook_gets_one_bar_that_is_drawn_anew() -> None:
    drawn: list[str] = []
    handle = SimpleNamespace(update=drawn.append)

    def display(shown: str, display_id: bool) -> Any:
        drawn.append(shown)
        return handle

    bar = NotebookBar(SimpleNamespace(display=SimpleNamespace(HTML=str, display=display)))
    bar.begin("<mf>", 4)
    bar.advance(2)
    bar.end()
    assert drawn[0].startswith("&lt;mf&gt;")
    assert 'value="2" max="4"' in drawn[-1]
    assert ", about 10 s left" in bar.html(bar.begun + 10)


def test_in_a_terminal_that_nobody_watches_progress_is_silent() -> None:
    with murmura.progress() as bar:
        murmura.fit("mf", prepared().split.train, {"epochs": 1}, progress=bar)
