"""The built wheel, installed where nothing of the project is: everything it needs is in it."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from murmura import __version__
from tests.cli.processes import ratings

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
pytestmark = [pytest.mark.process, pytest.mark.slow]


def done(*command: str | Path, cwd: Path) -> str:
    """What a command prints, in an environment that knows nothing of the clone."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MURMURA_DATA")}
    ended = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT, cwd=folder)
    (made,) = folder.glob("murmura-*.whl")
    return made


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an empty environment with the wheel; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    done(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    programs = folder / "bin"
    done(*PIP, "--python", programs / "python", "install", "--no-deps", "--no-index", wheel, cwd=folder)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    # a line of a .pth file is a place to import from, whose own .pth files, ours among them, are not followed
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return programs


def test_every_file_of_the_package_is_in_it_and_no_other(wheel: Path) -> None:
    command = ["git", "ls-files", "src/murmura", "experiments"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    wanted = {path.removeprefix("src/") if path.startswith("src/") else f"murmura/{path}" for path in told}
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {"murmura/py.typed", "murmura/studies/defaults.yaml", "murmura/experiments/fpl-table2.yaml"} <= there
    assert {
        "murmura/server/http/static/index.html",
        "murmura/server/http/static/build.json",
    } <= there  # the page for browsers
    assert wanted <= there
    assert {Path(name).suffix for name in there - wanted} <= {".py"}  # written, and not yet added to git


def test_it_runs_where_nothing_else_of_the_project_is(programs: Path, tmp_path: Path) -> None:
    asked = "import murmura; print(murmura.__file__, murmura.__version__)"
    place, version = done(programs / "python", "-c", asked, cwd=tmp_path).split()
    assert version == __version__
    assert Path(place).is_relative_to(programs.parent)
    murmura = programs / "murmura"
    assert "numpy" in done(murmura, "doctor", cwd=tmp_path)
    assert "fpl-table2" in done(murmura, "reproduce", "list", cwd=tmp_path)
    flags = ("--models", "mostpop,ease", "--out", "run", "--json")
    lines = done(murmura, "compare", "--data", ratings(tmp_path), *flags, cwd=tmp_path).splitlines()
    told = {line["model"]: line for line in map(json.loads, lines)}
    assert told["ease"]["P@10"] > told["mostpop"]["P@10"] > 0
    done(murmura, "report", "run", cwd=tmp_path)
    assert "mostpop" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
