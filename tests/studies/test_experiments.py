"""The papers' files are right, and a wrong one is named with its line."""

import tomllib
from pathlib import Path

import pytest

from murmura.core.errors import SettingError
from murmura.core.settings import field_names
from murmura.data.sources.registry import SOURCES
from murmura.lab.papers.data_facts import SOURCE, TRAINING, WHOLE
from murmura.lab.papers.experiments import (
    Experiment,
    Quick,
    Row,
    experiment,
    experiment_names,
    read_experiment,
)
from murmura.studies.configuration import experiment_folder
from tests.studies.experiment_files import EXPERIMENT, small

ROOT = Path(__file__).parents[2]
ASKED = {
    "federank-table2", "federank-fig1", "federank-fig2", "federank-fig3", "fpl-table2", "fpl-table3",
    "fpl-table1", "federank-table1", "fedsplit-table1", "thesis-4.1",
    "fpl-fig4",
    *(f"thesis-4.{n}" for n in range(2, 7)), *(f"thesis-fig4.{n}" for n in range(2, 7)),
    "kgflex-table6.1", "kgflex-fig6.2", "kgflex-fig6.3",
    *(f"thesis-5.{n}" for n in range(1, 7)), "thesis-fig5.1", "client-aware-shards", "client-aware-dirichlet",
}  # fmt: skip


def test_every_table_and_figure_has_its_file() -> None:
    assert set(experiment_names()) >= ASKED
    assert "defaults" not in experiment_names()


@pytest.mark.parametrize("name", experiment_names())
def test_a_file_names_what_exists(name: str) -> None:
    one = experiment(name)
    assert {*one.data, *one.also} <= set(SOURCES)
    assert (ROOT / one.docs.split("#")[0]).is_file()
    assert set(one.same_run_as) <= {*one.data, *one.also}
    bases = [experiment(base) for base in set(one.same_run_as.values())]
    for data, base in one.same_run_as.items():
        assert experiment(base).rows
        assert data not in experiment(base).same_run_as  # it runs there itself
    assert all({*one.shown_rows} <= {*base.rows} for base in bases)
    rows = [row for base in (one, *bases) for row in base.rows]
    parts = (SOURCE, WHOLE, TRAINING)
    for data, printed in one.printed.items():
        assert data in one.data
        for row, values in printed.items():
            assert any(row == known or row.startswith(f"{known} ") for known in [*rows, *parts]), row
            assert set(values) <= set(one.shown), (row, values)
    for doubt in one.doubts:
        assert set(doubt.data) <= set(one.data)
        assert doubt.reason


def test_a_file_like_another_takes_its_rows_and_prints_over() -> None:
    one, other = experiment("fpl-table2-oldest"), experiment("fpl-table2")
    assert (one.rows, one.printed, one.data, one.docs) == (other.rows, other.printed, other.data, other.docs)
    assert (one.protocol, other.protocol) == ("fpl:pick=oldest", "fpl")
    assert one.title != other.title
    assert {doubt.rows for doubt in one.doubts} == {("VAE",)}  # every doubt is the file's own


def test_a_file_of_ones_own_may_be_like_one_of_ours_or_one_beside_it(tmp_path: Path) -> None:
    small(tmp_path)
    mine = read_experiment(small(tmp_path, "title: Mine\nlike: small\nseeds: 1\n", "mine"))
    assert (mine.seeds, list(mine.rows)) == (1, ["Top-Pop", "User-kNN", "sFPL"])
    ours = small(tmp_path, "title: Ours\nlike: fpl-table2\n", "ours")
    assert read_experiment(ours).rows == experiment("fpl-table2").rows
    for text, words in (("like: mine", "mine is like small; name that one"), ("like: none", "readable file")):
        with pytest.raises(SettingError, match=words):
            read_experiment(small(tmp_path, f"title: Wrong\n{text}\n", "wrong"))


@pytest.mark.parametrize("name", ["fpl-table2-oldest", "thesis-4.5-oldest", "thesis-4.6-oldest"])
def test_no_print_for_italy_is_doubted_on_the_oldest_fifth_but_that_of_vae(name: str) -> None:
    one = experiment(name)
    for row, values in one.printed.get("foursquare-italy", {}).items():
        assert all(bool(one.doubt("foursquare-italy", row, metric)) == (row == "VAE") for metric in values)


def test_quick_keeps_every_row_and_has_less_to_do() -> None:
    from murmura.lab.papers.reproduce import fits

    whole = experiment("federank-table2")
    quick = whole.smaller()
    assert list(quick.rows) == list(whole.rows)
    assert fits(quick) < fits(whole) / 3


