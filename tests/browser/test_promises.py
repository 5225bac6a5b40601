"""Promises that one tab does not show in one visit: after a reload, in two tabs, after a deletion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.browser.visits import (
    choose_share,
    counted,
    go,
    leave,
    like,
    open_page,
    personal_list,
    until,
    uploads,
    use,
    wait_for_uploads,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.federation import BrowserFederation

# the page waits a hundredth of the time between two looks, and another tab has it look a hundred times
HURRY = "const wait = setTimeout; window.setTimeout = (work, ms, ...more) => wait(work, ms / 100, ...more);"
A_HUNDRED_LOOKS = """async () => {
    const others = new BroadcastChannel("murmura");
    for (let look = 0; look < 100; look++) {
        others.postMessage("changed");
        await new Promise((done) => setTimeout(done, 2000));
    }
    others.close();
}"""
HOLD_FIRST_PREVIEW = """(() => {
    const post = Worker.prototype.postMessage, held = [];
    Worker.prototype.postMessage = function (...said) {
        if (said[0].kind === "train" && !window.release) window.release = () => post.apply(this, said);
        else post.apply(this, said);
    };
})()"""
KEPT = """() => new Promise((done, fail) => {
    const opening = indexedDB.open("murmura", 1);
    opening.onerror = fail;
    opening.onsuccess = () => {
        const reading = opening.result.transaction("kept").objectStore("kept").getAll();
        reading.onsuccess = () => { opening.result.close(); done(JSON.stringify(reading.result)); };
    };
})"""


def pill(page: Page) -> str:
    return str(page.locator("[data-pill]").inner_text())


def looks(federation: BrowserFederation) -> int:
    return sum(one.path == "/round" for one in federation.coordinator.seen)


def only_public(federation: BrowserFederation) -> bool:
    """Nothing was asked but the page's own files and models."""
    files = ("/", "/sw.js", "/titles.json", "/m/", "/assets/", "/icon.svg", "/manifest.webmanifest")
    asked = [(one.method, one.path) for one in federation.coordinator.seen]
    asked += [(one.method, one.path) for one in (*federation.seed.seen, *federation.vector.seen)]
    return all(method == "GET" and (path in files or path.startswith("/m/")) for method, path in asked)


def member(page: Page, federation: BrowserFederation, stop: str = "Everything") -> None:
    """Somebody of whom one upload was taken."""
    open_page(page, federation.invitation())
    like(page)
    choose_share(page, stop)
    use(page)
    wait_for_uploads(page, 1)


def test_a_pause_holds_for_a_hundred_looks_after_a_reload_in_one_tab_and_in_two(
    page: Page, federation: BrowserFederation
) -> None:
    member(page, federation)
    page.click('header button:has-text("Pause")')
    page.wait_for_selector("text=Paused: nothing leaves")
    federation.rounds_pass(1)
    page.context.add_init_script(HURRY)
    tabs = [page]
    for _ in range(2):
        federation.forget()
        for tab in tabs:
            open_page(tab, federation.coordinator.url)
        tabs[-1].evaluate(A_HUNDRED_LOOKS)
        assert only_public(federation), [*federation.coordinator.seen, *federation.seed.seen]
        assert {pill(tab) for tab in tabs} == {"Paused: nothing leaves"}
        tabs.append(page.context.new_page())
    tabs.pop().close()
    refused = "fetch('/tickets', {method: 'POST', body: 'likes'}).then(() => 'left', () => 'stopped')"
    assert page.evaluate(refused) == "stopped"  # by the worker, whatever code of the page asks
    assert only_public(federation)
    federation.forget()
    tabs[1].click('header button:has-text("Resume")')
    page.wait_for_selector('header button:has-text("Pause")')
    until(page, lambda: looks(federation) > 10)
    leave(page)


def test_a_pause_in_one_tab_is_a_pause_in_the_other(page: Page, federation: BrowserFederation) -> None:
    member(page, federation)
    other = page.context.new_page()
    open_page(other, federation.coordinator.url)
    other.click('header button:has-text("Pause")')
    page.wait_for_selector("text=Paused: nothing leaves")
    federation.rounds_pass(1)
    sent, asked = federation.server_bytes(), looks(federation)
    federation.rounds_pass(2)
    assert (federation.server_bytes(), looks(federation)) == (sent, asked)
    assert pill(page) == pill(other)
    assert uploads(page) == uploads(other)
    own, meter = counted(page)
    assert own == meter == sent
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.querySelector('header').scrollWidth") <= width
    leave(page)


