"""Who takes part: everyone once an epoch by default; a count, a fraction, never more than there are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.cli.options import parse_settings
from murmura.core.contract import FederationInfo
from murmura.core.errors import SettingError
from murmura.core.schedule import Schedule
from murmura.core.settings import as_dict, from_dict
from murmura.studies.configuration import FitConfig, load_config

FORTY = FederationInfo(items=5, listed=np.arange(5, dtype=np.int32), clients=40, interactions=1000)


def test_the_default_is_everyone_once_an_epoch() -> None:
    schedule = Schedule()
    assert schedule.cohort(FORTY) == 40
    assert schedule.epoch_rounds(FORTY, triples=25) == 1
    assert schedule.total_rounds(FORTY, triples=25) == schedule.epochs


@pytest.mark.parametrize(
    ("clients", "cohort"),
    [(1, 1), (39, 39), (41, 40), (10_000, 40), (0.1, 4), (0.26, 10), (0.001, 1), (0.999, 40), ("all", 40)],
)
def test_a_cohort_is_never_more_than_there_are_and_never_nobody(clients: Any, cohort: int) -> None:
    schedule = Schedule(clients=clients)
    assert schedule.cohort(FORTY) == cohort
    assert from_dict(Schedule, as_dict(schedule)) == schedule
    assert type(as_dict(schedule)["clients"]) is type(clients)


@pytest.mark.parametrize("text", ["1.0", "0", "0.0", "-1", "-0.5", "1.5", "40.0", "some", "true", "'3'"])
def test_what_could_be_meant_two_ways_is_refused(text: str, tmp_path: Path) -> None:
    given = parse_settings([f"clients={text}"], ["sfpl"])["sfpl"]
    with pytest.raises(SettingError, match=r"\.clients: input should be .* or 'all', but it is"):
        from_dict(Schedule, given)
    with pytest.raises(SettingError, match=r"\.clients: input should be .* or 'all', but it is"):
        read_clients(text, tmp_path)


@pytest.mark.parametrize(("text", "clients"), [("1", 1), ("0.1", 0.1), ("all", "all"), ("500", 500)])
def test_the_command_line_and_a_file_say_the_same(text: str, clients: Any, tmp_path: Path) -> None:
    given = parse_settings([f"clients={text}"], ["sfpl"])["sfpl"]["clients"]
    for value in (given, read_clients(text, tmp_path)):
        assert (value, type(value)) == (clients, type(clients))
        assert Schedule(clients=value).clients == clients


def read_clients(text: str, folder: Path) -> Any:
    file = folder / "fit.yaml"
    file.write_text(f"data: synth\nmodel:\n  name: sfpl\n  clients: {text}\n", encoding="utf-8")
    read = load_config(file)
    assert isinstance(read, FitConfig)
    return read.model["clients"]