def test_quick_leaks_of_its_own_data_and_leaves_out_what_does_not_fit_it() -> None:
    whole = experiment("rivals-others")
    quick = whole.smaller("a/b.csv")
    assert {row.settings.get("leak") for row in whole.rows.values()} == {None, "ml-100k/ncf"}
    assert {row.settings.get("leak") for row in quick.rows.values()} == {None, f"a/b.csv/{quick.protocol}"}
    noise = experiment("privacy-fpl")
    assert noise.rows.keys() - noise.smaller().rows.keys() == {*noise.quick.without} < noise.rows.keys()


def test_the_files_are_beside_the_sources_or_inside_an_installed_package(tmp_path: Path) -> None:
    assert experiment_folder() == ROOT / "experiments"
    (tmp_path / "murmura" / "experiments").mkdir(parents=True)
    assert experiment_folder(tmp_path / "murmura") == tmp_path / "murmura" / "experiments"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"experiments": "murmura/experiments"}


def test_every_key_and_every_experiment_is_documented() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    for cls in (Experiment, Row, Quick):
        for key in field_names(cls):
            assert key == "name" or f"`{key}`" in page, key
    for name in experiment_names():
        assert name in (ROOT / experiment(name).docs).read_text(encoding="utf-8"), name


def test_the_table_of_experiments_has_every_file_once() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    table = page.partition("## The experiments")[2].partition("\n## ")[0]
    firsts = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][2:]
    assert sorted(", ".join(firsts).split(", ")) == sorted(experiment_names())


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("    model: sfpl\n", "    modle: sfpl\n", 17, "did you mean 'model'"),
        ("  sFPL:\n    model: sfpl", "  sFPL:\n    model: sfppl", 16, "there is no model 'sfppl'"),
        ("power: [1, 2]", "powr: [1, 2]", 15, "did you mean 'power'"),
        ("{k: [2, 5, 10]}", "{k: [2, 0, 10]}", 14, "greater than or equal to 1"),
        ("{k: [2, 5, 10]}", '{k: "2:10:int"}', 11, "needs 'trials:'"),
        ("{k: [2, 5, 10]}", '{k: "0:10:int"}', 14, "greater than or equal to 1"),
        ("{k: [2, 5, 10]}", '{k: "2-10"}', 14, "must be LOW:HIGH"),
        ("seeds: 2", "seeds: none", 8, "valid integer"),
        ("shown: [P@10, IC@10]\n", "", None, "shown must be given"),
        ("title:", "titel:", 1, "did you mean 'title'"),
        ("seeds: 2", "tests: [[sFPL, kNN]]", 8, "tests must name rows, but 'kNN' is none"),
        (
            "  Top-Pop: {model: mostpop}",
            "  Top-Pop: {model: mostpop, tuned_as: sFPL+}",
            10,
            "must name a row with 'search:'",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, line: int | None, words: str
) -> None:
    assert old in EXPERIMENT
    path = small(tmp_path, EXPERIMENT.replace(old, new))
    with pytest.raises(SettingError) as error:
        read_experiment(path)
    text = str(error.value)
    assert words.lower() in text.lower()
    assert text.startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SettingError, match="did you mean 'federank-table2'"):
        experiment("federank-tabel2")


@pytest.mark.parametrize(("name", "row", "target", "gain"), [
    ("thesis-5.3", "LD", 95, -5.22), ("thesis-5.3", "MW", 90, -7.44), ("thesis-5.3", "MW > LD > DS", 95, 4.67),
    ("thesis-5.3", "LD > DS > MW", 80, 2.11), ("thesis-5.5", "CB", 85, 13.0),
    ("thesis-5.5", "DS > IS > CB", 70, -5.75), ("thesis-5.5", "IS > CB > DS", 85, -12.8),
])  # fmt: skip
def test_printed_rounds_have_the_average_gain_of_the_thesis(
    name: str, row: str, target: int, gain: float
) -> None:
    (printed,) = experiment(name).printed.values()
    base = {key: value for key, value in printed["DS"].items() if key.endswith(f">{target}")}
    gains = [value - printed[row][key] for key, value in base.items()]
    assert round(sum(gains) / len(gains), 2) == pytest.approx(gain, abs=0.006)


@pytest.mark.parametrize("name", ["thesis-5.1", "thesis-5.3", "thesis-5.5"])
def test_printed_rounds_grow_with_the_share_of_clients(name: str) -> None:
    (printed,) = experiment(name).printed.values()
    for values in printed.values():
        for target in (70, 80, 85, 90, 95):
            rounds = [value for key, value in values.items() if key.endswith(f">{target}")]
            assert rounds == sorted(rounds)


@pytest.mark.parametrize(
    ("name", "samples"), [("thesis-5.2", 10_000), ("thesis-5.4", 10_000), ("thesis-5.6", 19_319)]
)
def test_printed_agreements_are_of_all_test_samples(name: str, samples: int) -> None:
    (printed,) = experiment(name).printed.values()
    whole = [sum(values.values()) for values in printed.values() if len(values) == 4]
    assert len(whole) >= 5
    assert set(whole) == {samples}
