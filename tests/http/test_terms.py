"""What a federation is: one spelling, fields that are what they must be, three machines, no silent change."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from murmura.channel.noise_terms import AGAINST, UNIT, NoiseTerms
from murmura.core.errors import FederationError
from murmura.device import device
from murmura.device.trust import TermsChangedError, fetch_terms
from murmura.server.loopback import COORDINATOR
from murmura.wire.manifest import SignedManifest
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import LARGEST, canonical
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import SIGNATURE_BYTES
from tests.http.network import World, people
from tests.http.own_devices import TRAINING, awake, settle
from tests.http.wire_world import STRANGER, description, terms

PLAIN: dict[str, Any] = json.loads(terms().encode())
SEED_AT, VECTOR_AT = PLAIN["seed_aggregator"], PLAIN["vector_aggregator"]


def refused(content: bytes) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        FederationTerms.decode(content)
    return caught.value


def changed(**values: Any) -> bytes:
    return canonical({**PLAIN, **values})


def test_terms_have_one_spelling_and_are_named_by_it() -> None:
    content = terms().encode()
    assert content == json.dumps(PLAIN, sort_keys=True, separators=(",", ":")).encode()
    again = FederationTerms.decode(content)
    assert (again, again.hash) == (terms(), terms().hash)
    whole = FederationTerms.decode(content.replace(b"86400.0", b"86400"))
    assert whole.hash != terms().hash  # a number has the spelling it was agreed in
    for other in (
        json.dumps(PLAIN).encode(),
        content + b" ",
        content.replace(b'"protocol":3', b'"protocol":3,"protocol":3'),
        content.replace(b'"cfpl"', b'"\\u0063fpl"'),
        json.dumps(dict(reversed(PLAIN.items())), separators=(",", ":")).encode(),
        content.replace(b"86400.0", b"8.64e4"),
    ):
        assert other != content
        assert refused(other).code == "malformed"


def test_the_address_of_an_aggregator_says_where_it_is_and_nothing_else() -> None:
    for url in ("https://one.example:8443/a/b", "http://127.0.0.1:8001", "https://[::1]:9/x"):
        FederationTerms.decode(changed(seed_aggregator={**SEED_AT, "url": url}))
    for more in (" ", "; script-src *", ",x", "/*", "'", '"', "/?a", "/#a", "\n", "/é", ":x", ":123456"):
        for side, at in (("seed_aggregator", SEED_AT), ("vector_aggregator", VECTOR_AT)):
            found = refused(changed(**{side: {**at, "url": at["url"] + more}}))
            assert (found.code, "in plain characters" in str(found)) == ("malformed", True), more
    for url in (
        "",
        "one.example",
        "ftp://one.example",
        "https://",
        "https://u:p@one.example",
        "https://*.example",
    ):
        assert refused(changed(seed_aggregator={**SEED_AT, "url": url})).code == "malformed"


WRONG: dict[str, list[Any]] = {
    "federation": ["0", "xx", "0F", 7, None],
    "coordinator": ["", "00", "0" * 63, "g" * 64, None, 7],
    "seed_aggregator": [{}, {**SEED_AT, "key": ""}, {**SEED_AT, "sealing_key": "00"}, {**SEED_AT, "more": 1}],
    "vector_aggregator": [7, {**VECTOR_AT, "url": None}, {"url": "https://two.example"}],
    "admission": ["anyone", "", None, 1],
    "admitter": ["0", "xx", None],
    "method": [None, 7, ["cfpl"]],
    "settings": [None, [], "x"],
    "schedule": [None, [], 7],
    "catalogue": [
        None,
        {},
        {**PLAIN["catalogue"], "rule": "growing"},
        {**PLAIN["catalogue"], "description": ""},
        {**PLAIN["catalogue"], "bytes": -1},
        {**PLAIN["catalogue"], "bytes": 1.5},
        {**PLAIN["catalogue"], "bytes": "7"},
        {**PLAIN["catalogue"], "features_bytes": 2**32},
    ],
    "channel": [None, [], "secure-sum"],
    "windows": [{}, {"start": -1, "seconds": 5}, {"start": 0, "seconds": -5}, {"start": 2**41, "seconds": 0}],
    "noise": [
        None,
        {**PLAIN["noise"], "multipliers": {"train": -0.5}},
        {**PLAIN["noise"], "answers": {"train": "1"}},
        {**PLAIN["noise"], "epsilon": None},
        {**PLAIN["noise"], "delta": -1},
        {**PLAIN["noise"], "epsilon": 10**400},
        {**PLAIN["noise"], "multipliers": {"train": 10**400}},
        {"seed": 0},
    ],
}  # fmt: skip


@pytest.mark.parametrize("field", WRONG)
def test_a_field_of_another_type_is_malformed(field: str) -> None:
    for wrong in WRONG[field]:
        assert refused(changed(**{field: wrong})).code == "malformed", wrong
    fewer = {name: value for name, value in PLAIN.items() if name != field}
    assert refused(canonical(fewer)).code == "malformed"


def test_every_field_is_tried() -> None:
    assert {*WRONG, "protocol"} == PLAIN.keys()


@pytest.mark.parametrize("version", [0, 1, 2, 4, "3", 3.0, None, True, [3]])
def test_another_version_is_refused_as_that(version: Any) -> None:
    assert refused(changed(protocol=version)).code == "version"
    assert refused(canonical({"protocol": version, "anything": "else"})).code == "version"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"7", b"null", b"{", b"\xff", b"[" * 100_000, b'{"protocol":3}']
)
def test_what_are_no_terms_is_refused(content: bytes) -> None:
    assert refused(content).code in ("malformed", "version")
    assert refused(changed(settings={"x": "y" * LARGEST})).code == "malformed"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"1" + b"0" * 5000])
def test_numbers_that_cannot_be_written_are_refused(number: bytes) -> None:
    for name in ("settings", "schedule", "channel"):
        content = changed(**{name: {"x": 12345}}).replace(b"12345", number)
        assert refused(content).code == "malformed"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"vector_aggregator": {**VECTOR_AT, "key": SEED_AT["key"]}}, "three different keys"),
        ({"vector_aggregator": {**VECTOR_AT, "key": PLAIN["coordinator"]}}, "three different keys"),
        ({"seed_aggregator": {**SEED_AT, "key": PLAIN["coordinator"]}}, "three different keys"),
        ({"vector_aggregator": {**VECTOR_AT, "sealing_key": SEED_AT["sealing_key"]}}, "three different keys"),
        ({"admitter": PLAIN["coordinator"]}, "must not admit devices itself"),
    ],
)
def test_two_machines_of_one_key_are_one_machine(values: dict[str, Any], words: str) -> None:
    error = refused(changed(**values))
    assert (error.code, words in str(error)) == ("forged", True)


@pytest.mark.parametrize(
    ("seed", "vector", "fine"),
    [
        ("https://one.example", "https://two.example", True),
        ("https://one.example:1", "https://one.example:2", False),
        ("https://one.example/a", "https://one.example/b", False),
        ("https://one.example", "https://ONE.EXAMPLE.", False),
        ("https://user@one.example", "https://one.example", False),
        ("http://192.0.2.1:1", "http://192.0.2.1:2", False),
        ("http://[2001:db8::1]:1", "http://[2001:db8::1]:2", False),
        ("one.example", "two.example", False),  # no host at all
        ("http://127.0.0.1:1", "http://127.0.0.1:2", True),  # this machine, for tests and demonstrations
        ("http://localhost:1", "http://localhost:2", True),
        ("http://[::1]:1", "http://[::1]:2", True),
    ],
)
def test_two_aggregators_are_on_two_hosts_beyond_this_machine(seed: str, vector: str, fine: bool) -> None:
    content = changed(seed_aggregator={**SEED_AT, "url": seed}, vector_aggregator={**VECTOR_AT, "url": vector})
    if fine:
        assert FederationTerms.decode(content).encode() == content
        return
    error = refused(content)
    assert (error.code, "must be on two hosts" in str(error)) == ("forged", True)


def test_an_address_that_is_none_is_malformed() -> None:
    assert refused(changed(seed_aggregator={**SEED_AT, "url": "http://[::1"})).code == "malformed"


def test_sums_need_two_aggregators_and_readable_mode_has_none() -> None:
    readable = {**PLAIN["channel"], "channel": "readable"}
    for values in (
        {"seed_aggregator": None},
        {"vector_aggregator": None},
        {"seed_aggregator": None, "vector_aggregator": None},
        {"channel": readable},
        {"channel": readable, "seed_aggregator": None},
    ):
        assert "must name two aggregators for a secure sum and none" in str(refused(changed(**values)))
    alone = changed(channel=readable, seed_aggregator=None, vector_aggregator=None)
    assert FederationTerms.decode(alone).readable


def test_who_admits_is_named_where_devices_are_invited_and_nowhere_else() -> None:
    for values in ({"admitter": ""}, {"admission": "open"}, {"admitter": "00" * 31}):
        assert "must name the key that admits, or admit everyone" in str(refused(changed(**values)))
    assert FederationTerms.decode(changed(admission="open", admitter="")).admission == "open"


def test_what_this_version_cannot_do_is_refused_when_it_is_asked_for() -> None:
    info = description().info
    for strange, code in (
        (replace(terms(), method="nonesuch"), "version"),
        (replace(terms(), settings={"nonesuch": 1}), "version"),
    ):
        with pytest.raises(RefusedError) as caught:
            strange.algorithm()
        assert caught.value.code == code
    for channel in ({"clip": -1}, {"nonesuch": 1}, {"channel": "none"}):
        strange = replace(terms(), channel={**terms().channel, **channel})
        with pytest.raises(RefusedError) as caught:
            strange.chain("train", info, 200)
        assert caught.value.code == "malformed"
    with pytest.raises(RefusedError, match="cfpl has no phase 'nonesuch'"):
        terms().phase("nonesuch", info)
    with pytest.raises(RefusedError, match="could overflow") as caught:
        terms().chain("train", info, 2**20)
    assert caught.value.code == "malformed"
    with pytest.raises(
        RefusedError, match="needs every update for itself, but this federation was joined for sums"
    ):
        replace(terms(), method="fedsplit", settings={}).phase("factors", info)


def test_what_changed_is_named() -> None:
    other = replace(
        terms(),
        channel={**terms().channel, "minimum_cohort": 5},
        coordinator="00" * 32,
        windows=replace(terms().windows, seconds=60),
        settings={**terms().settings, "factors": 3},
    )
    assert terms().differences(terms()) == []
    assert terms().differences(other) == [
        "channel.minimum_cohort 100 → 5",
        f"coordinator {terms().coordinator[:16]}… → 0000000000000000…",
        "settings.factors 2 → 3",
        "windows.seconds 86400.0 → 60",
    ]
    alone = replace(terms(), seed_aggregator=None)
    assert "seed_aggregator None → None" not in terms().differences(alone)
    assert any("seed_aggregator.url https://one.example → None" in one for one in terms().differences(alone))


@pytest.mark.parametrize("signer", range(3))
def test_terms_that_a_machine_has_not_signed_are_not_joined(tmp_path: Path, signer: int) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    def forge(body: bytes) -> bytes:
        at = signer * SIGNATURE_BYTES
        return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]

    async def scenario() -> None:
        await world.servers.agree()
        honest = world.network.machines[COORDINATOR]

        def lying(method: str, path: str, body: bytes, headers: Any) -> Any:
            reply = honest(method, path, body, headers)
            return replace(reply, body=forge(reply.body)) if path == "/terms" else reply

        assert (await fetch_terms(world.network, COORDINATOR)).hash == world.coordinator.rounds.terms.hash
        world.network.machines[COORDINATOR] = lying
        with pytest.raises(RefusedError, match="terms's signature must be of the right machine") as caught:
            await fetch_terms(world.network, COORDINATOR)
        assert caught.value.code == "forged"

    asyncio.run(scenario())


async def blind(message: bytes, *_: object) -> SignedManifest:
    """What a device that checks nothing makes of a manifest."""
    return SignedManifest.decode(message)


@pytest.mark.parametrize("looks", [True, False])
def test_a_device_takes_no_part_under_other_terms_until_its_owner_agrees(
    tmp_path: Path, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terms are those this device pinned; one that does not look at them sends at once."""
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        folder = await settle(world, tmp_path / "me")
        for client in range(1, 12):
            await world.join(client)
        true = folder.identity().terms
        stricter = replace(true, channel={**true.channel, "minimum_cohort": 11})
        folder._write_identity(replace(folder.identity(), terms=stricter))  # it joined when 11 were asked for
        world.coordinator.order("start")
        await world.turn()
        if not looks:
            monkeypatch.setattr(device, "verified", blind)
            assert (await awake(world, folder).visit()).kind == "sent"
            return
        with pytest.raises(TermsChangedError, match=r"channel\.minimum_cohort 11 → 10") as caught:
            await awake(world, folder).visit()
        assert caught.value.offered == true
        assert not any(url.endswith("/reports") for _, url, _ in world.network.log)
        folder.offer(caught.value.offered)
        assert folder.offered() == true
        folder.accept(true)
        assert (folder.identity().terms, folder.offered()) == (true, None)
        assert (await awake(world, folder).visit()).kind == "sent"

    asyncio.run(scenario())


