"""What is worth knowing of a message before it is sent: what its data lacks, how large it is, what would not show."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tidings.domain.channels import Channel
from tidings.domain.content.segments import Segments, count_segments
from tidings.domain.content.template import missing_variables, required_variables
from tidings.domain.errors import TemplateInvalid

SHOWN_WHOLE = 102_400
"""Bytes of HTML above which Gmail shows the beginning alone."""
_CID = re.compile(r"""["'(]cid:([^"')\s]+)""", re.IGNORECASE)


def lacking_variables(sources: Iterable[str], data: Mapping[str, object]) -> list[str]:
    """Return the variables that templates print and data does not have."""
    return sorted(path for source in sources for path in missing_variables(_required(source), data))


def _required(source: str) -> frozenset[str]:
    try:
        return required_variables(source)
    except TemplateInvalid:
        return frozenset()  # rendering says so


def with_stand_ins(data: Mapping[str, object], missing: Iterable[str]) -> dict[str, object]:
    """Return data in which what is missing stands as it is written, so that the rest can be seen."""
    filled: dict[str, Any] = dict(data)
    for path in missing:
        *steps, last = path.split(".")
        place = filled
        for step in steps:
            inner = place.get(step)
            place[step] = dict(inner) if isinstance(inner, Mapping) else {}
            place = place[step]
        place[last] = f"{{{{ {path} }}}}"
    return filled


def size_of(channel: Channel, payload: Mapping[str, str]) -> int | None:
    """Return the bytes of an e-mail's text and HTML; None for other channels."""
    if channel is not Channel.EMAIL:
        return None
    return sum(len(payload.get(name, "").encode(errors="replace")) for name in ("subject", "body", "html"))


def segments_of(channel: Channel, payload: Mapping[str, str]) -> Segments | None:
    """Return in how many parts an SMS is sent; None for other channels."""
    return count_segments(payload["body"]) if channel is Channel.SMS and "body" in payload else None


def problems_of_payload(payload: Mapping[str, str]) -> list[str]:
    """Return what would not be shown as its author expects."""
    html = payload.get("html", "")
    shown = set(_CID.findall(html))
    given = {one.get("contentId") for one in msgspec.json.decode(payload.get("attachments", "[]"))}
    problems = [f"html shows cid:{id}, and no attachment has that contentId" for id in sorted(shown - given)]
    size = len(html.encode(errors="replace"))
    if size > SHOWN_WHOLE:
        problems.append(f"html has {size:,} bytes: Gmail shows the first {SHOWN_WHOLE:,} and cuts the rest off")
    return problems
