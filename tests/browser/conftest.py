"""One browser and one federation for all; every test has a profile of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.federation import BrowserFederation, browser_federation
from tests.browser.visits import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-web")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed: make test-web")
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=found, args=FLAGS.split())
        yield made
        made.close()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserFederation]:
    """A federation that goes on for as long as the tests do."""
    folder = tmp_path_factory.mktemp("federation")
    words = [
        "--model",
        "cfpl",
        "-S",
        "clients=all",
        "-S",
        "rounds=5000",
        "-S",
        "factors=4",
        "-S",
        "prior=false",
    ]
    with browser_federation(folder, *words) as made:
        yield made


@pytest.fixture
def federation(servers: BrowserFederation) -> BrowserFederation:
    """The same, counting anew."""
    servers.forget()
    return servers


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab of a new profile; an error of the page's own code fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    made, errors = context.new_page(), list[str]()
    made.on("pageerror", lambda error: errors.append(str(error)))
    yield made
    context.close()
    assert errors == []
