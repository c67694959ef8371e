"""The page at `/`, from a folder that stands for a build: no test here needs Node."""

import gzip
import re
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from tidings.config import Config
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.http.page import NONCE, PageRoute

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "gzip"}
INDEX = f'<!doctype html><meta name="csp-nonce" content="{NONCE}"><div id="root"></div>'
SCRIPT = b"console.log('tidings');" * 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a build leaves behind."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(INDEX)
    (tmp_path / "frame.html").write_text("<!doctype html><title>Message</title>")
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "docs.html").write_text("<!doctype html>")
    (tmp_path / "sources.sha256").write_text("0")
    (tmp_path / "assets/index-1a.js").write_bytes(SCRIPT)
    (tmp_path / "assets/index-1a.js.gz").write_bytes(gzip.compress(SCRIPT))
    return tmp_path


@pytest.fixture
def app(engine: Engine, config: Config, folder: Path) -> FastAPI:
    return with_page(create_app(engine, config), folder)


def with_page(app: FastAPI, folder: Path) -> FastAPI:
    app.router.routes[:] = [*(one for one in app.router.routes if not isinstance(one, PageRoute)), PageRoute(folder)]
    return app


async def test_every_address_of_the_page_is_the_page(http: httpx2.AsyncClient) -> None:
    for path in ["/", "/workflows", "/executions/0192-4f?status=failed", "/welcome"]:
        answer = await http.get(path, headers=BROWSER)

        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert '<div id="root">' in answer.text


async def test_the_page_allows_no_script_and_no_style_but_its_own(http: httpx2.AsyncClient) -> None:
    first, second = [await http.get("/", headers=BROWSER) for _ in range(2)]

    policy = first.headers["content-security-policy"]
    nonce = re.search(r"'nonce-([\w-]{20,})'", policy)
    assert nonce
    assert f'content="{nonce[1]}"' in first.text
    assert nonce[1] not in second.text
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["x-frame-options"] == "DENY"


async def test_programs_still_hear_that_there_is_nothing(http: httpx2.AsyncClient) -> None:
    plain = await http.get("/nowhere", headers={"Accept": "*/*"})
    of_the_api = await http.get("/v1/nowhere", headers=BROWSER)
    asset = await http.get("/assets/index-0.js", headers=BROWSER)
    posted = await http.post("/workflows", headers=BROWSER)

    for answer in (plain, of_the_api, asset, posted):
        assert answer.status_code == 404
        assert answer.json()["code"] == "not_found"


async def test_the_api_and_its_description_stay_where_they_are(http: httpx2.AsyncClient) -> None:
    docs = await http.get("/docs", headers=BROWSER)
    health = await http.get("/v1/health", headers=BROWSER)

    assert "root" not in docs.text
    assert health.headers["content-type"] == "application/json"


async def test_assets_are_compressed_and_kept_for_ever(http: httpx2.AsyncClient) -> None:
    packed = await http.get("/assets/index-1a.js", headers=BROWSER)
    plain = await http.get("/assets/index-1a.js", headers={"Accept-Encoding": "identity"})

    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(SCRIPT)
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content == SCRIPT
    assert "immutable" in packed.headers["cache-control"]
    assert packed.headers["content-type"] == "text/javascript; charset=utf-8"
    assert packed.headers["vary"] == "Accept-Encoding"


async def test_what_a_browser_has_is_not_sent_again(http: httpx2.AsyncClient) -> None:
    first = await http.get("/frame.html")

    again = await http.get("/frame.html", headers={"If-None-Match": f'W/{first.headers["etag"]}, "other"'})

    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == first.headers["etag"]


async def test_head_says_the_same_without_a_body(http: httpx2.AsyncClient) -> None:
    for path in ["/", "/assets/index-1a.js"]:
        whole = await http.get(path, headers=BROWSER)

        head = await http.head(path, headers=BROWSER)

        assert head.status_code == 200
        assert head.content == b""
        assert head.headers["content-length"] == whole.headers["content-length"]


async def test_the_frame_of_messages_has_no_origin_and_no_network(http: httpx2.AsyncClient) -> None:
    frame = await http.get("/frame.html")
    with_images = await http.get("/frame.html?images=1")

    policy = frame.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; script-src 'self';")
    assert "allow-same-origin" not in policy
    assert "img-src data:;" in policy
    assert "img-src data: https: http:;" in with_images.headers["content-security-policy"]
    assert frame.headers["x-frame-options"] == "SAMEORIGIN"


async def test_what_the_build_keeps_for_itself_is_not_served(http: httpx2.AsyncClient) -> None:
    for path in [
        "/manifest.json",
        "/docs.html",
        "/sources.sha256",
        "/assets/index-1a.js.gz",
        "/assets/../index.html.gz",
    ]:
        assert (await http.get(path)).status_code == 404


async def test_a_page_that_is_not_built_says_how_to_build_it(
    app: FastAPI, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    with_page(app, tmp_path / "none")

    answer = await http.get("/", headers=BROWSER)

    assert answer.status_code == 503
    assert "make web" in answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_a_page_that_is_built_later_is_there_without_a_restart(
    app: FastAPI, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    built = tmp_path / "later"
    with_page(app, built)
    assert (await http.get("/", headers=BROWSER)).status_code == 503

    built.mkdir()
    (built / "index.html").write_text(INDEX)

    assert (await http.get("/", headers=BROWSER)).status_code == 200
