"""The bill of materials of this version as CycloneDX JSON: what requirements.txt pins, with hashes and licences.

Made by tools/dist.py. The same commit in the same environment makes the same bytes: its time is the commit's, and its
serial number a hash of what it says. Licences are those that installed packages declare; a package that is for another
platform, and not installed here, has none.
"""

import json
from collections.abc import Sequence
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

from tools.pins import Pinned

NAME = "tidings"
LICENCE = "Apache-2.0"
SPEC_VERSION = "1.6"
LONGEST_LICENCE = 100
_OSI = "License :: OSI Approved :: "
Json = dict[str, Any]


def make_sbom(version: str, pins: Sequence[Pinned], committed_at: str) -> bytes:
    """Return the document's bytes."""
    known = {one.name: _reference(one.name, one.version) for one in pins}
    own = _reference(NAME, version)
    document: Json = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {
            "timestamp": committed_at,
            "component": {**_named(NAME, version, "application"), "licenses": [{"expression": LICENCE}]},
        },
        "components": [_component(one) for one in pins],
        "dependencies": [_depends(reference, name, pins, known) for name, reference in {NAME: own, **known}.items()],
    }
    serial = uuid5(NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return json.dumps({**document, "serialNumber": f"urn:uuid:{serial}"}, indent=2, sort_keys=True).encode() + b"\n"


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _named(name: str, version: str, kind: str) -> Json:
    reference = _reference(name, version)
    return {"type": kind, "bom-ref": reference, "purl": reference, "name": name, "version": version}


def _component(one: Pinned) -> Json:
    hashes = [{"alg": "SHA-256", "content": found} for found in one.hashes]
    licences = _licences(one.name)
    return {
        **_named(one.name, one.version, "library"),
        "hashes": hashes,
        **({"licenses": licences} if licences else {}),
    }


def _depends(reference: str, name: str, pins: Sequence[Pinned], known: dict[str, str]) -> Json:
    """Return what a package asks for, as the requirements file says it the other way round."""
    return {"ref": reference, "dependsOn": sorted(known[one.name] for one in pins if name in one.via)}


def _licences(name: str) -> list[Json]:
    try:
        said = cast("Message", metadata(name))
    except PackageNotFoundError:
        return []
    if expression := said.get("License-Expression"):
        return [{"expression": expression}]
    words = said.get("License") or ""
    declared = [words] if words and "\n" not in words and len(words) <= LONGEST_LICENCE else []
    classified = [one.removeprefix(_OSI) for one in said.get_all("Classifier") or [] if one.startswith(_OSI)]
    return [{"license": {"name": one}} for one in dict.fromkeys(declared or classified)]
