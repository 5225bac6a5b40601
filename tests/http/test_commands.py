"""The commands as a person meets them: what is wrong is said in one sentence, with its exit code."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import time
import urllib.request
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.aggregation.weighting import Weighting
from murmura.algorithms import ALGORITHMS, algorithm
from murmura.cli.app import app
from murmura.core.contract import FederationInfo
from murmura.core.errors import MurmuraError
from murmura.core.settings import as_dict, field_names
from murmura.server.coordinator.setup import configured, guarded
from tests.http.certificates import certificate
from tests.http.network import people
from tests.http.processes import MURMURA, Processes, write_table
from tests.ports import free_ports

OPEN = ("--admission", "open")


def refused(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    error = result.exception
    assert isinstance(error, MurmuraError), (result.output, error)
    assert str(error).endswith((".", "?"))
    return error.exit_code, str(error)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(people(), tmp_path / "likes.csv")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--like", "TABLE"], 2, "needs the addresses of two aggregators, but has 0"),
        (["--like", "TABLE", "--aggregator", "https://a", "--aggregator", "https://a"], 2, "but has 1"),
        (
            ["--like", "TABLE", "--aggregator", "http://a", "--aggregator", "https://b"],
            2,
            "must be an https address",
        ),
        (["--like", "TABLE", "--readable", "--host", "0.0.0.0"], 2, "must be an https address"),
        (["--like", "TABLE", "--readable", "--behind-proxy", "*"], 2, "'loopback', an address or a network"),
        ([], 2, "from --items FILE or from --like DATA"),
        (["--like", "TABLE", "--readable"], 2, "needs the key of whoever invites"),
        (["--like", "TABLE", "--readable", *OPEN], 2, "at least the minimum cohort of 100, but there are 12"),
        (["--like", "TABLE", "--readable", *OPEN, "--minimum", "10", "-S", "clients=1"], 2, "but there are 1;"),
        (["--like", "TABLE", "--readable", "--hold", "60"], 2, "must end before the round does"),
        (["--like", "TABLE", "--model", "cfpk"], 2, "did you mean 'cfpl'"),
        (["--like", "TABLE", "-S", "channel=none"], 2, "say --readable for the other one"),
        (
            ["--like", "TABLE", "--readable", *OPEN, "-S", "minimum_cohort=13"],
            2,
            "minimum cohort of 13, but there are 12",
        ),
        (["--items", "nowhere.txt"], 3, "must list items, one per line"),
        (["--like", "TABLE", "--readable", "--tls-cert", "TABLE"], 2, "both --tls-cert and --tls-key"),
    ],
)
def test_serve_refuses_what_cannot_work(
    words: list[str], code: int, sentence: str, table: Path, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    given = [str(table) if word == "TABLE" else word for word in words]
    clients = [] if any("clients=" in word for word in words) else ["-S", "clients=12"]
    got, message = refused("serve", "--state", tmp_path / "s", "--port", port, *given, *clients)
    assert got == code, message
    assert sentence in message


@pytest.mark.parametrize("model", ["fed-item-knn", "fed-order"])
def test_serve_refuses_sums_without_noise_unless_that_is_said(model: str, table: Path, tmp_path: Path) -> None:
    assert serve_sums(table, tmp_path, model) == (
        2,
        f"{model} must have noise in its sums, but has none, and everybody can read sums without noise. Serve "
        "fed-ease, or say --exact.",
    )
    assert not (tmp_path / "s" / "operator.token").exists()


def test_serve_says_why_settings_of_exact_sums_do_not_fit(table: Path, tmp_path: Path) -> None:
    assert serve_sums(table, tmp_path, "fed-ease", "-S", "reg=100") == (
        2,
        "fed-ease.reg must be left out where epsilon is given, but it is 100.0. Epsilon is 4 unless --exact "
        "asks for sums without noise.",
    )


def test_noise_that_leaves_nothing_is_refused_before_anybody_sends(table: Path, tmp_path: Path) -> None:
    code, message = serve_sums(table, tmp_path, "fed-ease", "-S", "epsilon=0.5")
    assert code == 2
    numbers = r"the strongest common direction is 12 where noise alone makes (\d+)"
    (noise,) = re.findall(numbers, message)
    (enough,) = re.findall(r"About (\d+) people would do; or raise epsilon", message)
    assert int(noise) <= int(enough) <= int(noise) + 10


@pytest.mark.parametrize(
    ("clients", "rows", "asked", "least", "cap"),
    [(60, 900, None, 10, 100), (1000, 90_000, None, 16, 360), (1000, 90_000, 0, 6, 360)],
)
def test_few_malicious_devices_can_add_no_rare_item_to_the_pairs(
    clients: int, rows: int, asked: int | None, least: int, cap: int
) -> None:
    """Four more owners than `least`, or one for each hundred places; at most four mean histories of one."""
    info = FederationInfo(50, np.arange(50, dtype=np.int32), clients, rows)
    exact, _ = configured("fed-ease", {"least": 6}, "secure-sum", exact=True)
    made, said = guarded(exact, info, asked)
    assert {name: as_dict(made)[name] for name in ("least", "cap")} == {"least": least, "cap": cap}
    assert said.startswith(f"pairs are of items with at least {least} owners, {least - 6} of them against")
    noisy, _ = configured("fed-ease", {}, "secure-sum")
    assert guarded(noisy, info) == (noisy, "")


def serve_sums(table: Path, folder: Path, model: str, *more: str) -> tuple[int, str]:
    pair = ("--aggregator", "http://127.0.0.1:1", "--aggregator", "http://127.0.0.1:2")
    given = ("--like", table, "--model", model, "--minimum", 10, *pair, *more)
    return refused("serve", "--state", folder / "s", *given)


def test_serve_refuses_settings_that_hold_something_private(table: Path, tmp_path: Path) -> None:
    given = ("--like", table, "--model", "fedsplit", "--readable", "-S", "tuned={a: {factors: 2}}")
    code, message = refused("serve", "--state", tmp_path / "s", *given)
    assert code == 2
    assert "must hold nothing private, but fedsplit.tuned was made from private data; leave it out." in message
    assert not (tmp_path / "s" / "operator.token").exists()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_setting_with_room_for_private_data_is_marked(name: str) -> None:
    """What is published in every manifest is numbers and names; what can hold more than one is marked.

    Apart from how clients are weighted and what a network looks like: an operator names it, no data do.
    """
    method, named = algorithm(name)().algorithm(), {*field_names(Weighting), "filters"}
    plain = {key: value for key, value in as_dict(method).items() if key not in named}
    roomy = [key for key, value in plain.items() if isinstance(value, dict | list)]
    marked = [field.name for field in fields(method) if field.metadata.get("private")]  # type: ignore[arg-type]
    assert roomy == marked


def test_only_asking_for_its_key_makes_somebody_an_admitter(tmp_path: Path) -> None:
    place = tmp_path / "me"
    refused("invite", "list", "--state", place)
    assert not place.exists()
    made = CliRunner().invoke(app, ["invite", "key", "--state", str(place)])
    assert re.fullmatch("[0-9a-f]{64}\n", made.stdout)
    assert "say --federation URL" in refused("invite", "create", "--state", place)[1]
    assert "there must be an invitation 7" in refused("invite", "revoke", "--state", place, 7)[1]


def test_a_coordinator_that_does_not_answer_is_exit_4(table: Path, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    token = tmp_path / "token"
    token.write_text("x", encoding="utf-8")
    for words in (
        ["join", url, "--state", tmp_path / "me", "--data", table, "--user", "0"],
        ["devices", url, "--data", table],
        ["rounds", "list", url, "--token-file", token],
    ):
        code, message = refused(*words)
        assert code == 4
        assert "must answer, but does not" in message
    assert not (tmp_path / "me" / "device.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["join", "http://x", "--first-contact", "--state", "S"], 2, "--data must name a file"),
        (
            ["join", "http://x", "--first-contact", "--state", "S", "--data", "TABLE"],
            3,
            "say whose with --user",
        ),
        (["join", "http://x", "--first-contact", "--state", "S", "--data", "TABLE", "--user", "99"], 3, "user"),
        (["join", "http://x", "--state", "S", "--fingerprint", "12"], 2, "64 hexadecimal digits"),
        (["join", "https://x", "--state", "S", "--data", "TABLE"], 2, "must come with a fingerprint"),
        (["join", "murmura://x#2.zz", "--state", "S"], 2, "copy it whole"),
        (["log", "verify", "murmura:nothing"], 2, "copy it whole"),
        (["invite", "create", "--state", "S"], 2, "must be the folder of whoever admits"),
        (["invite", "list", "--state", "S"], 2, "must be the folder of whoever admits"),
        (["join", "http://x", "--first-contact", "--state", "S", "--simulate", "a:b"], 2, "SEED:CLIENT"),
        (
            ["join", "http://x", "--first-contact", "--state", "S", "--ca", "nowhere.pem", "--data", "TABLE"],
            2,
            "certificate file",
        ),
        (
            ["join", "http://x", "--first-contact", "--state", "S", "--data", "TABLE", "--user", "0"],
            6,
            "must be an https address",
        ),
        (
            ["join", "https://x", "--first-contact", "--state", "S", "--proxy", "ftp://y"],
            2,
            "address of an HTTP proxy",
        ),
        (["aggregate", "seed", "--state", "S", "--coordinator", "http://x"], 2, "must be an https address"),
        (
            [
                "join",
                "http://127.0.0.1",
                "--disclosure=block",
                "--state",
                "S",
                "--data",
                "TABLE",
                "--user",
                "0",
            ],
            3,
            "needs a time for every row",
        ),
        (["leave", "--state", "S"], 4, "join a federation first"),
        (["consent", "--state", "S"], 4, "join a federation first"),
        (["rounds", "start", "http://x", "--token-file", "S"], 2, "operator's token"),
        (
            ["aggregate", "seed", "--state", "S", "--coordinator", "http://x", "--coordinator-key", "zz"],
            2,
            "64 hexadecimal digits",
        ),
    ],
)
def test_other_commands_refuse_what_cannot_work(
    words: list[str], code: int, sentence: str, table: Path, tmp_path: Path
) -> None:
    places = {"TABLE": str(table), "S": str(tmp_path / "s")}
    got, message = refused(*(places.get(word, word) for word in words))
    assert (got, sentence in message) == (code, True), message


@pytest.mark.process
def test_readable_over_tls_is_labelled_everywhere(tmp_path: Path) -> None:
    """One real run: certificate files, consent, times that a device keeps, the label, leaving."""
    data = replace(people(), time=10**9 + np.arange(len(people())))
    table = write_table(data, tmp_path / "likes.csv")
    (port,), (cert, key) = free_ports(1), certificate(tmp_path)
    url, state, processes = f"https://127.0.0.1:{port}", tmp_path / "s", Processes(tmp_path)
    serving = ("--state", state, "--like", table, "--port", port, "--tls-cert", cert, "--tls-key", key)
    training = ("-S", "rounds=1", "-S", "clients=12", "-S", "prior=false", "--minimum", 10, "--seed", 5)
    times = ("--round-seconds", 600, "--hold", 0, "--spread", 0, "--wait-for", 12, "--start")
    context = ssl.create_default_context(cafile=str(cert))
    try:
        processes.start("serve", "serve", "--readable", "--admission", "open", *serving, *training, *times)
        while "coordinator at" not in processes.log("serve"):
            assert processes.running["serve"].poll() is None, processes.log("serve")
            time.sleep(0.1)
        common = ("--minimum", 10, "--ca", cert, "--data", table, "--user", 0, "--top", 3)
        processes.start(
            "me", "join", url, "--state", tmp_path / "me", *common, "--readable", "--simulate", "5:0",
            "--disclosure", "block",
        )  # fmt: skip
        words = ("--data", table, "--first", 1, "--seed", 5, "--readable", "--ca", cert)
        processes.start("fleet", "devices", url, *words)
        for name in ("me", "fleet"):
            processes.wait(name)
        assert refused("devices", url, "--data", table, "--n", 13, "--ca", cert) == (
            2,
            f"devices must be users 0 to 11 of {table}, but 0 to 12 were wanted.",
        )
        with urllib.request.urlopen(f"{url}/federation", context=context) as reply:
            told = json.loads(reply.read())
        listed = subprocess.run(
            [*MURMURA, "rounds", "list", url, "--token-file", state / "operator.token", "--ca", cert],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        kept = json.loads((tmp_path / "me" / "history.json").read_text())
        shown = CliRunner().invoke(app, ["consent", "--state", str(tmp_path / "me"), "--no-train"])
        left = subprocess.run(
            [*MURMURA, "leave", "--state", tmp_path / "me", "--ca", cert],
            capture_output=True, text=True, check=True,
        ).stderr  # fmt: skip
    finally:
        processes.stop()
    assert "warning: everyone may join: one person with many devices can fill a sum." in processes.log("serve")
    assert (told["state"], told["label"]) == ("finished", "the server can read each update")
    assert "the server can read each update" in processes.log("serve")
    assert "the server can read each update" in listed
    assert json.loads(shown.stdout)["train"] is False
    assert data.time is not None
    assert sorted(like["time"] for like in kept) == data.time[data.user == 0].tolist()
    assert re.search(r"for you: \d+, \d+, \d+\n", processes.log("me"))
    assert re.search(r"cannot be recalled: 1 uploads, [\d,]+ bytes, in rounds 0 to 0", left)
    assert not (tmp_path / "me").exists()
