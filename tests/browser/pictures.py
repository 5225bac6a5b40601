"""Pictures of every screen for the documentation: make pictures."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS
from tests.browser.visits import PATIENCE, choose_share, go, open_page, use, wait_for_uploads

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "images" / "page"
SIZES = {"phone": (390, 844), "desktop": (1280, 860)}
SCREENS = ("start", "for-you", "share", "left", "data", "how")


def main() -> None:
    """The demo, a visitor who shares half, and a picture of everything she sees."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    example = [sys.executable, str(ROOT / "examples" / "browser_federation.py")]
    found = shutil.which("chromium")
    with subprocess.Popen(example, stdout=subprocess.PIPE, text=True) as demo, sync_playwright() as playwright:
        assert demo.stdout is not None
        try:
            link = next(line.split()[1] for line in demo.stdout if line.startswith("open "))
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS.split())
            visit(browser, link)
            browser.close()
        finally:
            demo.terminate()


def visit(browser: Browser, link: str) -> None:
    """One visitor, whom everything is asked at once; her window changes, and day and night."""
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1280, "height": 860})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    open_page(page, link)
    for title in ("Star Wars", "Alien", "Blade Runner", "Matrix", "Terminator", "Fargo"):
        page.fill("input[type=search]", title)
        page.locator(".item:not(.on)").first.click()
        page.wait_for_timeout(200)
    page.fill("input[type=search]", "")
    choose_share(page, "Half")
    use(page)
    wait_for_uploads(page, 3)
    page.click('header button:has-text("Pause")')
    for screen in SCREENS:
        go(page, screen)
        if screen == "share":
            page.wait_for_selector("[data-leaves]")
        page.wait_for_timeout(500)
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                take(page, FOLDER / f"{screen}-{size}-{scheme}.png")
    context.close()


def take(page: Page, path: Path) -> None:
    """A small file: as many colours as a page has."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.png"
        page.screenshot(path=raw)
        with Image.open(raw) as picture:
            picture.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