def test_after_everything_is_deleted_pill_ledger_and_storage_say_so_in_every_tab(
    page: Page, federation: BrowserFederation
) -> None:
    member(page, federation)
    assert "upload" in pill(page)
    other = page.context.new_page()
    open_page(other, federation.coordinator.url)
    leave(page)
    other.wait_for_selector("text=Everything is deleted")
    for tab in (page, other):
        for screen in ("left", "data", "share"):
            go(tab, screen)
            assert pill(tab) == "Everything here is deleted"
            said = tab.locator("header, main").all_inner_texts()
            assert not any(" left" in one or "upload" in one or "Pause" in one for one in said), said
    until(page, lambda: page.evaluate("indexedDB.databases()") == [])
    open_page(page, federation.coordinator.url)
    assert uploads(page) == []
    assert counted(page) == (0, 0)


def test_a_list_of_somebody_else_stands_beside_the_own_likes_and_nothing_of_it_leaves(
    page: Page, federation: BrowserFederation
) -> None:
    def with_kinds(told: bytes) -> bytes:
        read = json.loads(told)
        kinds = ["Film", "Night", "Day"]
        of = [[0, 1] if "Night" in title else [0, 2] for title in read["titles"]]
        return json.dumps({"titles": read["titles"], "kinds": kinds, "of": of}).encode()

    open_page(page, federation.invitation())
    liked = like(page, 3)
    federation.coordinator.lies["/titles.json"] = with_kinds
    open_page(page, federation.coordinator.url)
    own, kept = personal_list(page), json.loads(page.evaluate(KEPT))
    go(page, "start")
    page.click('button:has-text("as if you liked Night")')
    other = personal_list(page)
    assert other
    assert other != own
    likes = [one for one in json.loads(page.evaluate(KEPT)) if isinstance(one, list)]
    assert likes == [one for one in kept if isinstance(one, list)]
    assert page.locator("[data-persona]").count() == 1
    go(page, "start")
    assert page.locator("aside .card").first.locator(".chips li").count() == len(liked)
    choose_share(page, "Everything")
    use(page)
    mine = {one["item"] for one in likes[0]}
    assert set().union(*wait_for_uploads(page, 3)) <= mine  # while the other list is still open
    go(page, "for-you")
    page.click('button:has-text("Back to your own list")')
    page.wait_for_selector("[data-persona]", state="detached")
    leave(page)


def test_odds_of_other_groups_are_not_shown(page: Page, federation: BrowserFederation) -> None:
    open_page(page, federation.invitation())
    like(page)
    choose_share(page, "Everything")
    said = page.locator("main .facts").inner_text()
    assert "not measured for sums of 9 people" in said  # cfpl without noise was, but for other groups
    assert "times in 100" not in said


def test_a_slow_preview_does_not_overwrite_a_newer_one(page: Page, federation: BrowserFederation) -> None:
    page.add_init_script(HOLD_FIRST_PREVIEW)
    open_page(page, federation.invitation())
    like(page)
    go(page, "share")
    page.click('.stops button:has-text("Half")')
    until(page, lambda: page.evaluate("window.release !== undefined"))
    page.click('.stops button:has-text("Everything")')
    page.wait_for_selector("[data-leaves]")
    newer = page.locator("[data-leaves]").inner_text()
    assert "5 of your 5" in newer
    page.evaluate("window.release()")
    page.wait_for_timeout(500)
    assert page.locator("[data-leaves]").inner_text() == newer


def test_a_share_that_uses_no_title_says_so_and_names_the_next(
    page: Page, federation: BrowserFederation
) -> None:
    open_page(page, federation.invitation())
    like(page)
    choose_share(page, "A little")
    assert "None of your titles is used" in page.locator("[data-none-used]").inner_text()
    page.click("[data-none-used] button")
    page.wait_for_selector("[data-none-used]", state="detached")
    page.wait_for_selector("[data-leaves]")
    assert page.locator("[data-share]").inner_text() == "50 %"
    assert page.locator("[data-leaves]").inner_text().startswith("At most 2 of your 5 titles")
