"""The Makefile, the README and CONTRIBUTING.md name the same commands, and each tier holds the one below it."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def rules() -> dict[str, str]:
    """The lines below each target."""
    return dict(re.findall(r"^([\w-]+):[^\n=]*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE))


def expression(target: str) -> str:
    """Which tests a target takes, as a formula of Python; all of them without one."""
    found = re.search(r'-m "([^"]*)"', rules()[target])
    return found[1] if found else "True"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_command_on_a_page_is_a_target(page: str) -> None:
    named = re.findall(r"^    make ([\w-]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert named
    assert set(named) <= set(rules())
    if page == "README.md":
        assert {"demo", "test"} <= set(named)


def test_contributing_has_every_way_to_test() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tests = {name for name, lines in rules().items() if "$(PYTEST)" in lines}
    assert {"quick", "test", "test-all"} <= tests
    assert all(f"    make {name} " in page for name in tests)


def test_each_tier_holds_the_one_below_it() -> None:
    marks = ("slow", "process", "smoke", "data")
    for bits in range(2 ** len(marks)):
        marked = {name: bool(bits >> place & 1) for place, name in enumerate(marks)}
        quick, test, everything = (bool(eval(expression(t), {}, marked)) for t in ("quick", "test", "test-all"))
        assert quick <= test <= everything
    assert expression("test-all") == "True"


def test_every_mark_is_declared_and_ci_runs_everything() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = {line.split(":")[0] for line in told["tool"]["pytest"]["ini_options"]["markers"]}
    assert declared == {"slow", "process", "smoke", "data"}
    assert re.findall(r"^make (.*)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE) == [
        "sbom",
        "test-all",
        "test-neural",
        "test-web",
        "site",
    ]
