"""What can be relied on: version numbers are those of the code, and what is deprecated warns and works."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import murmura
from murmura.baselines import base
from murmura.core import codec
from murmura.data.splits import split_files
from murmura.device import folder
from murmura.server import database
from murmura.wire import wire

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def newest(role: str) -> str:
    return str(database.OLDEST - 1 + len(database.STEPS[role]))


def test_the_version_numbers_are_those_of_the_code() -> None:
    assert {what: version for what, version, _ in rows("Version numbers")} == {
        "package": murmura.__version__,
        "wire": str(wire.PROTOCOL),
        "messages of updates and models": str(codec.VERSION),
        "database of the coordinator": newest("coordinator"),
        "database of an aggregator": newest("aggregator"),
        "database of the admitter": newest("admitter"),
        "folder of a device": str(folder.VERSION),
        "file of a centralised model": str(base.VERSION),
        "file of a split": split_files.FORMAT.removeprefix("murmura-split-"),
    }
    assert PACKAGE["version"] == murmura.__version__
    assert re.search(
        rf"^## {re.escape(murmura.__version__)}, \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )


def test_what_is_deprecated_warns_and_is_what_replaces_it() -> None:
    listed = {
        old.strip("`"): (new.strip("`"), until) for old, new, until in rows("How something is deprecated")
    }
    assert listed == {
        f"murmura.{old}": (f"murmura.{new}", until) for old, (new, until) in murmura._RENAMED.items()
    }
    for old, (new, until) in listed.items():
        message = f"'{old}' is called '{new.removeprefix('murmura.')}' now; version {until} no longer knows"
        with pytest.warns(DeprecationWarning, match=message):
            found = getattr(murmura, old.removeprefix("murmura."))
        assert found is getattr(murmura, new.removeprefix("murmura."))


def test_every_dependency_has_both_bounds_and_none_is_exact() -> None:
    extras = [line for lines in PACKAGE["optional-dependencies"].values() for line in lines]
    for line in [*PACKAGE["dependencies"], *extras]:
        assert re.fullmatch(r"[\w\[\]-]+>=[\d.]+,<[\d.]+", line), line


def test_the_front_door_opens_from_a_zip(tmp_path: Path) -> None:
    source = Path(murmura.__file__).parent
    archive = tmp_path / "murmura.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in source.rglob("*"):
            if file.is_file() and file.suffix in (".py", ".yaml"):
                packed.write(file, file.relative_to(source.parent))
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); import murmura; print(murmura.__file__); "
        "[getattr(murmura, name) for name in dir(murmura)]; "
        "print(murmura.Interactions.__module__, murmura.compare.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == [
        str(archive / "murmura" / "__init__.py"),
        "murmura.core.interactions",
        "compare",
    ]
