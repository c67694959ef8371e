"""A real browser on the real page: Chromium, the API on a socket, and a worker beside it where a test wants one.

`make test-web` builds the page and gets a Chromium where it can; elsewhere these tests are skipped, with the reason.
"""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from tests.http.conftest import listening
from tests.web.chromium import find_chromium
from tests.web.people import PASSWORD, invite
from tests.web.scene import Scene, fill
from tests.web.visitor import Visitor
from tests.worker.conftest import live_engine
from tidings import Config
from tidings.domain.connections.vendors import Vendors
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.providers.catalogue import Catalogue
from tidings.providers.fake import FakeProvider
from tidings.resources import passwords
from tidings.storage.database import Database
from tidings.storage.vault import Vault

IS_ASKED_FOR = "TIDINGS_TEST_WEB" in os.environ
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""A browser in a test asks nobody but the server of the test."""


@pytest.fixture(scope="session", autouse=True)
def _what_it_needs() -> None:
    if not IS_ASKED_FOR:
        pytest.skip("a browser is asked for by `make test-web`")
    if not (Path(str(files("tidings"))) / "page" / "index.html").is_file():
        pytest.skip("the page is not built; run `make web`")
    if find_chromium() is None:
        pytest.skip("there is no Chromium; install it, or name one in TIDINGS_CHROMIUM")


@pytest.fixture
async def engine(db: Database, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Engine]:
    """An engine on the database's own clock, as a browser has the real time."""
    monkeypatch.setattr(passwords, "MEMORY_KIB", 8)
    monkeypatch.setattr(passwords, "ITERATIONS", 1)
    live = await live_engine(db, provider)
    vendors = Vendors(Catalogue(), call_deadline=timedelta(seconds=10))
    engine = Engine(replace(live.kernel, vendors=vendors, vault=Vault([b"k" * 32])))
    yield engine
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()


@pytest.fixture
async def url(engine: Engine) -> AsyncIterator[str]:
    async with listening(engine, Config(rate_limit=0)) as address:
        yield address


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=QUIET)
        yield browser
        await browser.close()


@pytest.fixture
async def stranger(browser: Browser, url: str) -> AsyncIterator[Visitor]:
    """Somebody who has not signed in."""
    async with Visitor.arriving(browser, url) as visitor:
        yield visitor


@pytest.fixture
async def ann(engine: Engine, stranger: Visitor) -> Visitor:
    """The administrator, signed in."""
    await invite(engine, "ann@example.com", Role.SYSTEM_ADMIN)
    await stranger.sign_in("ann@example.com", PASSWORD)
    return stranger


@pytest.fixture
async def scene(engine: Engine, provider: FakeProvider) -> Scene:
    """One of everything."""
    return await fill(engine, provider)
