"""What administrators set up: connections, people, keys, and the log of it."""

import json

from playwright.async_api import Browser, expect

from tests.web.people import HOME, PASSWORD, by, invite
from tests.web.visitor import Visitor
from tidings.domain.roles import Role
from tidings.engine import Engine

SECRET = "re_a-secret-that-nobody-reads-again"


async def test_a_connection_is_added_changed_and_removed_and_its_secret_never_shown(
    engine: Engine, ann: Visitor
) -> None:
    page = ann.page
    await ann.open("/connections", "Connections")
    await page.get_by_role("link", name="Add a connection").first.click()
    await page.get_by_label("Search providers").fill("resend")
    await page.get_by_role("link", name="Resend").click()
    await page.get_by_label("Name", exact=True).fill("resend-eu")
    await page.get_by_label("API key").fill(SECRET)
    await page.get_by_text("More settings").click()
    await page.get_by_label("From", exact=True).fill("not an address")
    with ann.refused("/v1/connections"):
        await page.get_by_role("button", name="Add the connection").click()
        await expect(page.get_by_label("From", exact=True)).to_have_attribute("aria-invalid", "true")

    await page.get_by_label("From", exact=True).fill("Us <us@example.com>")
    await page.get_by_label("Each minute").first.fill("600")
    await page.get_by_role("button", name="Add the connection").click()
    await expect(page.get_by_role("heading", level=1, name="resend-eu")).to_be_visible()
    made = await engine.connections.find(HOME, "resend-eu")
    assert (made.limits, made.credentials) == ({"perMinute": 600}, ["apiKey"])

    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Calls at once").fill("4")
    assert SECRET not in await page.content()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Calls at once")).to_be_visible()
    changed = await engine.connections.find(HOME, "resend-eu")
    assert (changed.limits, changed.credentials) == ({"perMinute": 600, "concurrency": 4}, ["apiKey"])

    await page.get_by_role("button", name="More to do").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await page.get_by_label("Type “resend-eu” to confirm").fill("resend-eu")
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("heading", level=1, name="Connections")).to_be_visible()
    await expect(page.get_by_role("link", name="resend-eu")).to_have_count(0)


async def test_somebody_invited_comes_in_by_the_link_and_sees_what_their_role_may(
    engine: Engine, ann: Visitor, browser: Browser, url: str
) -> None:
    page = ann.page
    await ann.open("/people", "People and keys")
    await page.get_by_role("button", name="Invite somebody").click()
    await page.get_by_label("E-mail").fill("bob@example.com")
    await page.get_by_label("Name").fill("Bob")
    await page.get_by_role("dialog").get_by_role("button", name="Invite", exact=True).click()
    link = await page.get_by_label("Link for Bob").input_value()
    await page.get_by_role("button", name="I have copied it").click()
    assert link not in await page.content()

    async with Visitor.arriving(browser, url) as bob:
        with bob.refused("/v1/session"):
            await bob.page.goto("/welcome" + link.partition("/welcome")[2])
        await bob.page.get_by_label("Password").fill(PASSWORD)
        await bob.page.get_by_role("button").last.click()
        await expect(bob.page.get_by_role("heading", name="Home")).to_be_visible()
        sections = bob.page.get_by_role("navigation", name="Sections")

        await expect(sections.get_by_role("link", name="Connections")).to_be_visible()
        for hidden in ("People and keys", "Audit log", "Workspaces"):
            await expect(sections.get_by_role("link", name=hidden)).to_have_count(0)
        await bob.open("/people")
        await expect(bob.page.get_by_text("Not for your roles")).to_be_visible()
        await bob.open("/connections", "Connections")
        await expect(bob.page.get_by_role("link", name="Add a connection")).to_have_count(0)


async def test_roles_are_changed_and_a_person_is_disabled(engine: Engine, ann: Visitor) -> None:
    id = await invite(engine, "bob@example.com", Role.READER)
    page = ann.page
    await ann.open(f"/people/{id}", "Bob")
    await page.get_by_label("Trigger operator").check()
    await page.get_by_role("button", name="Save").last.click()
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    assert set((await engine.users.get(by(), id)).workspaces[0].roles) == {"reader", "triggerOperator"}

    await page.get_by_role("button", name="More to do").click()
    await page.get_by_role("menuitem", name="Disable").click()
    await page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    await expect(page.get_by_text("Disabled", exact=True).first).to_be_visible()

    assert (await engine.users.get(by(), id)).disabled_at


async def test_a_key_is_shown_once_and_opens_nothing_after_it_is_revoked(engine: Engine, ann: Visitor) -> None:
    page = ann.page
    await ann.open("/people/keys", "People and keys")
    await page.get_by_role("button", name="Make a key").first.click()
    await page.get_by_label("Name").fill("signup form")
    await page.get_by_label("Role").select_option(label="Publishable")
    await expect(page.get_by_label("Role").get_by_role("option", name="Operator", exact=True)).to_have_count(0)
    await page.get_by_label("Workflows it may start").fill("welcome")
    await page.get_by_role("button", name="Make the key").click()
    secret = await page.get_by_label("Secret of signup form").input_value()
    await page.get_by_role("button", name="I have copied it").click()
    assert await engine.access.authenticate(secret)
    assert secret not in await page.content()

    await page.get_by_role("button", name="Revoke signup form?").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_role("row", name="signup form").get_by_text("Revoked")).to_be_visible()

    assert await engine.access.authenticate(secret) is None


async def test_the_audit_log_is_narrowed_in_the_address_and_says_what_changed(engine: Engine, ann: Visitor) -> None:
    made = await engine.access.create_key(by("user:bob@example.com"), "importer", Role.WORKFLOW_MANAGER)
    await ann.open("/audit-log?actor=bob@&subjectKind=api_key", "Audit log")
    rows = ann.page.get_by_role("row").filter(has=ann.page.get_by_role("gridcell"))

    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("bob@example.com")
    await rows.get_by_role("button", name="Show all of it").click()

    shown = await ann.page.locator("pre").inner_text()
    assert json.loads(shown) == {"name": made.name, "role": "workflowManager"}
