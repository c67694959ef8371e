"""One page of HTML with what people would receive: each message as its reader sees it, its problems above it.

The HTML of a message is another page inside this one, in a frame without scripts, forms or the place of this page.
"""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape

from tidings.views.previews import Preview

_CID = re.compile(r"cid:([A-Za-z0-9._@-]+)")
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;margin:0;background:#f2f3f5;color:#1c1e21}
main{max-width:880px;margin:0 auto;padding:24px 16px 64px}h1{font-size:20px;margin:0 0 16px}
article{background:#fff;border:1px solid #d9dce1;border-radius:10px;margin:0 0 24px;overflow:hidden}
header{padding:12px 20px;border-bottom:1px solid #e6e8ec;display:flex;gap:12px;flex-wrap:wrap;align-items:baseline}
.channel{font-weight:600}.part,.fact{color:#65686f}.fact{margin-left:auto}
ul.problems{margin:0;padding:12px 20px 12px 40px;background:#fff6e0;border-bottom:1px solid #f0dfae}
p.error{margin:0;padding:12px 20px;background:#fdebec;color:#8a1420;border-bottom:1px solid #f3c6ca}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 16px;margin:0;padding:16px 20px}
dt{color:#65686f}dd{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}
iframe{display:block;width:100%;height:640px;resize:vertical;border:0;border-top:1px solid #e6e8ec;background:#fff}
.bubble{display:inline-block;background:#e7f0ff;border-radius:14px;padding:10px 14px;max-width:30em}
details{padding:12px 20px;border-top:1px solid #e6e8ec}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:8px 0 0}
summary{cursor:pointer;color:#65686f}
"""
_SPOKEN_FIRST = ("subject", "title", "from", "replyTo", "cc", "bcc", "event")


def page_of(previews: Sequence[Preview], title: str) -> str:
    """Return the page."""
    articles = "\n".join(map(_article, previews))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><main><h1>{escape(title)}</h1>\n{articles}\n</main></body></html>\n"
    )


def _article(one: Preview) -> str:
    return f"<article>{_head(one)}{_troubles(one)}{_fields(one)}{_frame(one.content)}</article>"


def _head(one: Preview) -> str:
    part = f'<span class="part">{escape(one.part)}</span>' if one.part else ""
    to = escape(", ".join(one.recipients) or "–")
    facts = f'<span class="fact">{escape(_facts(one))}</span>' if _facts(one) else ""
    return f'<header><span class="channel">{escape(one.channel)}</span>{part}<span>to {to}</span>{facts}</header>'


def _facts(one: Preview) -> str:
    if one.segments:
        count = one.segments
        parts = "segment" if count.segments == 1 else "segments"
        return f"{count.segments} {parts} · {count.units} characters · {count.encoding}"
    return f"{one.size:,} bytes" if one.size is not None else ""


def _troubles(one: Preview) -> str:
    error = f'<p class="error">{escape(one.error)}</p>' if one.error and one.error not in one.problems else ""
    skipped = f'<p class="error">not sent: {escape(one.skipped)}</p>' if one.skipped else ""
    listed = "".join(f"<li>{escape(words)}</li>" for words in one.problems)
    return error + skipped + (f'<ul class="problems">{listed}</ul>' if listed else "")


def _fields(one: Preview) -> str:
    """What is not shown as a page: a short text as a bubble, the rest as a list."""
    first = [name for name in _SPOKEN_FIRST if name in one.content]
    names = [*first, *sorted(one.content.keys() - set(first))]
    shown = [name for name in names if name != "html" and not (name == "body" and "html" in one.content)]
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{_value(name, one.content[name])}</dd>" for name in shown)
    text = one.content.get("body", "") if "html" in one.content else ""
    details = f"<details><summary>text part</summary><pre>{escape(text)}</pre></details>" if text else ""
    return (f"<dl>{rows}</dl>" if rows else "") + details


def _value(name: str, text: str) -> str:
    return f'<span class="bubble">{escape(text)}</span>' if name in ("body", "script") else escape(text)


def _frame(content: Mapping[str, str]) -> str:
    if "html" not in content:
        return ""
    pictures = {one.get("contentId"): one["url"] for one in json.loads(content.get("attachments", "[]"))}
    shown = _CID.sub(lambda found: pictures.get(found[1], found[0]), content["html"])
    return f'<iframe sandbox title="the message" srcdoc="{escape(shown)}"></iframe>'
