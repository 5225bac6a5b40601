"""The run folder: complete files, no mixing of configurations."""

from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.engine.run_folder import Run


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "a", {"seed": 1, "data": {"name": "ö"}})
    run.write_json("metrics.json", {"P@10": 0.25})
    run.write_table("per_user.csv", ["user", "P@10"], [["a,b", 0.5], ["c\td", 0.0]])
    again = Run.open(tmp_path / "a")
    assert again.config == {"seed": 1, "data": {"name": "ö"}}
    assert again.read("metrics.json") == {"P@10": 0.25}
    assert again.read_table("per_user.csv") == (["user", "P@10"], [["a,b", "0.5"], ["c\td", "0.0"]])
    assert again.status == "new"
    run.mark("done")
    assert again.status == "done"


def test_another_configuration_is_refused(tmp_path: Path) -> None:
    Run.create(tmp_path / "a", {"seed": 1})
    assert Run.create(tmp_path / "a", {"seed": 1}).config == {"seed": 1}
    with pytest.raises(RunError, match="holds another"):
        Run.create(tmp_path / "a", {"seed": 2})


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match="new or empty folder"):
        Run.create(tmp_path, {"seed": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(RunError, match=r"no config\.yaml"):
        Run.open(tmp_path)


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "a", {"seed": 1})
    run.write("metrics.json", '{"P@10": 0.')
    with pytest.raises(RunError, match=r"metrics\.json is damaged"):
        run.read("metrics.json")
    with pytest.raises(RunError, match="has not come that far"):
        run.read("data.json")
    run.write("config.yaml", "a: [")
    with pytest.raises(RunError, match="cannot be read"):
        _ = run.config


def test_where_the_data_lies_does_not_matter(tmp_path: Path) -> None:
    Run.create(tmp_path / "a", {"data": {"name": "ml-1m", "dir": "/here"}})
    assert Run.create(tmp_path / "a", {"data": {"name": "ml-1m", "dir": None}}).path == tmp_path / "a"
    with pytest.raises(RunError, match="holds another"):
        Run.create(tmp_path / "a", {"data": {"name": "ml-100k", "dir": "/here"}})


def test_where_data_lies_is_remembered_apart_from_what_is_shown(tmp_path: Path) -> None:
    given = {"data": {"name": "ml-1m", "dir": str(tmp_path / "sets")}, "seed": 1}
    run = Run.create(tmp_path / "a", given)
    assert str(tmp_path) not in (tmp_path / "a" / "config.yaml").read_text(encoding="utf-8")
    assert run.places == {"folder": Path.cwd(), "data": tmp_path / "sets"}
    again = {"data": {"name": "ml-1m", "dir": "elsewhere"}, "seed": 1}
    assert Run.create(tmp_path / "a", again).places == run.places  # the same run, found by another way
    (tmp_path / "a" / "place.json").write_text("[]", encoding="utf-8")
    assert run.places == {}
