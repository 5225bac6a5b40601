"""What the commands print, where, and with which exit code."""

import json
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from tests.cli.processes import (
    MURMURA,
    PATIENCE,
    environment,
    killed_at,
    murmura,
    murmura_process,
    ratings,
    wait_for,
)


def test_compare_prints_one_json_object_per_model(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    flags = ("--models", "mostpop,user-knn", "-S", "user-knn.k=5", "--seeds", "2", "--json")
    done = murmura("compare", "--data", str(file), *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["model"] for line in lines] == ["mostpop", "user-knn"]
    assert all(
        list(line)[:7] == ["model", "seeds", "P@10", "R@10", "nDCG@10", "IC@10", "G@10"] for line in lines
    )
    assert all(line["seeds"] == 2 for line in lines)
    assert lines[1]["P@10"] > lines[0]["P@10"]
    assert "run folder: runs/" in done.stderr


def test_the_metrics_of_bias_at_two_cutoffs(tmp_path: Path) -> None:
    metrics = "nDCG,HR,IC,G,SE,ACLT,PopREO,PopRSP"
    flags = ("--models", "mostpop", "--at", "1,10", "--metrics", metrics, "--json")
    done = murmura("compare", "--data", str(ratings(tmp_path)), *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    keys = [key for key in json.loads(done.stdout) if "@" in key]
    assert keys == [f"{key}@{k}" for k in (1, 10) for key in metrics.split(",")]


def test_a_table_without_json(tmp_path: Path) -> None:
    done = murmura(
        "compare", "--data", str(ratings(tmp_path)), "--models", "mostpop", "--at", "1,5", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "mostpop" in done.stdout
    assert "P@1 " in done.stdout
    assert "P@5" in done.stdout


def test_quiet_says_nothing_but_the_data(tmp_path: Path) -> None:
    done = murmura(
        "-q", "compare", "--data", str(ratings(tmp_path)), "--models", "mostpop", "--json", cwd=tmp_path
    )
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("compare", "--data", "ml-1n"), 2, "did you mean 'ml-1m'"),
        (("compare", "--data", "FILE", "--models", "eas"), 2, "did you mean 'ease'"),
        (("compare", "--data", "FILE", "--models", "ease", "-S", "ease.lamda=1"), 2, "unknown setting"),
        (("compare", "--data", "FILE", "--protocol", "flp"), 2, "did you mean 'fpl'"),
        (("compare", "--data", "absent.csv", "--models", "mostpop"), 3, "absent.csv"),
        (
            ("compare", "--data", "FILE", "--models", "mostpop", "--protocol", "fpl"),
            3,
            "must leave at least one row",
        ),
        (("compare", "--nonsense"), 2, "No such option"),
        (("report", "nowhere"), 4, "nowhere"),
        (("evaluate", "nowhere"), 4, "run folder"),
        (("recommend", "nowhere"), 2, "exactly one"),
        (("config", "check", "nowhere.yaml"), 2, "readable file"),
        (("frobnicate",), 2, "frobnicate"),
    ],
)
def test_every_mistake_is_one_sentence_and_a_code(
    tmp_path: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    file = ratings(tmp_path)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    done = murmura(*(str(file) if part == "FILE" else part for part in arguments), cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.rglob("*")) == before, "nothing may be written"


@pytest.mark.slow
@pytest.mark.parametrize("model", [pytest.param("ease", marks=pytest.mark.smoke), "bpr-mf", "sfpl+"])
def test_fit_evaluate_recommend(tmp_path: Path, model: str) -> None:
    file = ratings(tmp_path)
    fitted = murmura("fit", "--model", model, "--data", str(file), "--out", "mine", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    assert not (tmp_path / "mine" / "metrics.json").exists(), "fitting must not open the test part"
    scored = murmura("evaluate", "mine", "--json", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    direct = murmura("compare", "--data", str(file), "--models", model, "--json", cwd=tmp_path)
    assert json.loads(scored.stdout)["P@10"] == json.loads(direct.stdout)["P@10"]
    known = murmura("recommend", "mine", "--user", "u00", "--k", "3", "--json", cwd=tmp_path)
    assert known.returncode == 0, known.stderr
    assert [json.loads(line)["rank"] for line in known.stdout.splitlines()] == [1, 2, 3]
    stranger = murmura("recommend", "mine", "--likes", "m00,m03", "--k", "3", "--json", cwd=tmp_path)
    items = [json.loads(line)["item"] for line in stranger.stdout.splitlines()]
    assert len(items) == 3
    assert not {"m00", "m03"} & set(items)


def test_reasons_are_own_items(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    murmura("fit", "--model", "bpr-mf", "--data", str(file), "--out", "mine", cwd=tmp_path)
    done = murmura("recommend", "mine", "--user", "u00", "--why", "--json", cwd=tmp_path)
    own = {line.split(",")[1] for line in file.read_text().splitlines() if line.startswith("u00,")}
    reasons = [json.loads(line) for line in done.stdout.splitlines()]
    assert reasons
    assert {reason["similar to"] for reason in reasons} <= own
    shown = murmura("recommend", "mine", "--user", "u00", "--why", cwd=tmp_path)
    assert "similar to" in shown.stdout
    assert "because" not in shown.stdout
    none = murmura("recommend", "mine", "--user", "nobody", cwd=tmp_path)
    assert (none.returncode, "'nobody' is not among" in none.stderr) == (3, True)


@pytest.mark.slow
def test_reasons_of_features_add_up_and_because_is_earned(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    lines = file.read_text().splitlines()
    genres = [["genre"], *([f"g{int(line.split(',')[1][1:]) % 7}"] for line in lines[1:])]
    file.write_text("\n".join(f"{line},{genre[0]}" for line, genre in zip(lines, genres)) + "\n")
    for model in ("kgflex", "kgflex-hybrid"):
        made = murmura("fit", "--model", model, "--data", str(file), "--out", model, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        for who in (("--user", "u00"), ("--likes", "m00,m03")):
            done = murmura("recommend", model, *who, "--why", "--k", "3", "--json", cwd=tmp_path)
            found = [json.loads(line) for line in done.stdout.splitlines()]
            assert len(found) == 3
            for line in found:
                assert sum(part["term"] for part in line["terms"]) == pytest.approx(line["score"], abs=1e-9)
                known = {part["name"].partition(":")[0] for part in line["terms"]}
                assert known <= {"genre", "people like you"}
            shown = murmura("recommend", model, *who, "--why", "--k", "3", cwd=tmp_path)
            earned = any(part["because"] for line in found for part in line["terms"])
            assert ("because" in shown.stdout) == earned
            assert "similar to" not in shown.stdout
    (measured,) = murmura("analyse", "fidelity", "kgflex", "--json", cwd=tmp_path).stdout.splitlines()
    assert json.loads(measured)["model"] == "kgflex"
    kept = murmura("analyse", "features", "kgflex", "--json", cwd=tmp_path).stdout.splitlines()
    assert [json.loads(line)["features"] for line in kept] == ["5", "10", "50", "100", "all"]
    assert murmura("analyse", "features", "kgflex-hybrid", cwd=tmp_path).returncode == 0


@pytest.mark.process
@pytest.mark.smoke
@pytest.mark.parametrize("arguments", [("version",), ("frobnicate",), ("report", "nowhere")])
def test_a_process_says_and_returns_what_the_entry_point_does(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    here, there = murmura(*arguments, cwd=tmp_path), murmura_process(*arguments, cwd=tmp_path)
    assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)


@pytest.mark.process
def test_ctrl_c_leaves_a_usable_folder(tmp_path: Path) -> None:
    """The second model is stopped in the middle; the first stays, and the same command goes on."""
    file = ratings(tmp_path)
    arguments = ["compare", "--data", str(file), "--models", "mostpop,bpr-mf", "--out", "mine"]
    slow = [*arguments, "-S", "bpr-mf.epochs=2000000"]
    running = subprocess.Popen(
        [*MURMURA, *slow], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
    )
    wait_for((tmp_path / "mine" / "bpr-mf-seed0" / "status.json").exists, running)
    time.sleep(0.5)  # mostly in its training by then; before that it must end in the same way
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, stderr
    assert "what was finished is kept" in stderr
    assert json.loads((tmp_path / "mine" / "status.json").read_text())["status"] == "interrupted"
    assert json.loads((tmp_path / "mine" / "mostpop-seed0" / "status.json").read_text())["status"] == "done"
    page = murmura("report", "mine", cwd=tmp_path)
    assert page.returncode == 0, page.stderr


def test_config_files_on_the_command_line(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    config = tmp_path / "c.yaml"
    config.write_text(f"data: {file}\nmodels:\n  mostpop: {{}}\n  knn: {{name: user-knn, k: 5}}\n")
    assert murmura("config", "check", "c.yaml", cwd=tmp_path).returncode == 0
    done = murmura("compare", "--config", "c.yaml", "-S", "knn.k=3", "--json", cwd=tmp_path)
    assert [json.loads(line)["model"] for line in done.stdout.splitlines()] == ["mostpop", "knn"]
    config.write_text(f"data: {file}\nmodels:\n  knn: {{name: user-knn, kk: 5}}\n")
    wrong = murmura("compare", "--config", "c.yaml", cwd=tmp_path)
    assert (wrong.returncode, "c.yaml:3: unknown setting 'models.knn.kk'" in wrong.stderr) == (2, True)


def test_doctor_and_version(tmp_path: Path) -> None:
    assert murmura("version", cwd=tmp_path).stdout.strip()
    checks = [json.loads(line) for line in murmura("doctor", "--json", cwd=tmp_path).stdout.splitlines()]
    assert {"python", "numba", "extra demo", "data folder"} <= {check["check"] for check in checks}
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = {check["check"]: check for check in checks if check["check"].startswith("extra ")}
    assert set(extras) >= {f"extra {name}" for name in ("demo", "neural", "search", "serve", "he")}
    assert {name.removeprefix("extra ") for name in extras} <= set(project["optional-dependencies"])
    shown = murmura("doctor", cwd=tmp_path).stdout
    for name, check in extras.items():
        line = f"pip install 'murmura[{name.removeprefix('extra ')}]'"  # brackets are no mark-up
        assert (line in shown) == (check["state"] == "not installed") == (check["advice"] == line)


def test_config_show_groups_settings_and_says_what_each_means(tmp_path: Path) -> None:
    alone = murmura("config", "show", "ease", cwd=tmp_path).stdout
    assert "the ridge" in alone
    shown = murmura("config", "show", "sfpl+", cwd=tmp_path).stdout
    titles = ("sfpl+: ", "Clients per round", "How much of what they like", "What happens to an update")
    assert all(title in shown for title in titles)
    assert "learning rate, of clients and server" in " ".join(shown.split())


@pytest.mark.process
def test_a_killed_federated_fit_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    flags = ["fit", "--model", "sfpl+", "--data", str(file), "-S", "epochs=10", "--checkpoint-every", "500"]
    killed_at("checkpoint.npz", 3, *flags, "--out", "killed", cwd=tmp_path)
    assert (tmp_path / "killed" / "checkpoint.npz").exists()
    assert not (tmp_path / "killed" / "model.npz").exists()
    for name in ("killed", "whole"):
        done = murmura(*flags, "--out", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    whole = (tmp_path / "whole" / "model.npz").read_bytes()
    assert (tmp_path / "killed" / "model.npz").read_bytes() == whole
