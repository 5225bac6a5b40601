"""The whole audit, as a person runs it: a run folder, the command, the report."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.errors import MurmuraError, RunError, SettingError
from murmura.engine.run_folder import Run
from murmura.lab.audits.audit import ATTACKS, attack, attacks_on, audit_folder, audit_run, read_audits
from murmura.lab.audits.colluding_clients import PoisoningAttack
from murmura.report import build
from murmura.runtimes.simulation import simulated

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
SMALL = ["-S", "largest=5", "-S", "factors=3", "-S", "patterns=5", "-S", "epochs=40", "-S", "joint_epochs=50"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    rows = [
        f"{user},{item},{random.integers(1, 6)}"
        for user in range(60)
        for item in np.flatnonzero(random.random(90) < np.linspace(0.7, 0.25, 90))
    ]
    path.write_text("\n".join(["user,item,value", *rows]) + "\n")
    return path


def murmura(*words: str) -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout, result.exception


@pytest.fixture(scope="module")
def folder(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "audited"
    code, text, why = murmura("audit", "--data", str(table), "--out", str(out), "--json", *SMALL)
    assert code == 0, why
    rows = [json.loads(line) for line in text.splitlines()]
    exact = next(row for row in rows if row["attack"] == "fedsplit-items")
    assert exact["certain recall"] == exact["certain precision"] == exact["pm-AUC"] == 1
    assert next(row for row in rows if row["attack"] == "popularity")["pm-AUC"] == 0.5
    assert len([row for row in rows if row.get("kind") == "ratings"]) == 2 * 21
    return out


def test_the_folder_keeps_what_was_found_and_no_letter(folder: Path) -> None:
    (found,) = read_audits(Run.open(folder)).values()
    assert {one.attack for one in found.findings} == {
        "fedsplit-items", "fedsplit-learned", "fedsplit-members", "popularity", "random",
    }  # fmt: skip
    assert not [path for path in folder.iterdir() if "letter" in path.name or "update" in path.name]


def test_an_audit_of_the_folder_finds_the_same_again(folder: Path) -> None:
    before = (folder / "audit.json").read_bytes()
    audit_run(folder)
    assert (folder / "audit.json").read_bytes() == before


def test_the_report_shows_it(folder: Path) -> None:
    text = build(folder).read_text()
    assert 'id="audit"' in text
    assert "fedsplit-items" in text
    assert 'id="audit-hints"' in text
    assert (folder / "report-tables" / "audit-ratings.csv").exists()


def test_one_attack_alone(folder: Path) -> None:
    found = audit_run(folder, ["fedsplit-members"])
    assert [one.of for one in found.findings] == ["person"] * 3
    assert not found.points


def test_seeds_are_pooled(folder: Path) -> None:
    one, two = (audit_run(folder, ["fedsplit-items"], seeds=seeds) for seeds in (1, 2))
    assert two.clients > one.clients
    assert two.findings[0].victims > one.findings[0].victims
    audit_run(folder)


@pytest.fixture(scope="module")
def compared(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two FedSPLITs, one with decoys, updates of another kind, and two that send none; audited."""
    out = tmp_path_factory.mktemp("runs") / "compared"
    settings = [f"{label}.{one}" for label in ("plain", "covered") for one in SMALL if one != "-S"]
    settings += ["covered.unrated=decoys", "fedsplit-svd.largest=5"]
    flags = [word for one in settings for word in ("-S", one)]
    models = "plain=fedsplit,covered=fedsplit,fedsplit-svd,item-means,cnmf"
    words = (
        "compare",
        "--data",
        str(table),
        "--protocol",
        "ratings",
        "--models",
        models,
        "--seeds",
        "2",
        *flags,
    )
    code, _, why = murmura(*words, "--out", str(out))
    assert code == 0, why
    code, _, why = murmura("audit", str(out))
    assert code == 0, why
    return out


