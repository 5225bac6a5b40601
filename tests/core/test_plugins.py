"""Names from other installed packages: equal to ours, never in their way."""

from pathlib import Path

import pytest

from murmura.core.errors import SettingError
from murmura.core.plugins import Registry

GROUP = "murmura.birds"


def numbers(name: str, found: object) -> int | None:
    return found if isinstance(found, int) else None


BIRDS: Registry[int] = Registry(
    "bird", GROUP, {"crow": "tests.core.test_plugins:CROW", "jay": 2}, "a whole number", numbers
)
CROW = 1


def install(folder: Path, package: str, code: str, group: str = GROUP, /, **entries: str) -> None:
    """An installed package as pip leaves it: a module, and a folder that names its entry points."""
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {module}:{attribute}\n" for name, attribute in entries.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_ours_come_first_and_are_found_without_any_package() -> None:
    assert BIRDS.names() == ("crow", "jay")
    assert (BIRDS.get("crow"), BIRDS.get("jay")) == (1, 2)
    with pytest.raises(SettingError, match=r"^there is no bird 'crowe': did you mean 'crow'\?$"):
        BIRDS.get("crowe")
    with pytest.raises(SettingError, match=r"^there is no bird 'zzz': it is one of crow, jay\.$"):
        BIRDS.get("zzz")


def test_a_package_of_someone_else_is_listed_hinted_at_and_loaded(site: Path) -> None:
    install(site, "their-birds", "WREN = 7\n", wren="WREN")
    assert BIRDS.names() == ("crow", "jay", "wren")
    assert "wren" in BIRDS
    assert BIRDS.get("wren") == 7
    with pytest.raises(SettingError, match="did you mean 'wren'"):
        BIRDS.get("wrenn")


def test_a_broken_package_is_named_when_asked_for_and_disturbs_nobody_else(site: Path) -> None:
    install(site, "broken-birds", "raise RuntimeError('no\\nfeathers')\n", dodo="DODO")
    assert BIRDS.names() == ("crow", "jay", "dodo")
    assert BIRDS.get("crow") == 1
    said = "the bird 'dodo' of the package broken-birds cannot be imported (RuntimeError: no feathers); "
    with pytest.raises(SettingError) as error:
        BIRDS.get("dodo")
    assert str(error.value) == said + "mend the package or uninstall it."


def test_an_entry_point_that_holds_something_else_is_refused(site: Path) -> None:
    install(site, "wrong-birds", "BAT = 'a mammal'\n", bat="BAT", moth="MOTH")
    with pytest.raises(SettingError, match="package wrong-birds must be a whole number, but is 'a mammal'"):
        BIRDS.get("bat")
    with pytest.raises(SettingError, match=r"wrong-birds cannot be imported \(AttributeError"):
        BIRDS.get("moth")


def test_a_name_of_ours_stays_ours_and_the_other_is_refused_in_a_sentence(site: Path) -> None:
    install(site, "cuckoo", "CROW = 99\n", crow="CROW")
    assert BIRDS.names() == ("crow", "jay")
    with pytest.warns(UserWarning, match="'crow' is Murmura's own, so that of cuckoo is left out"):
        assert BIRDS.get("crow") == 1


def test_two_packages_with_one_name_are_refused(site: Path) -> None:
    install(site, "one-wren", "WREN = 1\n", wren="WREN")
    install(site, "other-wren", "WREN = 2\n", wren="WREN")
    with pytest.raises(SettingError, match="must come from one package, but one-wren and other-wren register"):
        BIRDS.get("wren")
