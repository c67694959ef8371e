"""Ask a list of advisories about every pinned version: `make audit`.

Exit status 0 only if the list was asked about every version and knows of nothing; 1 if it knows of something; 2 if it
could not be asked, and then it says UNCHECKED: a list that is out of reach must never look like a pass.
"""

import argparse
import json
import os
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

from tools.pins import Pinned, every_pin

URL = "https://api.osv.dev"
URL_VARIABLE = "AUDIT_URL"
BATCH = 500
SECONDS = 30.0
LARGEST_ANSWER = 20_000_000
MOST_PAGES = 50
PASSED, FOUND, UNCHECKED = 0, 1, 2
Found = Mapping[Pinned, Sequence[str]]


class OutOfReach(Exception):
    """Why the list could not be asked."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, and print what the list knows."""
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__)
    parser.add_argument("--url", default=os.environ.get(URL_VARIABLE) or URL, help="a list that speaks OSV's API")
    url = parser.parse_args(arguments).url.rstrip("/")
    pins = every_pin()
    try:
        found = ask(url, pins)
    except OutOfReach as error:
        print(f"UNCHECKED: none of {len(pins)} versions was checked: {error}", file=sys.stderr)
        print(f"Set {URL_VARIABLE} to a list that speaks OSV's API, and run it again.", file=sys.stderr)
        return UNCHECKED
    for pinned, advisories in found.items():
        print(f"{pinned.ecosystem} {pinned.name} {pinned.version}: {', '.join(advisories)}")
    print(f"{len(pins)} versions checked at {url}: {len(found)} with advisories")
    return FOUND if found else PASSED


def ask(url: str, pins: Sequence[Pinned]) -> Found:
    """Return the advisories of each version that has any; each with what it is about, if the list says it."""
    known = {one: ids for first in range(0, len(pins), BATCH) for one, ids in _ask_batch(url, pins[first:][:BATCH])}
    return {one: [_described(url, id) for id in ids] for one, ids in known.items() if ids}


def _ask_batch(url: str, pins: Sequence[Pinned]) -> list[tuple[Pinned, list[str]]]:
    found: dict[Pinned, list[str]] = {one: [] for one in pins}
    open_queries = {one: _query(one) for one in pins}
    for _ in range(MOST_PAGES):
        if not open_queries:
            return list(found.items())
        results = _post(f"{url}/v1/querybatch", {"queries": list(open_queries.values())}).get("results")
        if not isinstance(results, list) or len(results) != len(open_queries):
            raise OutOfReach(f"{url} answers {len(open_queries)} questions with something else")
        again: dict[Pinned, dict[str, Any]] = {}
        for (one, query), result in zip(open_queries.items(), results, strict=True):
            found[one] += [str(advisory["id"]) for advisory in result.get("vulns") or []]
            if token := result.get("next_page_token"):
                again[one] = {**query, "page_token": token}
        open_queries = again
    raise OutOfReach(f"{url} goes on for ever")


def _query(one: Pinned) -> dict[str, Any]:
    return {"package": {"name": one.name, "ecosystem": one.ecosystem}, "version": one.version}


def _described(url: str, id: str) -> str:
    try:
        summary = _ask(urllib.request.Request(f"{url}/v1/vulns/{quote(id, safe='')}")).get("summary")
    except OutOfReach:
        return id  # that there is one is what counts
    return f"{id} ({summary})" if summary else id


def _post(url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    return _ask(urllib.request.Request(url, json.dumps(body).encode(), headers))


def _ask(request: urllib.request.Request) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found = json.loads(answer.read(LARGEST_ANSWER))
    except (OSError, HTTPException, ValueError) as error:
        raise OutOfReach(f"{request.full_url}: {error}") from error
    if not isinstance(found, dict):
        raise OutOfReach(f"{request.full_url} answers no object")
    return found


if __name__ == "__main__":
    sys.exit(main())
