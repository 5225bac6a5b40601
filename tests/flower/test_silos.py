"""Organisations with their people: any cut gives the simulation's bits, and no message counts twice."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.core.errors import DataError, FederationError, RunError, SettingError
from murmura.core.files import read_archive
from murmura.core.interactions import Interactions
from murmura.server.described import describe_federation
from murmura.server.organisations.folder import (
    SUPERLINK_READS,
    SUPERLINK_READS_EACH,
    SiloTerms,
    SiloUsers,
    own_users,
)
from murmura.server.organisations.server import Ask, model_digest, ranges_of, serve_silos
from murmura.server.organisations.silo import Silo, SiloReply, SiloRequest
from tests.cli.processes import murmura
from tests.flower.federations import CHANNEL, SEED, cut, interactions

METHODS: dict[str, tuple[dict[str, Any], bool]] = {
    "pfpl+": ({**CHANNEL, "rounds": 3, "clients": "all"}, False),
    "cfpl": ({**CHANNEL, "rounds": 2, "clients": 20}, False),
    "fcf": ({**CHANNEL, "epochs": 2, "ring": 24, "bits": 12, "block": "half", "pi": 0.5}, False),
    "fed-ease": (CHANNEL, False),
    "fed-order": (CHANNEL, False),
    "fedmf": ({**CHANNEL, "minimum_cohort": 1, "epochs": 2}, True),
    "fedsplit": ({}, True),
}


class Killed(Exception):  # noqa: N818 -- what is killed has no error
    """As when the server is killed."""


def silos_of(folder: Path, count: int = 2) -> dict[int, Silo]:
    return {100 + number: Silo(folder / f"silo-{number}") for number in range(count)}


def asked(silos: Mapping[int, Silo], times: int = 1) -> Ask:
    """Every message is delivered so often, and the last reply is taken."""

    def ask(messages: Mapping[int, bytes]) -> dict[int, bytes]:
        for _ in range(times - 1):
            for node, message in reversed(list(messages.items())):
                silos[node].answer(message)
        return {node: silos[node].answer(message) for node, message in messages.items()}

    return ask


def served(terms: SiloTerms, silos: Mapping[int, Silo], ask: Ask, folder: Path) -> str:
    ranges = ranges_of(terms, {node: silo.introduce() for node, silo in silos.items()})
    f = serve_silos(terms, ranges, ask, folder / "server", SEED)
    assert f.plan.people.clients == 0
    return model_digest(f.published)


@pytest.mark.parametrize("name", METHODS)
def test_model_and_states_are_the_simulations_for_two_silos_and_three(name: str, tmp_path: Path) -> None:
    settings, ratings = METHODS[name]
    for count in (2, 3):
        folder = tmp_path / str(count)
        _, simulated = cut(name, settings, folder, count, ratings)
        silos = silos_of(folder, count)
        assert served(SiloTerms.read(folder / "terms"), silos, asked(silos), folder) == model_digest(
            simulated.model
        )
        parts = [silo.federation() for silo in silos.values()]
        for table, states in simulated.states.items():
            np.testing.assert_array_equal(np.concatenate([part.states[table] for part in parts]), states)
        disclosed = np.concatenate([part.tally.disclosed for part in parts])
        held = np.concatenate([np.diff(part.plan.people.start) for part in parts])
        np.testing.assert_array_equal(disclosed / held, simulated.ledger.disclosed)


def test_silo_ranks_with_the_final_model(tmp_path: Path) -> None:
    terms, simulated = cut("pfpl+", METHODS["pfpl+"][0], tmp_path)
    silos = silos_of(tmp_path)
    served(terms, silos, asked(silos), tmp_path)
    second = silos[101]
    np.testing.assert_array_equal(
        second.scores(3), simulated.score(np.array([second.held.first + 3], np.int32))[0]
    )


def test_a_silo_without_a_model_ranks_nothing(tmp_path: Path) -> None:
    cut("pfpl+", METHODS["pfpl+"][0], tmp_path)
    silo = Silo(tmp_path / "silo-0")
    user = str(silo.held.data.users.labels[0])
    with pytest.raises(RunError, match="silo-0 has no model yet; run the federation first"):
        silo.recommend(user, 3)


def test_repeated_messages_change_nothing(tmp_path: Path) -> None:
    terms, simulated = cut("cfpl", METHODS["cfpl"][0], tmp_path)
    silos = silos_of(tmp_path)
    assert served(terms, silos, asked(silos, times=3), tmp_path) == model_digest(simulated.model)
    parts = [silo.federation() for silo in silos.values()]
    np.testing.assert_array_equal(np.concatenate([part.states["p"] for part in parts]), simulated.states["p"])


@pytest.mark.parametrize("killed", range(1, 5))
def test_server_killed_between_any_two_messages_goes_on_from_its_checkpoint(
    killed: int, tmp_path: Path
) -> None:
    """The replies of the round at work are given again, and nobody trains twice."""
    terms, simulated = cut("fedmf", METHODS["fedmf"][0], tmp_path, ratings=True)
    silos, whole = silos_of(tmp_path), asked(silos_of(tmp_path))
    calls = 0

    def until_killed(messages: Mapping[int, bytes]) -> Mapping[int, bytes]:
        nonlocal calls
        calls += 1
        if calls == killed:
            first = min(messages)
            silos[first].answer(messages[first])  # one of them has trained already
            raise Killed
        return whole(messages)

    with pytest.raises(Killed):
        served(terms, silos, until_killed, tmp_path)
    assert served(terms, silos_of(tmp_path), whole, tmp_path) == model_digest(simulated.model)
    assert read_archive(tmp_path / "server" / "model.npz")[1]["read"] == SUPERLINK_READS


def test_a_silo_answers_no_other_request_for_a_round_it_has_answered(tmp_path: Path) -> None:
    terms, _ = cut("pfpl+", METHODS["pfpl+"][0], tmp_path)
    silo, seen = Silo(tmp_path / "silo-0"), list[bytes]()
    rest = silos_of(tmp_path)

    def listen(messages: Mapping[int, bytes]) -> Mapping[int, bytes]:
        seen.append(messages[100])
        return asked(rest)(messages)

    served(terms, rest, listen, tmp_path)
    with pytest.raises(FederationError, match="has answered round 3, step 0; it must be asked for what comes"):
        silo.answer(seen[0])
    other = replace(SiloRequest.decode(seen[0]), federation="0" * 64).encode()
    with pytest.raises(FederationError, match="must be asked by its server, but was asked by that of 0000"):
        silo.answer(other)


def test_a_silo_sends_no_sum_of_fewer_people_than_the_minimum(tmp_path: Path) -> None:
    settings = {**CHANNEL, "rounds": 1, "clients": 30, "minimum_cohort": 25}
    terms, _ = cut("pfpl+", settings, tmp_path)
    silos, replies = silos_of(tmp_path), list[bytes]()

    def listen(messages: Mapping[int, bytes]) -> Mapping[int, bytes]:
        told = asked(silos)(messages)
        replies.extend(told.values())
        return told

    with pytest.raises(
        FederationError, match="every silo declined: a sum must be of at least 25 people, but is"
    ):
        served(terms, silos, listen, tmp_path)
    assert [SiloReply.decode(reply).vector for reply in replies] == [b"", b""]


def test_missing_and_doubled_silos_are_refused(tmp_path: Path) -> None:
    terms, _ = cut("fed-ease", CHANNEL, tmp_path)
    first, second = (silo.introduce() for silo in silos_of(tmp_path).values())
    with pytest.raises(FederationError, match="client 0 is nowhere; start the missing silo"):
        ranges_of(terms, {1: second})
    with pytest.raises(FederationError, match="client 20 is nowhere; start the missing silo"):
        ranges_of(terms, {1: first})
    with pytest.raises(FederationError, match="client 0 is in two of them"):
        ranges_of(terms, {1: first, 2: first, 3: second})
    ranges = ranges_of(terms, {1: second, 2: first})
    with pytest.raises(FederationError, match="every silo must answer, but that of clients 0 to 19 has not"):
        serve_silos(terms, ranges, lambda messages: {}, tmp_path / "server", SEED)


def test_terms_say_what_the_superlink_reads_and_refuse_what_it_must_not(tmp_path: Path) -> None:
    assert cut("fed-ease", CHANNEL, tmp_path / "sums")[0].label == SUPERLINK_READS
    assert cut("fedsplit", {}, tmp_path / "each", ratings=True)[0].label == SUPERLINK_READS_EACH
    data = interactions()
    for channel in ("none", "secure-sum"):
        preset = algorithm("pfpl+")(channel=channel)
        with pytest.raises(SettingError, match=f"channel must be 'readable', but it is '{channel}'"):
            SiloTerms(preset, describe_federation(data, preset, SEED))
    with pytest.raises(
        RunError, match=r"must hold the terms of a federation of organisations \(federation.json\)"
    ):
        SiloTerms.read(tmp_path)


def test_own_people_draw_secrets_of_their_own_and_keep_their_items(tmp_path: Path) -> None:
    terms, _ = cut("pfpl+", METHODS["pfpl+"][0], tmp_path)
    rows = Interactions.of(np.array(["ann", "bob", "ann"]), terms.description.items.labels[[3, 3, 7]])
    one, other = (own_users(rows, terms, first=38) for _ in range(2))
    assert not np.array_equal(one.secrets, other.secrets)
    one.write(tmp_path / "own", terms)
    held = SiloUsers.read(tmp_path / "own", terms)
    assert held.data.item.tolist() == [3, 3, 7]
    assert (held.first, held.clients) == (38, 2)
    with pytest.raises(DataError, match="clients 0 to 39, but these people would be 39 to 40"):
        own_users(rows, terms, first=39)
    with pytest.raises(DataError, match="item 999 is not among the 30 known ones"):
        own_users(Interactions.of(np.array([1]), np.array([999])), terms, 0)


def test_nothing_but_the_apps_needs_flwr() -> None:
    names = ["folder", "silo", "server"]
    code = "import sys; sys.modules['flwr'] = None\n"
    code += f"for n in {names}: __import__('murmura.server.organisations.' + n)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_commands_cut_join_show_and_recommend(tmp_path: Path) -> None:
    settings = ("-S", "channel=readable", "-S", "minimum_cohort=2", "-S", "rounds=2", "-S", "clients=all")
    sizes = ("--data", "checkerboard", "--silos", "2")
    made = murmura("silos", "cut", "made", *sizes, "-m", "pfpl+", *settings, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert SUPERLINK_READS in made.stderr
    terms, silos = SiloTerms.read(tmp_path / "made" / "terms"), silos_of(tmp_path / "made")
    served(terms, silos, asked(silos), tmp_path)
    shown = murmura("silos", "show", "server", cwd=tmp_path)
    assert f"read: {SUPERLINK_READS}" in shown.stderr
    listed = murmura("silos", "recommend", "made/silo-1", "7", "--top", "1", "--json", cwd=tmp_path)
    assert json.loads(listed.stdout)["items"][0] % 2 == 0  # she has met all odd ones
    (tmp_path / "items.txt").write_text("a\nb\nc\n")
    offer = ("--items", "items.txt", "--clients", "4", "--interactions", "9")
    assert murmura("silos", "terms", "terms", *offer, *settings, cwd=tmp_path).returncode == 0
    (tmp_path / "rows.csv").write_text("user,item\nann,a\nann,b\nbob,c\n")
    joined = murmura("silos", "join", "terms", "rows.csv", "--first", "2", "--out", "own", cwd=tmp_path)
    assert "clients 2 to 3 of 4" in joined.stderr
    assert Silo(tmp_path / "own").held.clients == 2
    assert murmura("silos", "cut", "other", "-m", "ease", cwd=tmp_path).returncode == 2


def test_without_flower_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['flwr'] = None\nimport murmura.server.organisations.flower_apps"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    sentence = "a federation on Flower needs an optional part that is not installed: run pip install 'murmura["
    sentence += "flower]'."
    assert sentence in done.stderr
    if find_spec("flwr") is None:
        made = murmura("silos", "app", "app", cwd=tmp_path)
        assert made.returncode == 5
        assert sentence in made.stderr
