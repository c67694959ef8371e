"""The TypeScript client: its own tests, the same against a real server and worker, and the package as others get it."""

import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clients.node import QUIET, ROOT, copy_client, require_node, run, run_beside
from tests.http.conftest import listening
from tests.worker.conftest import running
from tidings import Config, Engine
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.worker.loop import Worker

EXAMPLE = ROOT / "examples" / "typescript"
NODE_TEST = ("node", "--test", "--test-reporter=spec")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client with its tests, compiled."""
    require_node()
    copy = copy_client(tmp_path_factory.mktemp("typescript"))
    run(copy, "npx", "tsc", "--project", "tsconfig.test.json")
    return copy


@pytest.fixture
async def api(engine: Engine) -> AsyncIterator[dict[str, str]]:
    """A real server and a worker, as a program is told of them."""
    made = await engine.access.create_key(Caller(Workspace(), "test"), "typescript", Role.SYSTEM_ADMIN)
    async with listening(engine, Config(rate_limit=0)) as url, running(Worker(engine)):
        yield {"TIDINGS_URL": url, "TIDINGS_KEY": made.secret}


def test_its_own_tests_pass(client: Path) -> None:
    tests = sorted(str(path.relative_to(client)) for path in (client / ".build" / "tests").glob("*.test.js"))

    said = run(client, *NODE_TEST, *tests)

    assert "fail 0" in said
    assert "skipped 0" in said


async def test_it_works_with_a_real_server(client: Path, api: dict[str, str]) -> None:
    said = await run_beside(client, *NODE_TEST, ".build/tests/live/server.test.js", env=api)

    assert "fail 0" in said
    assert "skipped 0" in said


async def test_its_package_is_installed_compiled_against_and_run(
    client: Path, api: dict[str, str], tmp_path: Path
) -> None:
    run(client, "npm", "pack", "--pack-destination", str(tmp_path), "--loglevel=error")
    [packed] = tmp_path.glob("*.tgz")
    user = tmp_path / "user"
    user.mkdir()
    for name in ("welcome.ts", "tsconfig.json"):
        (user / name).write_text((EXAMPLE / name).read_text())
    package = json.loads((EXAMPLE / "package.json").read_text()) | {"dependencies": {}}
    (user / "package.json").write_text(json.dumps(package))

    run(user, "npm", "install", "--offline", *QUIET, str(packed))
    run(user, str(client / "node_modules" / ".bin" / "tsc"))
    said = await run_beside(user, "node", "dist/welcome.js", env=api)

    assert "refused: " in said
    assert "the same execution: true" in said
    assert "ended: completed\nemail sent" in said
    _has_only_what_others_use(packed)


def _has_only_what_others_use(packed: Path) -> None:
    with tarfile.open(packed) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
        sources = [archive.extractfile(name) for name in archive.getnames() if name.endswith(".js")]
        code = "".join(source.read().decode() for source in sources if source)
    assert {"package.json", "README.md", "dist/index.js", "dist/index.d.ts"} <= names
    assert {name.split("/")[0] for name in names} == {"package.json", "README.md", "dist"}
    assert not [word for word in ("node:", "require(", "process.", "Buffer", "document.", "window.") if word in code]


def test_its_lock_file_names_no_registry_and_nothing_is_needed_at_run_time() -> None:
    lock = json.loads((ROOT / "clients" / "typescript" / "package-lock.json").read_text())
    package = json.loads((ROOT / "clients" / "typescript" / "package.json").read_text())

    assert not [name for name, one in lock["packages"].items() if "resolved" in one]
    assert all("integrity" in one for name, one in lock["packages"].items() if name)
    assert "dependencies" not in package
