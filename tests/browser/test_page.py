"""What the page promises a visitor, tried in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.visits import (
    PATIENCE,
    READY,
    alarm,
    choose_share,
    counted,
    go,
    leave,
    like,
    open_page,
    personal_list,
    until,
    use,
    wait_for_uploads,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.federation import BrowserFederation

ROOT = Path(__file__).parents[2]
NOTHING = "Nothing has left this browser"


def test_five_likes_make_a_list_and_nothing_has_left(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    assert alarm(page) == ""
    assert "#2." not in page.url  # the invitation is a secret: it is taken out of sight
    liked = like(page)
    found = personal_list(page)
    assert len(found) == 10
    assert not set(found) & set(liked)
    assert page.locator("[data-pill]").inner_text() == NOTHING
    choose_share(page, "Nothing")
    page.click('.choice button:has-text("Keep everything here")')
    page.wait_for_selector("[data-said]:not(:empty)")
    assert federation.server_bytes() == 0
    assert {one.method for one in federation.coordinator.seen} == {"GET"}
    assert not any("?" in one.path for one in federation.coordinator.seen)  # nor in an address
    assert federation.seed.seen == federation.vector.seen == []


def test_without_network_there_is_still_a_list(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    like(page)
    before = personal_list(page)
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector(READY)
    assert personal_list(page) == before
    assert alarm(page) == ""
    page.context.set_offline(False)


def test_half_is_half_for_twenty_rounds_and_bytes_are_counted_three_times(
    page: Page, federation: BrowserFederation
) -> None:
    open_page(page, federation.invitation())
    like(page, 8)
    choose_share(page, "Half")
    use(page)
    assert alarm(page) == ""
    disclosed = set[int]().union(*wait_for_uploads(page, 20))
    assert 0 < len(disclosed) <= 4
    page.click('header button:has-text("Pause")')
    page.wait_for_selector("text=Paused: nothing leaves")
    federation.rounds_pass(2)  # an upload that had begun is finished
    until(page, lambda: counted(page)[0] == federation.server_bytes())
    own, meter = counted(page)
    assert own == meter == federation.server_bytes() > 0
    assert page.locator("[data-undeclared]").count() == 0
    leave(page)


def test_what_is_taken_back_during_a_round_is_not_sent(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    like(page)
    choose_share(page, "Everything")
    use(page)
    wait_for_uploads(page, 1)
    federation.seed.gate.clear()
    until(page, lambda: federation.seed.held > 0)  # the first half has left, and nobody answers yet
    go(page, "share")
    page.click('.choice button:has-text("Keep everything here")')
    page.wait_for_selector("text=You stopped sharing")
    sent, halves = federation.server_bytes(), len(federation.vector.seen)
    federation.seed.gate.set()
    federation.rounds_pass(2)
    assert federation.server_bytes() == sent
    assert len(federation.vector.seen) == halves  # without the second half the first is noise
    leave(page)


def test_deleting_leaves_nothing_behind(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    like(page)
    choose_share(page, "A little")
    use(page)
    leave(page)
    kept: dict[str, Any] = page.evaluate(
        """async () => ({databases: await indexedDB.databases(), caches: await caches.keys(),
           workers: (await navigator.serviceWorker.getRegistrations()).length, local: {...localStorage},
           session: {...sessionStorage}, cookies: document.cookie})"""
    )
    nothing = {"databases": [], "caches": [], "workers": 0, "local": {}, "session": {}, "cookies": ""}
    assert kept == nothing
    assert any(one.method == "DELETE" and one.path == "/devices/me" for one in federation.coordinator.seen)


def test_a_request_that_the_page_does_not_declare_shows_in_red(
    page: Page, federation: BrowserFederation
) -> None:
    open_page(page, federation.invitation())
    like(page)
    page.evaluate(
        "fetch('/tickets', {method: 'POST', body: 'likes'}).catch(() => 0)"
    )  # counted before it leaves
    counted(page)
    page.wait_for_selector("[data-undeclared]")
    assert "/tickets" in page.locator("[data-undeclared]").inner_text()
    assert "did not declare" in page.locator("[data-pill]").inner_text()
    assert "alarm" in (page.locator("[data-pill]").get_attribute("class") or "")


WEB_SOCKET = (
    "const one = new WebSocket('ws://' + location.host + '/round'); one.onerror = fail; one.onopen = done"
)
IMAGE = (
    "const one = new Image(); one.onload = done; one.onerror = fail; one.src = 'http://127.0.0.1:9/?likes=1';"
)


ATTEMPTS = (
    "fetch('http://127.0.0.1:9/likes', {method: 'POST', body: 'x'}).then(done, fail)",
    "fetch('/status').then(done, fail)",  # the operator's, on the page's own origin
    WEB_SOCKET,
    IMAGE,
    "new Worker('data:text/javascript,1'); done()",
    "document.body.innerHTML = '<p>x</p>'; done()",
)


def test_the_browser_stops_what_the_policy_does_not_name(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    for attempt in ATTEMPTS:
        how = page.evaluate(
            """new Promise((found) => {
                const heard = new Promise((hear) => document.addEventListener(
                    'securitypolicyviolation', () => hear('by the policy'), {once: true}));
                const done = () => found('passed'), fail = () => heard.then(found);
                try { ATTEMPT } catch { fail(); }
            })""".replace("ATTEMPT", attempt)
        )
        assert how == "by the policy", attempt


@pytest.mark.parametrize("path", ["/terms", "/model"])
def test_a_coordinator_that_changes_aggregators_or_log_is_refused(
    page: Page, federation: BrowserFederation, path: str
) -> None:
    link = federation.invitation()
    lies = {
        "/terms": lambda told: told.replace(str(federation.seed.port).encode(), b"20001"),
        "/model": lambda told: told[:-40] + bytes(byte ^ 1 for byte in told[-40:]),
    }
    federation.coordinator.lies[path] = lies[path]
    page.goto(link)
    page.wait_for_selector("[role=alert] p")
    assert re.search(r"take no part|does not fit|must be|is not", alarm(page)), alarm(page)
    assert federation.server_bytes() == 0
    federation.forget()
    page.goto("about:blank")
    open_page(page, link)  # with the truth it goes on
    assert alarm(page) == ""


def test_a_model_that_is_not_the_named_one_is_refused(page: Page, federation: BrowserFederation) -> None:
    def lied(told: bytes) -> bytes:
        return told[:-1] + bytes([told[-1] ^ 1])

    link = federation.invitation()
    open_page(page, link)
    names = [one.path for one in federation.coordinator.seen if one.path.startswith("/m/")]
    federation.coordinator.lies = dict.fromkeys(names, lied)
    page.evaluate(
        "indexedDB.databases().then((all) => all.forEach(({name}) => indexedDB.deleteDatabase(name)))"
    )
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("[role=alert] p")
    assert alarm(page)
    assert federation.server_bytes() == 0


def test_an_unreachable_server_is_said_to_be_so(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    like(page)
    choose_share(page, "Half")
    federation.coordinator.down = True
    page.click('.choice button:has-text("Use this")')
    page.wait_for_selector("[role=alert] p")
    assert alarm(page)
    assert page.locator("[data-share]").inner_text() == "50 %"  # nothing is lost
    federation.coordinator.down = False
    assert len(personal_list(page)) == 10


UNUSABLE = {
    "a,b,c\nd,e,f\n": "must have a column with titles",
    "userId,movieId,rating\n1,1,5\n2,1,5\n": "must be of one person",
    "": "must hold a table",
    "title\nSomething Else\n": "None of the titles",
    "\0\1\2\3": "None of the titles",
}


def test_a_file_that_cannot_be_used_changes_nothing(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    like(page, 2)
    for content, says in UNUSABLE.items():
        page.set_input_files(
            "input[type=file]", {"name": "likes.csv", "mimeType": "text/csv", "buffer": content.encode()}
        )
        page.wait_for_selector("[role=alert] p")
        assert says in alarm(page)
        page.click("[role=alert] button")
        assert page.locator("aside .card").first.locator(".chips li").count() == 2
    assert federation.server_bytes() == 0


def test_files_of_ones_own_are_read_here(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    netflix = 'Title,Date\n"The Day 02","1/2/20"\n"The Night 01","2/2/20"\n"Unheard Of","2/2/20"\n'
    page.set_input_files(
        "input[type=file]",
        {"name": "NetflixViewingHistory.csv", "mimeType": "text/csv", "buffer": netflix.encode()},
    )
    page.wait_for_selector("text=2 of 3 titles are known here")
    assert page.locator("aside .card").first.locator(".chips li").count() == 2
    assert federation.server_bytes() == 0


def test_a_device_moves_to_another_browser_by_a_file(
    page: Page, browser: Browser, federation: BrowserFederation
) -> None:
    open_page(page, federation.invitation())
    like(page)
    go(page, "data")
    before = page.locator("main .line span:first-child").all_inner_texts()
    with page.expect_download() as saved:
        page.click('button:has-text("Download everything")')
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    other = context.new_page()
    open_page(other, federation.coordinator.url)
    go(other, "data")
    for name in (Path(__file__), saved.value.path()):  # the first is none of the page's
        other.set_input_files("input[accept='.json']", name)
        if name == Path(__file__):
            other.wait_for_selector("[role=alert] p")
    go(other, "start")
    other.wait_for_selector(".chips li:nth-child(5)")
    go(other, "data")
    assert other.locator("main .line span:first-child").all_inner_texts() == before
    assert federation.server_bytes() == 0
    context.close()


def test_two_tabs_do_not_answer_one_round_twice(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    like(page)
    choose_share(page, "Everything")
    use(page)
    other = page.context.new_page()
    open_page(other, federation.coordinator.url)
    wait_for_uploads(page, 2)
    assert "Nothing has left" not in page.locator("[data-pill]").inner_text()
    other.close()
    own, meter = counted(page)
    assert own == meter
    leave(page)


def test_a_browser_that_keeps_nothing_says_so_and_sends_nothing(
    browser: Browser, federation: BrowserFederation
) -> None:
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'indexedDB', {value: {open() { throw new DOMException('refused'); },"
        " databases: async () => []}});"
    )
    tab = context.new_page()
    tab.goto(federation.invitation())
    tab.wait_for_selector("[role=alert] p")
    assert alarm(tab)
    assert federation.server_bytes() == 0
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_issue(page: Page, federation: BrowserFederation, scheme: Any) -> None:
    axe = (ROOT / "web/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    open_page(page, federation.invitation())
    like(page)
    for screen in ("start", "for-you", "share", "left", "data", "how"):
        go(page, screen)
        page.wait_for_timeout(200)
        page.evaluate(axe)
        found = page.evaluate("axe.run()")
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        told = [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in serious]
        assert told == [], f"{screen}: {json.dumps(told, indent=1)}"


def test_every_screen_fits_a_phone(page: Page, federation: BrowserFederation) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, federation.invitation())
    like(page)
    choose_share(page, "Half")
    for screen in ("start", "for-you", "share", "left", "data", "how"):
        go(page, screen)
        wide = page.evaluate(
            """[...document.querySelectorAll('body, header, main, main > *')]
               .filter((one) => one.scrollWidth > innerWidth).map((one) => one.outerHTML.slice(0, 80))"""
        )
        assert wide == [], screen


def test_a_keyboard_is_enough(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator(".item").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".item.on")
    page.locator('nav a[href="#/share"]').focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("input[type=range]")
    page.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-share]").inner_text() == "1 %"
