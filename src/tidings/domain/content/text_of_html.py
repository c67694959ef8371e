"""The text part of an e-mail, made of its HTML: paragraphs, lists and links as a person would type them.

html2text and inscriptis were tried: the one writes Markdown and draws the tables that lay out an e-mail, the other
drops the addresses of links, and both take longer.
"""

import re
from html.parser import HTMLParser

_HIDDEN = frozenset({"head", "style", "script", "title", "template", "noscript"})
_BLOCKS = frozenset(
    [
        *("address", "article", "aside", "blockquote", "body", "center", "div", "dl", "fieldset", "footer", "form"),
        *("header", "li", "main", "nav", "ol", "section", "table", "tr", "ul", "dt", "dd"),
    ]
)
_PARAGRAPHS = frozenset(["p", "pre", "h1", "h2", "h3", "h4", "h5", "h6"])
_EMPTY = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"])
_BLANKS = re.compile(r"[ \t\r\n\f\u00a0]+")
_UNSEEN = re.compile(r"[\u00ad\u034f\u200b-\u200d\u2060\ufeff]+")
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_MANY_LINES = re.compile(r"\n{3,}")


def text_of_html(html: str) -> str:
    """Return what a reader without HTML is shown."""
    reader = _TextReader()
    reader.feed(html)
    reader.close()
    return reader.text()


class _TextReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._hidden: list[str] = []  # the open elements from the first that is not shown on
        self._links: list[tuple[str, int]] = []  # the address of each open link, and where its words begin

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self._hidden or tag in _HIDDEN or _NOT_DISPLAYED.search(given.get("style") or ""):
            if tag not in _EMPTY:
                self._hidden.append(tag)
            return
        match tag:
            case "br":
                self._pieces.append("\n")
            case "hr":
                self._pieces.append("\n\n---\n\n")
            case "img":
                self._say(given.get("alt") or "")
            case "a":
                self._links.append((given.get("href") or "", len(self._pieces)))
            case _:
                self._begin(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            if tag in self._hidden:
                del self._hidden[len(self._hidden) - 1 - self._hidden[::-1].index(tag) :]
            return
        if tag == "a" and self._links:
            self._end_link(*self._links.pop())
        elif tag in _BLOCKS or tag in _PARAGRAPHS:
            self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._say(data)

    def text(self) -> str:
        """Return what was read, with no more blanks and empty lines than a person would type."""
        lines = [_BLANKS.sub(" ", line).strip() for line in "".join(self._pieces).split("\n")]
        return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip()

    def _say(self, words: str) -> None:
        self._pieces.append(_BLANKS.sub(" ", _UNSEEN.sub("", words)))

    def _begin(self, tag: str) -> None:
        if tag in _BLOCKS or tag in _PARAGRAPHS:
            self._break(tag)
        if tag == "li":
            self._pieces.append("- ")
        elif tag in ("td", "th"):
            self._pieces.append(" ")

    def _break(self, tag: str) -> None:
        """End the line; a paragraph has an empty line around it."""
        if tag in _PARAGRAPHS:
            self._pieces.append("\n\n")
        elif self._pieces and not self._pieces[-1].endswith(("\n", "- ")):
            self._pieces.append("\n")

    def _end_link(self, url: str, began: int) -> None:
        """Write the address after the words of a link, unless they are the same or it leads nowhere."""
        words = "".join(self._pieces[began:]).strip()
        shown = url.removeprefix("mailto:").removeprefix("tel:")
        if not url.startswith(("http://", "https://", "mailto:", "tel:")) or shown == words:
            return
        self._pieces.append(f" ({shown})" if words else shown)
