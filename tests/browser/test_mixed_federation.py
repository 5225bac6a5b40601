"""The page's device and nine of Python's train together: the model of ten of Python's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.channel.consent_draws import StickyRecord, client_consent
from murmura.channel.phase_chains import chain
from murmura.core.codec import encode_model
from murmura.core.contract import History, RoundContext
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, client_secrets
from murmura.device.journal import NAME, Journal
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.engine.visit import visit
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import training_rows
from tests.browser.headless import Told, likes_file, take_part
from tests.browser.visits import READY, choose_share, open_page, personal_list, until, use, wait_for_uploads
from tests.examples.test_independent_client import told
from tests.http.network import people
from tests.http.processes import get, served, write_table

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.process

SET_SECRET = """(secret) => new Promise((done, fail) => {
    const opening = indexedDB.open("murmura", 1);
    opening.onerror = fail;
    opening.onsuccess = () => {
        const store = opening.result.transaction("kept", "readwrite").objectStore("kept");
        const found = store.get("identity"), written = () => { opening.result.close(); done(); };
        found.onsuccess = () => {
            store.put({ ...found.result, secret }, "identity").onsuccess = written;
        };
    };
})"""
NEVER_PROVE = """() => {
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (...said) {
        if (said[0].kind === "prove") window.asked = true;
        else post.apply(this, said);
    };
}"""
SEED, USERS, PI, PAGE = 11, 10, 0.5, 9  # the page has the last place


T = TypeVar("T")
Play = Callable[[str, Interactions, Path], T]  # take part by an invitation, until the federation is finished


@dataclass(frozen=True)
class Trained(Generic[T]):
    """A federation that is finished, and its twin in one process."""

    folder: Path
    page: T  # what the page's device told
    rounds: list[dict[str, Any]]
    published: bytes
    twin: Any
    data: Interactions


def by_node(link: str, data: Interactions, folder: Path) -> Told:
    """The device without its screens."""
    return take_part(link, likes_file(data, PAGE, folder / "tenth.csv"), SEED, PAGE, USERS, PI)


def trained(folder: Path, method: str, play: Play[T], **settings: Any) -> Trained[T]:
    likes = people(USERS, 30)
    when = np.random.default_rng(3).integers(1_600_000_000, 1_600_000_000 + 10**6, len(likes))
    table = write_table(Interactions.of(likes.user, likes.item, time=when), folder / "likes.csv")
    data = training_rows(str(table), "", None)
    own = [word for key, value in settings.items() for word in ("-S", f"{key}={value}")]
    timing = (
        "--round-seconds",
        600,
        "--hold",
        0,
        "--spread",
        0,
        "--wait-for",
        USERS,
        "--seed",
        SEED,
        "--start",
        "--exact",
        "--tolerate",
        0,
    )
    with served(folder, "--like", table, "--model", method, *own, *timing) as here:
        nine = ("--data", table, "--n", USERS - 1, "--seed", SEED, "--pi", PI, "--exact")
        here.processes.start("fleet", "devices", here.url, *nine, "--invitations", here.invite_file(USERS - 1))
        while told(here, "/status")["devices"] < USERS - 1:
            assert here.processes.running["fleet"].poll() is None, here.processes.log("fleet")
            time.sleep(0.1)
        (link,) = here.invite(1)
        page = play(link, data, folder)
        here.processes.wait("fleet")
        rounds = told(here, "/rounds")["rounds"][::-1]
        published = get(f"{here.url}/m/{told(here, '/federation')['model']}")
    return Trained(folder, page, rounds, published, simulated(data, method, settings), data)


def simulated(data: Interactions, method: str, settings: dict[str, Any]) -> Any:
    """The same federation in one process, in which the tenth device is Python's."""
    given = {**settings, "pi": PI, "channel": "secure-sum", "minimum_cohort": USERS}
    preset = algorithm(method)(**given)
    plan = Plan(
        preset.algorithm(),
        data,
        preset.schedule(),
        consent=preset.consent(),
        channel=preset.channel_settings(),
        seed=SEED,
    )
    return fit(plan, runtime=InProcess(path="plain"))


def shared(data: Interactions) -> list[int]:
    """What Python's tenth device would disclose: the sticky half of its items."""
    items = np.sort(data.item[data.user == PAGE]).astype(np.int32)
    consent, _ = client_consent("sticky", StickyRecord(), items, PI, client_secrets(SEED, USERS)[PAGE], 0)
    return [int(item) for item in items[consent > 0]]


def check_evidence(made: Trained[Told]) -> None:
    """All rounds had ten reports; the page has a countersigned line for each, of the half that is shared."""
    assert {(one["state"], one["reports"]) for one in made.rounds} == {("committed", USERS)}
    entries, traffic = made.page.ledger["entries"], made.page.ledger["traffic"]
    assert [one["kind"] for one in made.page.visits] == ["sent"] * len(made.rounds) + ["finished"]
    assert [one["round"] for one in entries] == [one["round"] for one in made.rounds]
    assert all(one["countersigned"] for one in entries)
    assert all(set(one["items"]) <= set(shared(made.data)) for one in entries)
    for name, content in made.page.ledger["files"].items():
        (made.folder / name).write_text(content, encoding="utf-8")
    assert Journal(made.folder / NAME).verify().head == entries[-1]["hash"]
    uploads = sum(one["bytes"] for one in traffic if one["purpose"] in ("seed share", "vector share"))
    assert uploads == sum(one["bytes"] for one in entries)


