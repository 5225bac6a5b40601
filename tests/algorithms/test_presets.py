"""Presets are values: whole, flat, told apart by their names; an algorithm of someone else is equal to ours."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from murmura.aggregation.weighted import Weighted
from murmura.algorithms import ALGORITHMS, algorithm
from murmura.algorithms.fpl.fpl import FPL
from murmura.algorithms.preset import GROUPS, ONCE, Preset, neutral
from murmura.core.channel import ChannelSettings
from murmura.core.errors import SettingError
from murmura.core.schedule import Schedule
from murmura.core.settings import as_dict, changed, field_names, from_dict, settings
from murmura.studies.methods import method, method_class, names, resolved_settings
from murmura.studies.search.grid import learns_in_epochs
from tests.core.test_plugins import install, site  # noqa: F401

STRANGER = """
from typing import ClassVar
from murmura.algorithms.fpl.fpl import FPL
from murmura.algorithms.preset import Preset
from murmura.core.contract import Algorithm
from murmura.core.settings import settings

@settings
class Loud(FPL):
    '''Louder.

    More about it.
    '''
    name: ClassVar[str] = "loud"
    volume: int = 3

@settings
class Unfinished(Algorithm):
    name: ClassVar[str] = "unfinished"

QUIET = Preset("quiet", Loud, "Quieter.", {"volume": 1, "clients": "all"})
"""


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_preset_is_named_as_it_is_listed_and_its_settings_make_a_round_trip(name: str) -> None:
    preset = algorithm(name)
    made = preset()
    assert (preset.name, made.name, made.seeded) == (name, name, True)
    method = made.algorithm()
    assert isinstance(method.inner if isinstance(method, Weighted) else method, preset.method)
    assert from_dict(preset.settings, as_dict(made)) == made == changed(made)
    assert pickle.loads(pickle.dumps(made)) == made
    assert preset.summary.endswith(".")


def test_no_criteria_stay_none_where_a_preset_has_some() -> None:
    """Settings written down whole and read again give the same method: equal weights do not become FedAvg's."""
    assert resolved_settings("fedavg", {"criteria": []})["criteria"] == []
    some: tuple[dict[str, Any], ...] = (
        {},
        {"criteria": []},
        {"criteria": ["label_diversity"], "score": "mean"},
    )
    for given in some:
        again = algorithm("fedavg")(**resolved_settings("fedavg", given))
        assert again.algorithm() == algorithm("fedavg")(**given).algorithm()
    assert not isinstance(algorithm("fedavg")(criteria=()).algorithm(), Weighted)
    assert "criteria" not in resolved_settings("sfpl", {})


def test_a_part_a_preset_does_not_have_is_fixed() -> None:
    once = Preset("once", FPL, "Once.", parts=GROUPS)(largest=4)
    assert once.schedule() == ONCE
    assert once.channel_settings() == ChannelSettings()
    assert (groups := once.grouping()) is not None
    assert groups.largest == 4
    assert neutral("own", FPL)().grouping() is None
    assert not set(field_names(type(once))) & {*field_names(Schedule), *field_names(ChannelSettings)}


def test_a_default_of_no_part_and_a_setting_of_two_parts_are_refused() -> None:
    with pytest.raises(SettingError, match=r"unknown setting 'odd\.clientz'\. Did you mean 'clients'"):
        Preset("odd", FPL, "Odd.", {"clientz": 1})()

    @settings
    class Clipped(FPL):
        clip: float = 1.0

    with pytest.raises(SettingError, match="'clip' is one of Clipped and of ChannelSettings; rename it"):
        neutral("clipped", Clipped)()


def test_an_algorithm_refuses_settings_that_do_not_go_together_when_it_is_configured() -> None:
    @settings
    class Even(FPL):
        def __post_init__(self) -> None:
            if self.factors % 2:
                raise SettingError("even.factors must be even.")

    assert neutral("even", Even)(factors=4).algorithm() == Even(factors=4)
    with pytest.raises(SettingError, match="must be even"):
        neutral("even", Even)(factors=3)


def test_an_algorithm_of_another_package_is_named_like_ours(site: Path) -> None:  # noqa: F811
    entries = {"loud": "Loud", "hushed": "QUIET", "unfinished": "Unfinished"}
    install(site, "stranger", STRANGER, "murmura.algorithms", **entries)
    assert names()[-3:] == ("hushed", "loud", "unfinished")
    loud, hushed = algorithm("loud"), algorithm("hushed")
    assert (loud.summary, hushed.name, hushed().name) == ("Louder.", "hushed", "hushed")
    assert as_dict(loud())["volume"] == 3
    assert (as_dict(hushed())["volume"], hushed().schedule().clients) == (1, "all")
    assert method("loud", {"volume": 5}).name == "loud"
    assert learns_in_epochs("loud")
    with pytest.raises(SettingError, match=r"^unknown setting 'loud\.volum'\. Did you mean 'volume'\?$"):
        method("loud", {"volum": 5})
    with pytest.raises(SettingError, match="there is no model 'lod': did you mean 'loud'"):
        method_class("lod")
    with pytest.raises(SettingError, match="package stranger must be an Algorithm class"):
        algorithm("unfinished")


def test_names_are_listed_without_importing_anybody(site: Path) -> None:  # noqa: F811
    install(site, "broken", "raise SystemError\n", "murmura.algorithms", mine="Mine")
    code = f"""
import sys
sys.path.insert(0, {str(site)!r})
from murmura.algorithms import ALGORITHMS
assert "mine" in ALGORITHMS.names() and "sfpl" in ALGORITHMS
assert not sys.modules.keys() & {{"numpy", "pydantic", "broken"}}
assert ALGORITHMS.get("sfpl").name == "sfpl"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
