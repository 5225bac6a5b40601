"""A stranger's baseline, data source and metric are named on the command line like ours."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from murmura.baselines import BASELINES, baseline
from murmura.cli.app import app
from murmura.core.errors import SettingError
from murmura.data.sources.registry import SOURCES, every_source, load
from murmura.evaluation import METRICS, metric_of
from murmura.studies.methods import describe_settings, method_class, names
from tests.plugins.packages import install

BASELINE = """
import numpy as np
from murmura.baselines.base import Baseline, RankingModel
from murmura.core.settings import settings


class Newest(RankingModel):
    def score(self, users):
        return np.tile(self.score_history(users), (len(users), 1))

    def score_history(self, items):
        return np.arange(self.train.n_items, dtype=np.float32)

    def arrays(self):
        return {}

    @classmethod
    def restore(cls, train, arrays, method):
        return cls(train)


@settings
class NewestFirst(Baseline):
    name = "newest-first"
    model = Newest
    seeded = False
    weight: float = 1.0

    def fit(self, train, seed=0, progress=None, watch=None):
        return Newest(train)
"""
SOURCE = """
import numpy as np
from murmura.core.catalogue import Catalogue
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.sources.source import Source, SourceFile


def read(folder):
    pairs = [line.split() for line in (folder.path / "likes.txt").read_text().splitlines()]
    users, user = np.unique([a for a, _ in pairs], return_inverse=True)
    items, item = np.unique([b for _, b in pairs], return_inverse=True)
    data = Interactions(Vocabulary(users), Vocabulary(items), user, item, np.ones(len(pairs)))
    return folder.dataset(data, Catalogue(Vocabulary(items)))


VILLAGE = Source(
    "village", "Who likes what in a village", "The village", "CC0", "https://village.example",
    (SourceFile("likes.txt"),), read,
)
"""
METRIC = """
import numpy as np
from murmura.evaluation.registry import UserMetric

FIRST = UserMetric("First", "whether the first item is a hit", "higher", lambda cut: cut.hit[:, 0])
"""


COMMAND = """
def census(people: int = 3) -> None:
    'Count the people of a village.'
    print(people, "people")


def counted(compared):
    from murmura.report.page import Section
    return Section.of("census", "Census", text=f"{len(compared.folder.models)} models came")