def test_an_aggregator_agrees_once_and_to_what_its_operator_stands_for(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    asyncio.run(world.servers.agree())
    agreement, key, true = (
        world.aggregators["seed"].agreement,
        world.coordinator.key,
        world.coordinator.rounds.terms,
    )
    assert true.seed_aggregator is not None
    assert true.vector_aggregator is not None

    def offer(**values: Any) -> RefusedError | FederationError:
        content = replace(true, **values).encode()
        with pytest.raises(RefusedError) as caught:
            agreement.agree(key.sign("terms", content) + content)
        return caught.value

    assert "agreed to other terms (method cfpl → fcf)" in str(offer(method="fcf"))
    swapped = offer(seed_aggregator=true.vector_aggregator, vector_aggregator=true.seed_aggregator)
    assert "must name this machine as the seed aggregator" in str(swapped)
    assert "three different keys" in str(offer(coordinator=true.seed_aggregator.key))
    assert "must name this aggregator and its coordinator" in str(offer(coordinator="00" * 32))
    assert "must claim no epsilon" in str(offer(noise=replace(true.noise, epsilon=1.0)))
    little = NoiseTerms(1.0, 1e-5, {"train": 3.0}, {"train": 1}, UNIT, AGAINST)
    assert "epsilon 1, but bounds it to 1.27; take no part" in str(offer(noise=little))
    for tiny in (1e-13, 1e-200, 0.0):
        without = offer(noise=replace(little, multipliers={"train": tiny}))
        assert "epsilon 1, but bounds it to inf" in str(without)
    often = replace(little, answers={"train": 2**32 - 1})  # counted one by one it would take minutes
    assert "epsilon 1, but bounds it to 2.39e+08" in str(offer(noise=often))
    assert "unit and against whom" in str(offer(noise=replace(little, epsilon=4.0, against="everybody")))
    content = true.encode()
    for forged in (
        bytes(64) + content,
        STRANGER.sign("terms", content) + content,
        key.sign("manifest", content) + content,
    ):
        with pytest.raises(RefusedError, match="signature"):
            agreement.agree(forged)
    with pytest.raises(RefusedError, match="must be the one the terms name"):
        agreement.take_description(bytes(32), b"{}")
    again = agreement.agree(key.sign("terms", content) + content)
    assert bytes.fromhex(again["signature"]) == world.aggregators["seed"].key.sign("terms", content)