SUMS: dict[str, dict[str, Any]] = {
    "fed-item-knn": {"least": 2, "k": 10, "power": 2.0, "recency": 0.5},
    "fed-mostpop": {"eigenvectors": 4, "core_items": 20},  # normalised, with equal bits without noise
}


@pytest.mark.parametrize("method", SUMS)
def test_counts_and_pairs_give_the_bits_and_the_lists_of_the_simulation(tmp_path: Path, method: str) -> None:
    made = trained(tmp_path, method, by_node, **SUMS[method])
    plan = made.twin.plan
    assert made.published == encode_model(
        made.twin.model, plan.algorithm.publishes(plan.info), plan.info.listed
    )
    lists = made.twin.recommend(np.array([PAGE], np.int32), 10).item[0]
    assert made.page.recommended == made.data.items.labels[lists].tolist()
    assert [one["items"] for one in made.page.ledger["entries"]] == [shared(made.data)] * 2
    check_evidence(made)


def test_a_tab_of_a_browser_gives_the_bits_of_the_simulation(tmp_path: Path, page: Page) -> None:
    """The same in a real tab, by its own screens; only its secret is that of the simulation's tenth.

    It is loaded anew between the answer to its first half and the proof that was to follow.
    """
    secret = client_secrets(SEED, USERS)[PAGE].tolist()

    def by_tab(link: str, data: Interactions, folder: Path) -> list[set[int]]:
        open_page(page, link.replace("murmura://", "http://").replace("#", "/#"))
        page.evaluate(SET_SECRET, secret)
        open_page(page, page.url)
        likes = likes_file(data, PAGE, folder / "tenth.csv").read_text(encoding="utf-8")
        file = {"name": "mine.csv", "mimeType": "text/csv", "buffer": f"item,time\n{likes}".encode()}
        page.set_input_files("input[type=file]", file)
        page.wait_for_selector("text=titles are known here")
        choose_share(page, "Half")
        page.evaluate(NEVER_PROVE)
        use(page)
        until(page, lambda: bool(page.evaluate("window.asked")))
        page.reload()
        page.wait_for_selector(READY)
        return wait_for_uploads(page, 2)

    made = trained(tmp_path, "fed-item-knn", by_tab, least=2, k=10, power=2.0, recency=0.5)
    plan = made.twin.plan
    assert made.published == encode_model(
        made.twin.model, plan.algorithm.publishes(plan.info), plan.info.listed
    )
    assert made.page == [set(shared(made.data))] * 2
    lists = made.twin.recommend(np.array([PAGE], np.int32), 10).item[0]
    assert personal_list(page) == [str(label) for label in made.data.items.labels[lists].tolist()]


def test_sums_of_cfpl_differ_by_one_step_at_most(tmp_path: Path) -> None:
    """Every round from the same model: the nine other vectors are Python's, so sums differ by the page's."""
    made = trained(tmp_path, "cfpl", by_node, rounds=4, clients=USERS, factors=8)
    check_evidence(made)
    plan, secret = made.twin.plan, client_secrets(SEED, USERS)[PAGE]
    assert [(one["phase"], one["round"]) for one in made.page.steps] == [
        (one["phase"], one["round"]) for one in made.rounds
    ]
    apart = []
    for told_, noted in zip(made.page.steps, made.page.ledger["entries"]):
        (phase,) = (one for one in plan.algorithm.phases(plan.info) if one.name == told_["phase"])
        shapes = {"Q": (plan.info.items, 8), "b": (plan.info.items,)}
        model = {name: np.array(v, np.float32).reshape(shapes[name]) for name, v in told_["model"].items()}
        item, consent = np.array(told_["item"], np.int32), np.array(told_["consent"])
        history = History(item, np.ones(len(item)), consent)
        state = {name: np.array(v, np.float32) for name, v in told_["before"].items()}
        state = state or dict(plan.algorithm.client_init(plan.info, history, Rng(secret)))
        context = RoundContext(plan.info, phase.name, told_["round"], model)
        stages = chain(plan.channel, phase, plan.info, told_["largest"])
        twin = visit(plan.algorithm, phase, context, state, history, Rng(secret, told_["round"]), stages)
        assert twin.vector is not None
        assert noted["items"] == item[twin.shown].tolist()
        apart.append(np.subtract(told_["vector"], twin.vector, dtype=np.int64).astype(np.int32))
        np.testing.assert_allclose(told_["after"]["p"], twin.state["p"], rtol=1e-4, atol=1e-6)
    assert max(int(np.abs(one).max()) for one in apart) <= 1
    publishes = plan.algorithm.publishes(plan.info)
    expected = encode_model(made.twin.model, publishes, plan.info.listed)
    assert len(made.published) == len(expected)
    one, other = (np.frombuffer(content[12 : 12 + 4 * 30 * 8], "<f4") for content in (made.published, expected))
    np.testing.assert_allclose(one, other, atol=0.01)
