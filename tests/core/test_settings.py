"""One sentence for every bad parameter: what it must be, what it got."""

from dataclasses import field
from typing import Annotated

import pytest
from pydantic import Field

from murmura.core.errors import SettingError
from murmura.core.settings import PRIVATE, as_dict, changed, from_dict, private_settings, settings


@settings
class Kettle:
    name = "kettle"
    litres: Annotated[float, Field(gt=0)] = 1.5
    cups: int = 4


def test_a_round_trip_changes_nothing() -> None:
    kettle = Kettle(litres=2)
    assert from_dict(Kettle, as_dict(kettle)) == kettle
    assert changed(kettle, cups=5) == Kettle(litres=2, cups=5)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"litres": 0}, "kettle.litres: input should be greater than 0, but it is 0."),
        ({"litres": float("inf")}, "kettle.litres: input should be a finite number, but it is inf."),
        ({"litres": float("nan")}, "kettle.litres: input should be a finite number, but it is nan."),
        ({"cups": "many"}, "kettle.cups: input should be a valid integer"),
        ({"cup": 3}, "unknown setting 'kettle.cup'. Did you mean 'cups'?"),
        ({"colour": 3}, "unknown setting 'kettle.colour'. It knows litres, cups."),
    ],
)
def test_what_is_refused_and_how(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        from_dict(Kettle, values)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_change_is_checked_too() -> None:
    with pytest.raises(SettingError, match=r"kettle\.litres"):
        changed(Kettle(), litres=-1)


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Kettle().cups = 3  # type: ignore[misc]


def test_a_private_setting_is_found_by_its_mark_where_it_holds_something() -> None:
    @settings
    class Learner:
        rate: float = 0.1
        chosen: dict[str, int] = field(default_factory=dict, metadata=PRIVATE)
        bound: int | None = field(default=None, metadata=PRIVATE)

    @settings
    class Named(Learner):
        rate: float = 0.2

    assert private_settings(Named(rate=0.3)) == []
    assert private_settings(Named(chosen={"a": 1})) == ["chosen"]
    assert private_settings(Learner(chosen={"a": 1}, bound=0)) == ["chosen", "bound"]
    assert from_dict(Named, as_dict(Named(chosen={"a": 1}))) == Named(chosen={"a": 1})
