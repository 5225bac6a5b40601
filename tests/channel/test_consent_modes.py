"""The other two modes, people's own choices, and what is refused."""

import numpy as np
import pytest

from murmura.channel.consent_draws import ConsentChoices, StickyRecord, client_consent, never_share
from murmura.core.consent import Consent, DisclosureMode
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.population import Population
from murmura.core.rng import client_secrets
from murmura.testing import crowd


def population(data: Interactions, consent: Consent, **extra: object) -> Population:
    secrets = client_secrets(1, data.n_users)
    return ConsentChoices.of(consent, data, secrets, **extra).population(data, secrets)  # type: ignore[arg-type]


def test_per_triple_writes_pi_and_leaves_the_coin_to_the_algorithm() -> None:
    people = population(crowd(), Consent(pi=0.3, disclosure="per-triple"))
    assert set(people.consent.tolist()) == {0.3}
    assert people.history(4, 0).consent.tolist() == people.history(4, 99).consent.tolist()


def test_per_item_per_round_flips_a_coin_per_item_and_round() -> None:
    data, pi, rounds = crowd(), 0.3, 400
    people = population(data, Consent(pi=pi, disclosure="per-item-per-round"))
    drawn = np.array([people.history(1, t).consent for t in range(rounds)])  # the second person has every item
    assert set(drawn.ravel().tolist()) == {0.0, 1.0}
    assert np.abs(drawn.mean(0) - pi).max() < 4 * np.sqrt(pi * (1 - pi) / rounds)
    together = (drawn[:, 0] * drawn[:, 1]).mean()  # independent between items
    assert abs(together - pi**2) < 4 * np.sqrt(pi**2 * (1 - pi**2) / rounds)


@pytest.mark.parametrize("mode", ["sticky", "block", "per-item-per-round", "per-triple"])
def test_never_share_this_holds_in_every_mode(mode: DisclosureMode) -> None:
    data = crowd()
    wishes = {1: [0, 5, 7], 4: data.by_user.of(4)[:1].tolist()}
    people = population(data, Consent(disclosure=mode), never=never_share(data, wishes))
    for t in range(5):
        for user, items in wishes.items():
            history = people.history(user, t)
            assert not history.consent[np.isin(history.item, items)].any()
            assert history.consent[~np.isin(history.item, items)].all()


def test_people_choose_for_themselves() -> None:
    data = crowd(2000, 20)
    consent = Consent(pi={0.0: 1.0, 0.5: 2.0, 1.0: 1.0}, disclosure="per-triple")
    chosen = ConsentChoices.of(consent, data, client_secrets(0, 2000)).pi
    for pi, part in ((0.0, 0.25), (0.5, 0.5), (1.0, 0.25)):
        assert abs((chosen == pi).mean() - part) < 4 * np.sqrt(part * (1 - part) / 2000)
    assert consent.average_pi == 0.5
    own = np.linspace(0, 1, 2000)
    people = population(data, Consent(disclosure="per-triple"), pi=own)
    assert people.history(1999, 0).consent.tolist() == [1.0] * len(people.history(1999, 0))
    assert people.history(500, 0).consent.tolist() == [own[500]] * len(people.history(500, 0))


@pytest.mark.parametrize("pi", [-0.1, 1.1, float("nan"), {0.5: 0.0}, {1.5: 1.0}])
def test_a_pi_outside_its_range_is_refused_in_one_sentence(pi: object) -> None:
    with pytest.raises(SettingError, match="pi"):
        Consent(pi=pi)  # type: ignore[arg-type]


def test_choices_that_do_not_fit_are_refused() -> None:
    data = crowd()
    with pytest.raises(SettingError, match="one number for each of the 12 users, but there are 3"):
        population(data, Consent(), pi=np.ones(3))
    with pytest.raises(SettingError, match="between 0 and 1 for everyone, but goes from 0 to 2"):
        population(data, Consent(), pi=np.linspace(0, 2, 12))
    with pytest.raises(DataError, match="user 99 is not among"):
        never_share(data, {99: [0]})
    with pytest.raises(DataError, match="must hold every item never to be shared"):
        never_share(data, {2: list(range(20))})


@pytest.mark.parametrize("mode", ["sticky", "block", "per-item-per-round", "per-triple"])
def test_a_device_decides_like_the_compiled_twin_of_many_clients(mode: DisclosureMode) -> None:
    data, secrets = crowd(30, 40), client_secrets(4, 30)
    never = np.random.default_rng(1).random(len(data)) < 0.1
    choices = ConsentChoices.of(Consent(pi=0.4, disclosure=mode), data, secrets, never=never)
    people, forbidden = choices.population(data, secrets), choices.excluded
    for client in range(30):
        rows = slice(people.start[client], people.start[client + 1])
        own = people.history(client, 0)
        record = StickyRecord(excluded=tuple(own.item[forbidden[rows]].tolist()))
        for round in (0, 3):
            consent, record = client_consent(mode, record, own.item, 0.4, secrets[client], round, own.time)
            assert (consent == people.history(client, round).consent).all()
