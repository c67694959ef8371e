"""The bill of materials: what CycloneDX asks of one, everything that is pinned, and the same bytes again."""

import json
import re
from typing import Any

import pytest

from tools.pins import ROOT, read_pins
from tools.sbom import make_sbom

PINS = read_pins((ROOT / "requirements.txt").read_text())
AT = "2026-11-18T10:00:00Z"


@pytest.fixture(scope="module")
def document() -> Any:
    return json.loads(make_sbom("0.1.0", PINS, AT))


def test_it_has_what_the_schema_asks_for(document: Any) -> None:
    serial = r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

    assert {*document} == {
        *("bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies")
    }
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(serial, document["serialNumber"])
    own = document["metadata"]["component"]
    assert (own["type"], own["name"], own["version"], own["purl"]) == (
        *("application", "tidings", "0.1.0"),
        "pkg:pypi/tidings@0.1.0",
    )
    assert document["metadata"]["timestamp"] == AT
    for one in document["components"]:
        assert {*one} - {"licenses"} == {"type", "bom-ref", "purl", "name", "version", "hashes"}
        assert one["type"] == "library"
        assert all(re.fullmatch(r"[0-9a-f]{64}", found["content"]) for found in one["hashes"])
        assert {found["alg"] for found in one["hashes"]} == {"SHA-256"}
        assert all({*found} in ({"expression"}, {"license"}) for found in one.get("licenses", []))


def test_it_names_everything_that_is_pinned_and_what_asks_for_it(document: Any) -> None:
    named = {(one["name"], one["version"]): one for one in document["components"]}
    graph = {one["ref"]: one["dependsOn"] for one in document["dependencies"]}
    references = [one["bom-ref"] for one in document["components"]]

    assert named.keys() == {(one.name, one.version) for one in PINS}
    assert len(set(references)) == len(references)
    assert graph.keys() == {*references, "pkg:pypi/tidings@0.1.0"}
    assert {found for own in graph.values() for found in own} == {*references}, (
        "something is there that nobody asks for"
    )
    [asyncpg] = [one for one in references if one.startswith("pkg:pypi/asyncpg@")]
    assert asyncpg in graph["pkg:pypi/tidings@0.1.0"]


def test_most_licences_are_known(document: Any) -> None:
    known = [one for one in document["components"] if "licenses" in one]

    assert len(known) >= len(document["components"]) * 0.8


def test_the_same_is_the_same_bytes_and_anything_else_is_another_document() -> None:
    once = make_sbom("0.1.0", PINS, AT)

    assert make_sbom("0.1.0", PINS, AT) == once
    assert json.loads(make_sbom("0.1.1", PINS, AT))["serialNumber"] != json.loads(once)["serialNumber"]
