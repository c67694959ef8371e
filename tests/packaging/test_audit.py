"""`make audit`: a list of advisories is asked about every pinned version, and one out of reach is never a pass."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tools import audit
from tools.pins import every_pin

Answer = Callable[[str, Any], tuple[int, Any]]
"""What the list answers to a path and a body."""


@contextmanager
def advisory_list(answer: Answer) -> Iterator[tuple[str, list[Any]]]:
    """A server that speaks OSV's API; gives its address and the bodies it was sent."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(*answer(self.path, asked[-1]))

        def do_GET(self) -> None:
            self._answer(*answer(self.path, None))

        def _answer(self, status: int, body: Any) -> None:
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def knows(name: str, *pages: list[str]) -> Answer:
    """A list that knows advisories of one package, on several pages."""

    def answer(path: str, body: Any) -> tuple[int, Any]:
        if path.startswith("/v1/vulns/"):
            return 200, {"id": path.rpartition("/")[2], "summary": "it breaks"}
        return 200, {"results": [_result(query) for query in body["queries"]]}

    def _result(query: Any) -> dict[str, Any]:
        if query["package"]["name"] != name:
            return {}
        place = int(query.get("page_token") or 0)
        more = {"next_page_token": str(place + 1)} if place + 1 < len(pages) else {}
        return {"vulns": [{"id": id} for id in pages[place]], **more}

    return answer


def test_every_pinned_version_is_asked_about_and_nothing_known_is_a_pass(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "BATCH", 50)
    with advisory_list(knows("nothing")) as (url, asked):
        status = audit.main(["--url", f"{url}/"])

    sent = [
        (one["package"]["ecosystem"], one["package"]["name"], one["version"])
        for body in asked
        for one in body["queries"]
    ]
    assert (status, sorted(sent)) == (0, [(one.ecosystem, one.name, one.version) for one in every_pin()])
    assert {"PyPI", "npm"} == {ecosystem for ecosystem, _, _ in sent}
    assert {"pip", "setuptools", "asyncpg", "ruff"} <= {name for _, name, _ in sent}
    assert f"{len(sent)} versions checked" in capsys.readouterr().out


def test_what_the_list_knows_is_named_from_all_its_pages(capsys: pytest.CaptureFixture[str]) -> None:
    with advisory_list(knows("idna", ["GHSA-1"], ["PYSEC-2", "CVE-3"])) as (url, _):
        status = audit.main(["--url", url])

    said = capsys.readouterr().out
    assert status == 1
    assert "GHSA-1 (it breaks), PYSEC-2 (it breaks), CVE-3 (it breaks)" in said
    assert "1 with advisories" in said


@pytest.mark.parametrize(
    "answer",
    [
        lambda *_: (500, {}),
        lambda *_: (200, b"<html>"),
        lambda *_: (200, []),
        lambda *_: (200, {}),
        lambda *_: (200, {"results": [{}]}),
        lambda _, body: (200, {"results": [{"next_page_token": "x"} for _ in body["queries"]]}),
    ],
    ids=["fails", "a page", "a list", "nothing", "too few", "without end"],
)
def test_an_answer_that_is_none_is_no_pass(answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    with advisory_list(answer) as (url, _):
        status = audit.main(["--url", url])

    assert status == 2
    assert capsys.readouterr().err.startswith("UNCHECKED: none of ")


def test_a_list_out_of_reach_is_no_pass(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with advisory_list(knows("nothing")) as (url, _):
        gone = url
    monkeypatch.setenv(audit.URL_VARIABLE, gone)

    assert audit.main([]) == 2
    assert "UNCHECKED" in capsys.readouterr().err
