"""Every screen, in light and dark: nothing that axe objects to, nothing on the console, nothing the policy blocks."""

import re

import pytest

from tests.web.scene import Scene
from tests.web.visitor import ROOT, Scheme, Visitor

REGISTRY = ROOT / "web" / "src" / "screens" / "registry.ts"
PATHS = re.findall(r'^  screen\(\s*"([^"]+)"', REGISTRY.read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", PATHS)
async def test_a_screen_is_for_everybody_in_light_and_dark(ann: Visitor, scene: Scene, path: str) -> None:
    schemes: tuple[Scheme, ...] = ("light", "dark")
    await ann.open(scene.path(path))

    found = {}
    for scheme in schemes:
        await ann.wear(scheme)
        found[scheme] = [*await ann.violations()]
        await ann.shoot(f"{path.strip('/').replace('/', '-').replace(':', '') or 'home'}-{scheme}")

    assert found == {"light": [], "dark": []}
