"""What is made of an e-mail once its templates are rendered: HTML of MJML, styles in their places, a text part.

Expensive, and done by compiled code that a hostile page can bring down (elements that are nested a hundred thousand
deep): so it runs in the rendering process alone (kernel/render/child.py), under the limits there. Providers get
finished HTML and text.
"""
# ruff: noqa: PLC0415 – only a message that needs them pays for importing the packages

import re
from collections.abc import Mapping
from functools import lru_cache
from html import escape

from tidings.domain.content.links import problem_of_links

KEPT = 64
"""Pages that are kept as they were finished: a newsletter without names in it is the same for everybody."""
MJML_MISSING = "MJML takes a package that is not installed here: run pip install 'tidings[mail]'"
_STYLE = re.compile(r"<style[\s>]", re.IGNORECASE)
_BODY = re.compile(r"<body(?:\s[^>]*)?>", re.IGNORECASE)
_HIDE = "display:none;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all;font-size:1px;line-height:1px"
_FILLING = "&#847;&zwnj;&nbsp;" * 40
"""Behind a preheader: without it an inbox shows the first words of the message as well."""


class Unfinished(ValueError):
    """Why a message cannot be made of what was rendered."""


def needs_finishing(content: Mapping[str, object]) -> bool:
    """Whether anything is to be made of an e-mail beyond rendering its templates."""
    html = content.get("html")
    if "mjml" in content or "preheader" in content:
        return True
    return isinstance(html, str) and ("body" not in content or _STYLE.search(html) is not None)


def finish_email(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of an e-mail as it is sent, or raise Unfinished."""
    rest = {name: text for name, text in fields.items() if name not in ("html", "mjml", "preheader")}
    html = fields.get("html")
    if "mjml" in fields:
        html = _html_of_mjml(fields["mjml"])
    if html is None:
        return rest
    if problem := problem_of_links(html):
        raise Unfinished(f"html: {problem}")
    finished = {**rest, "html": _with_preheader(_styled(html), fields.get("preheader", "").strip())}
    return finished if "body" in rest else {**finished, "body": _text_part(html)}


@lru_cache(maxsize=KEPT)
def _html_of_mjml(source: str) -> str:
    try:
        from mjml import mjml2html
    except ImportError:
        raise Unfinished(f"mjml: {MJML_MISSING}") from None
    try:
        return mjml2html(source.strip())
    except ValueError as error:
        raise Unfinished(f"mjml: {error}") from None


@lru_cache(maxsize=KEPT)
def _styled(html: str) -> str:
    """Write the rules of style elements to what they are for; many mailboxes drop the elements themselves."""
    if not _STYLE.search(html):
        return html
    try:
        from css_inline import CSSInliner
    except ImportError:
        return html
    try:
        # What depends on the screen cannot be written there, and stays. Nothing is ever fetched.
        return CSSInliner(keep_at_rules=True, keep_link_tags=True, load_remote_stylesheets=False).inline(html)
    except ValueError as error:
        raise Unfinished(f"html: the styles cannot be read: {error}") from None


@lru_cache(maxsize=KEPT)
def _text_part(html: str) -> str:
    from tidings.domain.content.text_of_html import text_of_html

    return text_of_html(html)


def _with_preheader(html: str, preheader: str) -> str:
    if not preheader:
        return html
    hidden = f'<div style="{_HIDE}">{escape(preheader)}{_FILLING}</div>'
    body = _BODY.search(html)
    return html[: body.end()] + hidden + html[body.end() :] if body else hidden + html
