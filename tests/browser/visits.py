"""What a visitor does on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 60_000  # milliseconds, of a busy machine
READY = "#app[data-ready]"


def open_page(page: Page, link: str) -> None:
    """Come by a link, and wait until everything is there."""
    page.goto(link)
    page.wait_for_selector(READY)


def go(page: Page, screen: str) -> None:
    """Choose a screen."""
    page.click(f'nav a[href="#/{screen}"]')
    page.wait_for_selector(f'nav a[href="#/{screen}"][aria-current]')


def like(page: Page, n: int = 5) -> list[str]:
    """Like so many of what is shown; their titles."""
    go(page, "start")
    liked = []
    for _ in range(n):
        free = page.locator(".item:not(.on)").first
        liked.append(free.locator(".title").inner_text().removeprefix("Like").strip())
        free.click()
        page.wait_for_selector(f".chips li:nth-child({len(liked)})")
    return liked


def personal_list(page: Page) -> list[str]:
    """The titles of the list that is hers."""
    go(page, "for-you")
    page.wait_for_selector('[data-list="personal"] li')
    return [one.strip() for one in page.locator('[data-list="personal"] h2').all_inner_texts()]


def choose_share(page: Page, stop: str) -> None:
    """Put the slider on a stop and wait for what would leave."""
    go(page, "share")
    page.click(f'.stops button:has-text("{stop}")')
    if stop != "Nothing":
        page.wait_for_selector("[data-leaves]")


def use(page: Page) -> None:
    """Allow what the slider says, and sums without noise where everybody can read them."""
    tick = page.locator("[data-exact] input")
    if tick.count():
        assert page.locator('.choice button:has-text("Use this")').is_disabled()
        tick.check()
    page.click('.choice button:has-text("Use this")')
    page.wait_for_selector("[data-said]:not(:empty), [role=alert] p")
    assert alarm(page) == "", alarm(page)


def uploads(page: Page) -> list[set[int]]:
    """The items of every upload the ledger has."""
    go(page, "left")
    page.wait_for_selector("[data-verdict]")
    found = [one.get_attribute("data-upload") or "" for one in page.locator("[data-upload]").all()]
    return [{int(item) for item in one.split()} for one in found]


def wait_for_uploads(page: Page, n: int) -> list[set[int]]:
    """Until so many uploads are in the ledger."""
    go(page, "left")
    page.wait_for_selector(f"[data-upload] >> nth={n - 1}", state="attached")
    return uploads(page)


def counted(page: Page) -> tuple[int, int]:
    """Bytes by the page and by the meter."""
    go(page, "how")
    go(page, "left")
    page.wait_for_selector("[data-verdict]")
    verdict = page.locator("[data-verdict]")
    return int(verdict.get_attribute("data-page") or -1), int(verdict.get_attribute("data-meter") or -1)


def alarm(page: Page) -> str:
    """The sentence about what went wrong, "" for none."""
    return str(page.locator("[role=alert]").first.inner_text()).strip()


def leave(page: Page) -> None:
    """Delete everything."""
    go(page, "data")
    page.click('button:has-text("Delete everything")')
    page.click('button:has-text("Yes, delete everything")')
    page.wait_for_selector("text=Everything is deleted")


def until(page: Page, happened: Callable[[], bool]) -> None:
    """Wait for what must happen outside of the page, while the page goes on."""
    for _ in range(PATIENCE // 20):
        if happened():
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"it did not happen in {PATIENCE // 1000} s")
