"""Somebody before a screen: what they do, and everything that must not happen meanwhile."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from playwright.async_api import Browser, ConsoleMessage, Page, Request, Response

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
SHOTS = os.environ.get("SCREENSHOTS", "")
DEADLINE_MS = 20_000
NOTE_VIOLATIONS = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""
Scheme = Literal["light", "dark"]


@dataclass
class Visitor:
    """A page with its own cookies. What its console says, and what its policy blocks, fails the test."""

    page: Page
    url: str
    troubles: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """What a test brings about on purpose: `401` on a path, the start of a line of the console."""
    asked: list[str] = field(default_factory=list)
    """Each request to the API, as `GET /v1/…`."""

    @classmethod
    @asynccontextmanager
    async def arriving(cls, browser: Browser, url: str) -> AsyncIterator[Self]:
        """A new visitor; leaving looks at what went wrong."""
        context = await browser.new_context(
            base_url=url, viewport={"width": 1440, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
        )
        context.set_default_timeout(DEADLINE_MS)
        await context.add_init_script(NOTE_VIOLATIONS)
        page = await context.new_page()
        visitor = cls(page, url)
        page.on("console", visitor._hear)
        page.on("pageerror", lambda error: visitor.troubles.append(f"uncaught: {error}"))
        page.on("request", visitor._note)
        page.on("response", visitor._look)
        yield visitor
        await visitor.assert_calm()
        await context.close()

    async def sign_in(self, email: str, password: str) -> None:
        """By the form, as people do."""
        with self.refused("/v1/session"):
            await self.page.goto("/")
            await self.page.get_by_label("E-mail").fill(email)
        await self.page.get_by_label("Password", exact=True).fill(password)
        await self.page.get_by_role("button", name="Sign in").click()
        await self.page.get_by_role("heading", name="Home").wait_for()

    async def open(self, path: str, heading: str | None = None) -> None:
        """Go there, and wait until nothing more is asked for."""
        await self.page.goto(path)
        await self.page.get_by_role("heading", level=1).first.wait_for()
        if heading:
            await self.page.get_by_role("heading", level=1, name=heading).wait_for()
        await self.settle()

    async def settle(self) -> None:
        """Wait until the page shows no skeleton and no spinner."""
        await self.page.wait_for_function(
            "() => !document.querySelector('[aria-busy=true]') && document.fonts.status === 'loaded'"
        )

    async def wear(self, scheme: Scheme) -> None:
        """Switch between light and dark as the system does."""
        await self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

    async def violations(self) -> Sequence[str]:
        """What axe has against the page: the rule, and the first element that breaks it."""
        await self.page.evaluate(AXE.read_text())
        found: dict[str, Any] = await self.page.evaluate(
            "rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", RULES
        )
        return [
            f"{one['id']}: {node['html'][:160]} ({json.dumps(node['any'] or node['all'] or node['none'])[:240]})"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    async def shoot(self, name: str) -> None:
        """Take a screenshot where somebody asks for them (`SCREENSHOTS=directory`)."""
        if SHOTS:
            await self.page.screenshot(path=f"{SHOTS}/{name}.png")

    def refused(self, path: str) -> "Expecting":
        """Within this block, requests of this path may be refused."""
        return Expecting(self, path)

    async def assert_calm(self) -> None:
        """Nothing on the console, nothing uncaught, nothing that the policy blocked."""
        blocked = await self.page.evaluate("() => window.violations ?? []")
        assert [*self.troubles, *blocked] == []

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "warning"} or self._is_expected(message.location.get("url", "")):
            return
        if "Failed to load resource" not in message.text:  # the answer itself is looked at below
            self.troubles.append(f"{message.type}: {message.text}")

    def _note(self, request: Request) -> None:
        if "/v1/" in request.url:
            self.asked.append(f"{request.method} {request.url.removeprefix(self.url)}")

    def _look(self, response: Response) -> None:
        if response.status >= 400 and not self._is_expected(response.url):
            self.troubles.append(f"{response.status} for {response.request.method} {response.url}")

    def _is_expected(self, url: str) -> bool:
        return any(path in url for path in self.expected)


@dataclass
class Expecting:
    """What a test brings about on purpose is no trouble."""

    visitor: Visitor
    path: str

    def __enter__(self) -> None:
        self.visitor.expected.append(self.path)

    def __exit__(self, *_: object) -> None:
        """It stays expected: an answer may still be on its way."""
