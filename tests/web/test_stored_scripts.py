"""A script in a field of anything is text: on no screen does it run, nor does it reach the session."""

from playwright.async_api import Frame

from tests.web.scene import fill
from tests.web.test_screens import PATHS
from tests.web.visitor import Visitor
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

SCRIPT = "<img src=x onerror=\"top.ran='img'\"><script>top.ran='script'</script><svg onload=\"top.ran='svg'\">"
RAN = "() => [window.ran, document.querySelectorAll('[onerror], [onload]').length]"


async def test_no_stored_script_runs_on_any_screen(engine: Engine, provider: FakeProvider, ann: Visitor) -> None:
    scene = await fill(engine, provider, said=SCRIPT)
    ann.expected.append("/frame.html")  # where its policy says that it blocked what a letter holds
    ran = {}

    for path in PATHS:
        await ann.open(scene.path(path))
        found = await ann.page.evaluate(RAN)
        if found != [None, 0] or any([await reaches_cookies(frame) for frame in ann.page.frames[1:]]):
            ran[path] = found

    assert ran == {}


async def reaches_cookies(frame: Frame) -> bool:
    """Whether what stands in a frame has the page's origin."""
    return bool(await frame.evaluate("() => { try { return parent.document !== null } catch { return false } }"))