def test_a_comparison_is_audited_entry_by_entry_beside_its_accuracy(compared: Path) -> None:
    code, text, why = murmura("audit", str(compared), "--json")
    assert code == 0, why
    rows = [json.loads(line) for line in text.splitlines()]
    assert {row["method"] for row in rows} == {"plain", "covered", "fedsplit-svd"}
    exact = {row["method"]: row["pm-AUC"] for row in rows if row["attack"] == "fedsplit-items"}
    assert exact["plain"] == exact["fedsplit-svd"] == 1 > exact["covered"]
    lines = (compared / "report-tables" / "audit.csv").read_text().splitlines()
    assert lines[0].startswith("model,MSE,RMSE/ratings,kB up/client,fedsplit-items pm-AUC")
    assert [line.split(",")[0] for line in lines[1:]] == ["plain", "covered", "fedsplit-svd", "no update read"]
    assert 'id="audit-leaks"' in (compared / "report.html").read_text()


def test_entries_that_were_audited_are_kept_and_a_stopped_audit_goes_on(compared: Path) -> None:
    run = Run.open(compared)
    whole = run.read("audit.json")
    part = {**whole, "entries": {"plain": {**whole["entries"]["plain"], "letters": -1}}}  # as if stopped
    run.write_json("audit.json", part)
    found = audit_folder(compared)
    assert found["plain"].letters == -1
    assert run.read("audit.json")["entries"]["covered"] == whole["entries"]["covered"]
    run.write_json("audit.json", whole)


def test_a_whole_audit_is_not_lost_to_a_part_of_it(compared: Path) -> None:
    whole = (compared / "audit.json").read_bytes()
    other = audit_folder(compared, ["fedsplit-items"])
    assert {one.attack for one in other["plain"].findings} == {"fedsplit-items", "popularity", "random"}
    assert (compared / "audit.json").read_bytes() == whole


@pytest.mark.parametrize("kept", ["[]", '{"attacks": []}', '{"attacks": [], "entries": null}', "{"])
def test_a_damaged_audit_of_a_comparison_is_refused(compared: Path, kept: str) -> None:
    file = compared / "audit.json"
    whole = file.read_bytes()
    file.write_text(kept)
    with pytest.raises(RunError, match=r"audit\.json"):
        audit_folder(compared)
    file.write_bytes(whole)


def test_comparisons_that_cannot_be_audited_are_refused(compared: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("models: {a: {name: fedsplit}}\n")
    with pytest.raises(RunError, match=r"a run that has begun"):
        audit_folder(tmp_path)
    with pytest.raises(SettingError, match="the attacks fpl-signs can be made on"):
        audit_folder(compared, ["fpl-signs"])
    code, _, why = murmura("audit", str(compared), "--seeds", "3")
    assert code != 0
    assert "has the comparison's seeds" in str(why)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "either a run folder or --data, but has none"),
        (("--data", "ml-1m", "--model", "ease"), "'ease' is none"),
        (("--data", "ml-1m", "--model", "fedsplitt"), "'fedsplitt' is none"),
        (("nowhere",), "must be a run folder"),
    ],
)
def test_what_cannot_be_audited_is_refused(words: tuple[str, ...], said: str) -> None:
    code, _, why = murmura("audit", *words)
    assert code != 0
    assert isinstance(why, MurmuraError)
    assert said in str(why)


def test_what_only_a_new_fit_needs_is_refused_beside_a_run(folder: Path) -> None:
    code, _, why = murmura("audit", str(folder), "--seed", "0", "-S", "epochs=3")
    assert code != 0
    assert "has the run's own model, settings and seed, but got settings, seed" in str(why)


def test_wrong_attacks_and_damaged_files_are_refused(folder: Path) -> None:
    with pytest.raises(SettingError, match="did you mean 'fedsplit-items'"):
        audit_run(folder, ["fedsplit-item"])
    run = Run.open(folder)
    kept = run.read("audit.json")
    run.write_json("audit.json", {**kept, "findings": [{"attack": 1}]})
    with pytest.raises(RunError, match=r"audit\.json is damaged"):
        read_audits(run)
    run.write_json("audit.json", kept)


@pytest.mark.smoke
def test_every_attack_is_registered_under_its_name_and_described() -> None:
    page = PAGE.read_text()
    for name in ATTACKS:
        assert attack(name).name == name
        one = attack(name)
        assert one.against or one.reads == "sums" or isinstance(one, PoisoningAttack)  # against anyone
        assert f"`{name}`" in page
    assert [one.name for one in attacks_on(simulated("fedsplit").preset.algorithm())]


def test_labels_are_for_one_run(compared: Path) -> None:
    code, _, why = murmura("audit", str(compared), "--user-labels", "users.csv")
    assert code != 0
    assert "audit of one run" in str(why)
