"""What the API tells browsers and proxies: TLS, whose address counts, and headers that keep answers in bounds."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest
import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from tests.http.conftest import Person, admin, app, config, http  # noqa: F401
from tidings.config import Config, load_config
from tidings.domain.errors import ConfigInvalid
from tidings.engine import Engine
from tidings.http import docs, edge
from tidings.http.server import ApiServer, check_tls


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    folder, key = tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tidings")]), datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(private(key, serialization.NoEncryption()))
    (folder / "locked.pem").write_bytes(private(key, serialization.BestAvailableEncryption(b"secret")))
    (folder / "other.pem").write_bytes(private(ec.generate_private_key(ec.SECP256R1()), serialization.NoEncryption()))
    return folder / "cert.pem", folder / "key.pem"


def private(key: ec.EllipticCurvePrivateKey, locked: serialization.KeySerializationEncryption) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)


@asynccontextmanager
async def serving(engine: Engine, **settings: object) -> AsyncIterator[ApiServer]:
    server = ApiServer(engine, Config(host="127.0.0.1", port=0, rate_limit=0, **settings))  # type: ignore[arg-type]
    running = asyncio.create_task(server.run())
    try:
        await until(lambda: server.is_answering)
        yield server
    finally:
        server.drain()
        await running


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.005)


async def test_with_a_certificate_the_api_speaks_tls_and_nothing_else(engine: Engine, tls: tuple[Path, Path]) -> None:
    trusting = ssl.create_default_context(cafile=str(tls[0]))
    async with serving(engine, tls_cert=tls[0], tls_key=tls[1]) as server:
        assert server.url.startswith("https://127.0.0.1:")
        async with httpx2.AsyncClient(verify=trusting) as client:
            answer = await client.get(f"{server.url}/v1/health")
        async with httpx2.AsyncClient() as plain:
            with pytest.raises(httpx2.TransportError):
                await plain.get(f"{server.url.replace('https', 'http')}/v1/health")

    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize(
    ("cert", "key", "told"),
    [
        ("cert.pem", None, "tls_cert is set without tls_key"),
        (None, "key.pem", "tls_key is set without tls_cert"),
        ("cert.pem", "gone.pem", "gone.pem', which is not a file"),
        ("key.pem", "key.pem", "cannot be used"),
        ("cert.pem", "other.pem", "cannot be used"),
        ("cert.pem", "locked.pem", "has no password"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_told_at_the_start(
    tls: tuple[Path, Path], cert: str | None, key: str | None, told: str
) -> None:
    folder = tls[0].parent
    paths = {"tls_cert": cert and folder / cert, "tls_key": key and folder / key}

    with pytest.raises(ConfigInvalid, match=told):
        check_tls(Config(**paths))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("host", "warned"), [("0.0.0.0", True), ("::", True), ("127.0.0.1", False), ("::1", False), ("localhost", False)]
)
def test_whoever_listens_to_others_without_tls_is_warned(host: str, warned: bool) -> None:
    with structlog.testing.capture_logs() as logs:
        check_tls(Config(host=host))

    assert [one["event"] for one in logs] == (["no_tls"] if warned else [])


# Behind a proxy


@pytest.mark.parametrize(
    ("proxies", "sent", "seen"),
    [
        ((), "203.0.113.7", "http 127.0.0.1"),
        (("127.0.0.0/8",), "203.0.113.7", "https 203.0.113.7"),
        (("192.0.2.1",), "203.0.113.7", "http 127.0.0.1"),
        # What the client itself claims stands before what the proxy has seen.
        (("127.0.0.1",), "10.9.9.9, 203.0.113.7", "https 203.0.113.7"),
    ],
    ids=["none", "a network", "another", "a client that claims to be somebody else"],
)
async def test_only_a_named_proxy_says_whose_address_counts(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, proxies: tuple[str, ...], sent: str, seen: str
) -> None:
    found: list[str] = []
    honest = edge.HttpEdge.__call__

    async def note(self: edge.HttpEdge, scope: Scope, receive: Receive, send: Send) -> None:
        found.append(f"{scope['scheme']} {scope['client'][0]}")
        await honest(self, scope, receive, send)

    monkeypatch.setattr(edge.HttpEdge, "__call__", note)
    headers = {"X-Forwarded-For": sent, "X-Forwarded-Proto": "https"}
    async with serving(engine, forwarded_allow_ips=proxies) as server, httpx2.AsyncClient() as client:
        await client.get(f"{server.url}/v1/health", headers=headers)

    assert found == [seen]


def test_proxies_are_named_by_address(tmp_path: Path) -> None:
    found = load_config({"forwarded_allow_ips": "10.0.0.7, 172.16.0.0/12"}, {}, tmp_path)

    assert found.forwarded_allow_ips == ("10.0.0.7", "172.16.0.0/12")
    for wrong in ("*", "proxy.example.com", ""):
        with pytest.raises(ConfigInvalid, match="addresses or networks"):
            load_config({"forwarded_allow_ips": wrong}, {}, tmp_path)


# Headers


async def test_every_answer_keeps_browsers_within_bounds(admin: Person, http: httpx2.AsyncClient) -> None:  # noqa: F811
    answers = [
        await admin.get("/v1/contacts"),
        await http.get("/v1/contacts"),
        await http.get("/nowhere"),
        await http.get("/v1/health"),
        await http.get("/docs"),
        await http.get("/openapi.json"),
        await http.post("/functions/v1/workflow-enqueue", json={"action": "health"}),
    ]

    wanted: Mapping[str, str] = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
    }
    for one in answers:
        assert wanted.items() <= dict(one.headers).items(), one.url
        assert "frame-ancestors 'none'" in one.headers["content-security-policy"]
        assert "unsafe-inline" not in one.headers["content-security-policy"]
        assert "strict-transport-security" not in one.headers  # there is no TLS
        assert one.headers["cache-control"] == docs.FRESH["Cache-Control"] if one in answers[4:6] else "no-store"


async def test_the_page_has_no_script_or_style_inside(http: httpx2.AsyncClient) -> None:  # noqa: F811
    page = (await http.get("/docs")).text
    parts = {name: await http.get(name) for name in ("/docs.js", "/docs.css")}

    assert "<style" not in page
    assert '<script src="/docs.js" defer></script>' in page
    assert 'href="/docs.css"' in page
    assert {name: one.headers["content-type"].partition(";")[0] for name, one in parts.items()} == {
        "/docs.js": "text/javascript",
        "/docs.css": "text/css",
    }
    for inline in ("style=", "onclick", "javascript:", "innerHTML"):
        assert inline not in page + parts["/docs.js"].text


async def test_the_description_is_made_once(http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    first = await http.get("/openapi.json")
    monkeypatch.setattr(FastAPI, "openapi", None)
    monkeypatch.setattr("tidings.http.app.describe", None)
    second = await http.get("/openapi.json")

    assert (first.status_code, first.json()["openapi"]) == (200, "3.1.0")
    assert first.content == second.content