"""


def murmura(*arguments: str | Path) -> str:
    """What a command prints; what it refuses is raised."""
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def theirs(site: Path) -> Path:
    install(site, "their-baselines", BASELINE, baselines={"newest-first": "NewestFirst"})
    install(site, "their-sources", SOURCE, sources={"village": "VILLAGE"})
    install(site, "their-metrics", METRIC, metrics={"First": "FIRST"})
    return site


@pytest.fixture
def village(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "village"
    folder.mkdir(parents=True)
    lines = [f"u{u} i{(u * 7 + n * 3) % 20:02}" for u in range(12) for n in range(9)]
    (folder / "likes.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder.parent


def test_they_are_listed_and_found_like_ours(theirs: Path) -> None:
    assert "newest-first" in names()
    assert method_class("newest-first") is baseline("newest-first")
    assert [row[0] for row in describe_settings("newest-first")] == ["weight"]
    assert list(BASELINES)[-1] == "newest-first"
    assert every_source()["village"].owner == "The village"
    assert metric_of("First@10").title == "whether the first item is a hit"
    assert "First" in METRICS
    with pytest.raises(SettingError, match="there is no data set 'vilage': did you mean 'village'"):
        load("vilage")


def test_they_are_compared_beside_ours(theirs: Path, village: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = murmura(
        "compare", "--data", "village", "--data-dir", village, "--models", "newest-first,mostpop",
        "--metrics", "P,First", "--at", "3", "--out", out, "--json",
    )  # fmt: skip
    lines = [json.loads(line) for line in done.splitlines()]
    assert [line["model"] for line in lines] == ["newest-first", "mostpop"]
    assert all(set(line) == {"model", "seeds", "P@3", "First@3"} for line in lines)
    again = murmura("report", out)
    assert "--metrics P,First" in (out / "report.html").read_text(encoding="utf-8"), again


def test_a_search_is_decided_by_their_metric_and_says_it_at_the_end(
    theirs: Path, village: Path, tmp_path: Path
) -> None:
    out = tmp_path / "search"
    where = ("--data", "village", "--data-dir", village, "--model", "item-knn", "--grid", "k=1,5")
    found = murmura("search", *where, "--metric", "First@10", "--out", out, "--json")
    assert "First@10" in json.loads(found.splitlines()[-1])
    done = murmura("evaluate", out, "--data-dir", village, "--json")
    assert "First@10" in json.loads(done)


def test_their_baseline_is_fitted_kept_and_asked(theirs: Path, village: Path, tmp_path: Path) -> None:
    out = tmp_path / "fit"
    murmura("fit", "--data", "village", "--data-dir", village, "--model", "newest-first", "--out", out)
    done = murmura("recommend", out, "--user", "u1", "--k", "1", "--data-dir", village, "--json")
    assert "i" in done


def test_a_folder_shaped_like_theirs_is_recognised(theirs: Path, village: Path) -> None:
    assert load(village / "village").name == "village"
    shown = murmura("data", "list", "--data-dir", village, "--json")
    assert {"name": "village", "here": True}.items() <= json.loads(shown.splitlines()[-1]).items()


def test_what_is_broken_or_something_else_is_refused_by_name_and_disturbs_nobody(site: Path) -> None:
    install(
        site, "broken-things", "raise ImportError('no such thing')\n",
        baselines={"broken": "A"}, sources={"broken": "B"}, metrics={"Broken": "C"},
    )  # fmt: skip
    wrong = "from murmura.baselines.ease import Ease\nEASE, NUMBER = Ease, 3\n"
    install(
        site, "wrong-things", wrong,
        baselines={"not-ease": "EASE"}, sources={"number": "NUMBER"}, metrics={"Number": "NUMBER"},
    )  # fmt: skip
    for ask, kind in ((baseline, "model"), (load, "data set"), (metric_of, "metric")):
        name = "Broken" if kind == "metric" else "broken"
        with pytest.raises(SettingError, match=f"the {kind} '{name}' of the package broken-things cannot"):
            ask(name)
    with pytest.raises(SettingError, match="a Baseline class whose name is that of its entry point"):
        baseline("not-ease")
    with pytest.raises(SettingError, match="package wrong-things must be a Source"):
        load("number")
    with pytest.raises(SettingError, match="package wrong-things must be a UserMetric"):
        metric_of("Number")
    assert list(every_source()) == list(SOURCES.built_in)
    listed = CliRunner().invoke(app, ["config", "show"])
    assert (listed.exit_code, "user-knn" in listed.stdout) == (0, True)
    assert "of the package broken-things cannot be imported" in " ".join(listed.stderr.split())
    assert baseline("ease").name == "ease"


def test_a_name_of_ours_is_not_taken_over(site: Path) -> None:
    install(site, "greedy", BASELINE, baselines={"ease": "NewestFirst", "sfpl": "NewestFirst"})
    with pytest.warns(UserWarning, match="'ease' is Murmura's own, so that of greedy is left out"):
        assert baseline("ease").__module__ == "murmura.baselines.ease"
    with pytest.raises(SettingError, match="'sfpl' must be a baseline or a federated method, but packages"):
        method_class("sfpl")


def test_a_metric_with_a_value_for_every_category_has_no_place_in_the_table(
    village: Path, theirs: Path
) -> None:
    with pytest.raises(SettingError, match="must have one value, but 'BD' has one for every category"):
        murmura("compare", "--data", "village", "--data-dir", village, "--models", "mostpop", "--metrics", "BD")


def test_their_command_is_found_and_their_section_is_on_the_page(
    site: Path, theirs: Path, village: Path, tmp_path: Path
) -> None:
    install(site, "their-census", COMMAND, commands={"census": "census"}, sections={"census": "counted"})
    assert murmura("census", "--people", "4") == "4 people\n"
    assert "Count the people of a village." in murmura("--help")
    out = tmp_path / "run"
    murmura(
        "compare", "--data", "village", "--data-dir", village, "--models", "mostpop", "--at", "3", "--out", out
    )
    murmura("report", out)
    assert "1 models came" in (out / "report.html").read_text(encoding="utf-8")


def test_their_broken_command_is_refused_by_name_and_disturbs_no_other(site: Path) -> None:
    install(site, "their-wreck", "import nothing_of_that_name", commands={"wreck": "wreck"})
    with pytest.raises(SettingError, match="the command 'wreck' of the package their-wreck cannot be imported"):
        murmura("wreck", "--fast")
    assert "wreck" in murmura("--help")
    assert murmura("version").count(".") >= 2
