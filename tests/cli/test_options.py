"""How the text of flags becomes values, and what is said when it cannot."""

from pathlib import Path

import pytest

from murmura.cli.options import new_folder
from murmura.core.errors import SettingError
from murmura.core.flag_text import parse_cutoffs, parse_models, parse_settings, parse_value


def test_values_are_read_as_yaml_reads_them() -> None:
    read = [parse_value(text) for text in ("3", "0.5", "1e-3", "true", "null", "cosine", "[1, 2]", "a: [")]
    assert read == [3, 0.5, 1e-3, True, None, "cosine", [1, 2], "a: ["]


def test_settings_go_to_their_model() -> None:
    given = ["user-knn.k=100", "ease.l2=3e2", "sfpl+.pi=0.9"]
    found = parse_settings(given, ["user-knn", "ease", "sfpl+"])
    assert found == {"user-knn": {"k": 100}, "ease": {"l2": 300.0}, "sfpl+": {"pi": 0.9}}
    assert parse_settings(["k=7"], ["user-knn"]) == {"user-knn": {"k": 7}}


@pytest.mark.parametrize("text", ["k", "=3", "knn.k=1", "k=3"])
def test_a_setting_without_a_model_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"for example -S user-knn\."):
        parse_settings([text], ["user-knn", "ease"])


def test_models_may_have_labels() -> None:
    assert parse_models("ease, half=ease") == {"ease": {"name": "ease"}, "half": {"name": "ease"}}
    with pytest.raises(SettingError, match="'ease' twice"):
        parse_models("ease,ease")
    with pytest.raises(SettingError, match="at least one model"):
        parse_models(" , ")


def test_cutoffs() -> None:
    assert parse_cutoffs("10,1,10") == (1, 10)
    assert parse_cutoffs("") is None
    for bad in ("0", "ten", "1,,2"):
        with pytest.raises(SettingError, match="--at must be whole numbers"):
            parse_cutoffs(bad)


def test_a_new_folder_never_hits_an_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = new_folder(None, "../ml 1m.csv", "fpl")
    assert first.parent == Path("runs")
    first.mkdir(parents=True)
    assert new_folder(None, "../ml 1m.csv", "fpl") != first
    assert new_folder(Path("x"), "a") == Path("x")
