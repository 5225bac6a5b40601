"""A run's files beside those of other data sets: nothing is lost, doubled or mixed."""

import json
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.lab.papers.experiments import experiment
from murmura.lab.papers.published_results import (
    PLACE,
    PublishedResult,
    checkout,
    publish,
    published_page,
    published_results,
    written,
)

SHOWN = experiment("thesis-fig4.2")
ENDS = (".csv", "-tables.csv", ".json")
NAMES = {f"{SHOWN.name}{end}" for end in ENDS}


def result(data: str, quick: bool = False) -> PublishedResult:
    return PublishedResult(data, "2026-11-18", "1a2b3c4", 3, 217, 25.0, quick)


def wrote(folder: Path, numbers: dict[str, float], *, header: str = "data,ours", quick: bool = False) -> Path:
    """What `reproduce run` leaves of some data sets."""
    folder.mkdir(exist_ok=True)
    rows = "".join(f"{data},{ours}\n" for data, ours in numbers.items())
    tables = "".join(f"{data},title,a table\n{data},row,{ours}\n" for data, ours in numbers.items())
    (folder / f"{SHOWN.name}.csv").write_text(f"{header}\n{rows}", encoding="utf-8")
    (folder / f"{SHOWN.name}-tables.csv").write_text(f"data,part,cells\n{tables}", encoding="utf-8")
    found = [result(data, quick) for data in numbers]
    (folder / f"{SHOWN.name}.json").write_text(written(SHOWN, found), encoding="utf-8")
    return folder


def text(folder: Path, end: str) -> str:
    return (folder / f"{SHOWN.name}{end}").read_text(encoding="utf-8")


def test_a_new_data_set_stands_beside_the_others_in_the_order_of_the_experiment(tmp_path: Path) -> None:
    place = wrote(tmp_path / "kept", {"foursquare-italy": 0.03, "ml-1m": 0.1})
    publish(SHOWN, wrote(tmp_path / "out", {"amazon-digital-music": 0.01}), place)
    assert text(place, ".csv") == "data,ours\nfoursquare-italy,0.03\namazon-digital-music,0.01\nml-1m,0.1\n"
    whole = {"foursquare-italy": 0.03, "amazon-digital-music": 0.01, "ml-1m": 0.1}
    assert text(place, "-tables.csv") == text(wrote(tmp_path / "at once", whole), "-tables.csv")
    assert text(place, ".json") == text(tmp_path / "at once", ".json")


def test_a_new_run_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    place = wrote(tmp_path / "kept", {"foursquare-italy": 0.03, "ml-1m": 0.1}, header="data,ours")
    out = wrote(tmp_path / "out", {"ml-1m": 0.2})
    publish(SHOWN, out, place)
    once = text(place, ".csv"), text(place, "-tables.csv"), text(place, ".json")
    assert text(place, ".csv") == "data,ours\nfoursquare-italy,0.03\nml-1m,0.2\n"
    publish(SHOWN, out, place)  # again: nothing changes
    assert (text(place, ".csv"), text(place, "-tables.csv"), text(place, ".json")) == once


def test_the_first_result_is_kept_as_it_is(tmp_path: Path) -> None:
    out, place = wrote(tmp_path / "out", {"ml-1m": 0.2}), tmp_path / "kept"
    place.mkdir()
    assert {path.name for path in publish(SHOWN, out, place)} == NAMES
    assert all((place / name).read_bytes() == (out / name).read_bytes() for name in NAMES)


def test_trials_are_kept_with_the_experiment_whose_run_it_is(tmp_path: Path) -> None:
    out, place = wrote(tmp_path / "out", {"foursquare-italy": 0.2}), tmp_path / "kept"
    place.mkdir()
    other = experiment("fpl-fig4")  # on foursquare-italy it shows the run of thesis-fig4.2
    for end in ENDS:
        (out / f"{other.name}{end}").write_text(text(out, end), encoding="utf-8")
    for name in (SHOWN.name, other.name):
        (out / f"{name}-foursquare-italy-trials.csv").write_text("trial\n", encoding="utf-8")
    assert f"{SHOWN.name}-foursquare-italy-trials.csv" in {path.name for path in publish(SHOWN, out, place)}
    assert f"{other.name}-foursquare-italy-trials.csv" not in {path.name for path in publish(other, out, place)}


def test_what_is_no_whole_run_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    place = wrote(tmp_path / "kept", {"ml-1m": 0.1})
    before = text(place, ".csv")
    with pytest.raises(RunError, match=r"must hold a whole run of thesis-fig4\.2, but has none"):
        publish(SHOWN, tmp_path / "nothing", place)
    with pytest.raises(RunError, match="but has one with --quick"):
        publish(SHOWN, wrote(tmp_path / "quick", {"ml-1m": 0.2}, quick=True), place)
    other = wrote(tmp_path / "other", {"foursquare-italy": 0.2}, header="data,theirs")
    with pytest.raises(RunError, match=r"run thesis-fig4\.2 on ml-1m again"):
        publish(SHOWN, other, place)
    assert text(place, ".csv") == before


def test_every_kept_result_has_a_page_with_a_section_for_each_data_set() -> None:
    root = checkout()
    assert root is not None
    for file in sorted((root / PLACE).glob("*.json")):
        page = published_page(experiment(file.stem), file.parent)
        sections = [line[3:] for line in page.splitlines() if line.startswith("## ")]
        assert sections == list(published_results(file.stem, file.parent)), file.name
        assert json.loads(file.read_text(encoding="utf-8"))["experiment"] == file.stem
