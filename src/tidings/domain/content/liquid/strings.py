"""Filters on strings, as in LiquidJS. In HTML a string is marked as safe (Markup) where it came from the template
itself; joining it with one that is not escapes the other, so the result is safe again."""

import binascii
import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from unicodedata import category
from urllib.parse import quote, unquote_plus

from liquid import Environment, Markup
from liquid import escape as escape_html
from liquid.exceptions import FilterArgumentError
from liquid.filter import with_environment

from tidings.domain.content.liquid.values import TooLarge, is_truthy, list_of, string_of, text_of, whole_number

MAX_VALUE_CHARS = 1_000_000

_LINE_END = re.compile(r"\r?\n")
_BLANKS = re.compile(r"\s+")
_ENTITY = re.compile(r"&(amp|lt|gt|#34|#39);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "#34": '"', "#39": "'"}
_HIDDEN = (("<script", "</script>"), ("<style", "</style>"), ("<!--", "-->"), ("<", ">"))
_CJK = "\u4e00-\u9fff\uf900-\ufaff\u3400-\u4dbf\u3040-\u309f\u30a0-\u30ff\uac00-\ud7af"
_CJK_WORD = re.compile(f"[{_CJK}]")
_OTHER_WORD = re.compile(rf"[^{_CJK}\s]+")
_NOT_ASCII_WORD = re.compile(r"[^A-Za-z0-9]+")
_PRETTY = frozenset("._~!$&'()+,;=@")
_ACCENTS = str.maketrans(
    {
        letter: plain
        for plain, letters in {"a": "àáâãäå", "c": "ç", "e": "èéêë", "i": "ìíîï"}.items()
        for letter in letters
    }
    | {
        letter: plain
        for plain, letters in {"n": "ñ", "o": "òóôõöø", "u": "ùúûü", "y": "ýÿ"}.items()
        for letter in letters
    }
    | {"æ": "ae", "ð": "d", "ß": "ss", "œ": "oe", "þ": "th", "ẞ": "SS", "Œ": "OE", "Þ": "TH"}
)


def string_filters() -> Mapping[str, Callable[..., object]]:
    """Every filter of this module by its name."""
    return {
        "append": _append,
        "array_to_sentence_string": _array_to_sentence_string,
        "base64_decode": _base64_decode,
        "base64_encode": _base64_encode,
        "capitalize": _capitalize,
        "cgi_escape": _cgi_escape,
        "downcase": _downcase,
        "escape": _escape,
        "escape_once": _escape_once,
        "hmac_sha256": _hmac_sha256,
        "lstrip": _lstrip,
        "newline_to_br": _newline_to_br,
        "normalize_whitespace": _normalize_whitespace,
        "number_of_words": _number_of_words,
        "prepend": _prepend,
        "raw": _raw,
        "remove": _remove,
        "remove_first": _remove_first,
        "remove_last": _remove_last,
        "replace": _replace,
        "replace_first": _replace_first,
        "replace_last": _replace_last,
        "rstrip": _rstrip,
        "sha256": _sha256,
        "slugify": _slugify,
        "split": _split,
        "squish": _squish,
        "strip": _strip,
        "strip_html": _strip_html,
        "strip_newlines": _strip_newlines,
        "truncate": _truncate,
        "truncatewords": _truncatewords,
        "upcase": _upcase,
        "uri_escape": _uri_escape,
        "url_decode": _url_decode,
        "url_encode": _url_encode,
        "xml_escape": _escape,
    }


def too_long(name: str) -> TooLarge:
    """The refusal of a result beyond the limit of characters."""
    return TooLarge(f"{name!r} exceeds the limit of {MAX_VALUE_CHARS} characters")


def _like(text: str, changed: str) -> str:
    """A regular expression forgets that a string is marked as safe."""
    return type(text)(changed)


def _append(value: object, end: object) -> str:
    return text_of(value) + text_of(end)


def _prepend(value: object, start: object) -> str:
    return text_of(start) + text_of(value)


def _upcase(value: object) -> str:
    return text_of(value).upper()


def _downcase(value: object) -> str:
    return text_of(value).lower()


def _capitalize(value: object) -> str:
    text = text_of(value)
    return text[:1].upper() + text[1:].lower()


# Trimming and blanks


def _characters(given: object) -> str | None:
    """Which characters to strip; without any, blanks."""
    return text_of(given) or None


def _strip(value: object, characters: object = None) -> str:
    return text_of(value).strip(_characters(characters))


def _lstrip(value: object, characters: object = None) -> str:
    return text_of(value).lstrip(_characters(characters))


def _rstrip(value: object, characters: object = None) -> str:
    return text_of(value).rstrip(_characters(characters))


def _strip_newlines(value: object) -> str:
    text = text_of(value)
    return _like(text, _LINE_END.sub("", text))


def _squish(value: object) -> str:
    text = text_of(value)
    return _like(text, _BLANKS.sub(" ", text).strip())


def _normalize_whitespace(value: object) -> str:
    text = text_of(value)
    return _like(text, _BLANKS.sub(" ", text))


# Replacing


def _replace(value: object, old: object, new: object = "") -> str:
    text, old_text, new_text = text_of(value), text_of(old), text_of(new)
    count = text.count(old_text) if old_text else max(len(text) - 1, 0)
    if len(text) + count * (len(new_text) - len(old_text)) > MAX_VALUE_CHARS:
        raise too_long("replace")
    return text.replace(old_text, new_text) if old_text else new_text.join(text)


def _replace_first(value: object, old: object, new: object = "") -> str:
    return text_of(value).replace(text_of(old), text_of(new), 1)


def _replace_last(value: object, old: object, new: object = "") -> str:
    text, old_text = text_of(value), text_of(old)
    place = text.rfind(old_text)
    return text if place < 0 else text[:place] + text_of(new) + text[place + len(old_text) :]


def _remove(value: object, part: object) -> str:
    return text_of(value).replace(text_of(part), "") if text_of(part) else text_of(value)


def _remove_first(value: object, part: object) -> str:
    return text_of(value).replace(text_of(part), "", 1)


def _remove_last(value: object, part: object) -> str:
    return _replace_last(value, part)


# Cutting


def _split(value: object, separator: object) -> list[str]:
    text, between = text_of(value), text_of(separator)
    parts: list[str] = text.split(between) if between else list(text)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _truncate(value: object, length: object = 50, end: object = "...") -> object:
    text, end_text = text_of(value), text_of(end)
    most = whole_number(length)
    return value if len(text) <= most else text[: max(most - len(end_text), 0)] + end_text


def _truncatewords(value: object, count: object = 15, end: object = "...") -> str:
    text = text_of(value)
    words = _BLANKS.split(text.lstrip())
    most = max(whole_number(count), 1)
    cut = _like(text, " ".join(words[:most]))
    return cut + text_of(end) if len(words) >= most else cut


def _number_of_words(value: object, mode: object = None) -> int:
    text, how = text_of(value).strip(), text_of(mode)
    cjk = len(_CJK_WORD.findall(text)) if how in {"cjk", "auto"} else 0
    if how == "cjk" or cjk:
        return cjk + len(_OTHER_WORD.findall(text))
    return len(text.split())


def _array_to_sentence_string(value: object, connector: object = "and") -> object:
    items = list_of(value)
    if len(items) < 2:
        return items[0] if items else ""
    word = text_of(connector)
    if len(items) == 2:
        return f"{_named(items[0])} {word} {_named(items[1])}"
    first = ", ".join("" if one is None else _named(one) for one in items[:-1])
    return f"{first}, {word} {_named(items[-1])}"


def _named(value: object) -> str:
    return value if isinstance(value, str) else string_of(value)


# HTML


@with_environment
def _escape(value: object, *, environment: Environment) -> str:
    escaped: Markup = escape_html(str(text_of(value)))
    return escaped if environment.autoescape else str(escaped)


@with_environment
def _escape_once(value: object, *, environment: Environment) -> str:
    unescaped = _ENTITY.sub(lambda entity: _ENTITIES[entity[1]], text_of(value))
    return escape_html(unescaped) if environment.autoescape else str(escape_html(unescaped))


@with_environment
def _newline_to_br(value: object, *, environment: Environment) -> str:
    text = escape_html(text_of(value)) if environment.autoescape else text_of(value)
    return _like(text, _LINE_END.sub("<br />\n", text))


@with_environment
def _raw(value: object, *, environment: Environment) -> object:
    return Markup(text_of(value)) if environment.autoescape else value


def _strip_html(value: object) -> str:
    """Drop tags, comments, scripts and styles; what is opened and never closed stays."""
    text = text_of(value)
    hidden = dict(_HIDDEN)
    kept: list[str] = []
    position = 0
    while (start := text.find("<", position)) >= 0:
        kept.append(text[position:start])
        position = start
        for opening in [one for one in hidden if text.startswith(one, start)]:
            end = text.find(hidden[opening], start + len(opening))
            if end >= 0:
                position = end + len(hidden[opening])
                break
            del hidden[opening]  # never closed from here on: to look again at each tag would be quadratic
        if position == start:
            break
    return _like(text, "".join((*kept, text[position:])))


# URLs and codes


def _url_encode(value: object) -> str:
    return quote(text_of(value), safe="-_.!~*'()", errors="replace").replace("%20", "+")


def _cgi_escape(value: object) -> str:
    return quote(text_of(value), safe="-_.~", errors="replace").replace("%20", "+")


def _uri_escape(value: object) -> str:
    return quote(text_of(value), safe=";,/?:@&=+$-_.!~*'()#[]", errors="replace")


def _url_decode(value: object) -> str:
    return unquote_plus(text_of(value))


def _slugify(value: object, mode: object = "default", cased: object = False) -> str:
    text, how = text_of(value), text_of(mode)
    if len(text) > MAX_VALUE_CHARS:
        raise too_long("slugify")
    changed = _dashed(text, how)
    return changed if is_truthy(cased) else changed.lower()


def _dashed(text: str, mode: str) -> str:
    if mode == "raw":
        dashed = _BLANKS.sub("-", text)
    elif mode == "ascii":
        dashed = _NOT_ASCII_WORD.sub("-", text)
    elif mode in {"default", "latin", "pretty"}:
        kept = _PRETTY if mode == "pretty" else frozenset[str]()
        plain = text.translate(_ACCENTS) if mode == "latin" else text
        dashed = _NOT_ASCII_WORD.sub(lambda found: _dashes(found[0], kept), plain)
    else:
        return text
    return dashed.removeprefix("-").removesuffix("-")


def _dashes(text: str, kept: frozenset[str]) -> str:
    return re.sub("\0+", "-", "".join(one if one in kept or _is_word(one) else "\0" for one in text))


def _is_word(character: str) -> bool:
    """Whether it is a letter, a mark or a digit."""
    kind = category(character)
    return kind[0] in "LM" or kind == "Nd"


def _base64_encode(value: object) -> str:
    return b64encode(text_of(value).encode(errors="replace")).decode()


def _base64_decode(value: object) -> str:
    text = "".join(text_of(value).split())
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        raise FilterArgumentError(f"base64_decode: {text[:40]!r} is not base64", token=None) from None


def _sha256(value: object) -> str:
    return hashlib.sha256(text_of(value).encode(errors="replace")).hexdigest()


def _hmac_sha256(value: object, key: object) -> str:
    return hmac.new(
        text_of(key).encode(errors="replace"), text_of(value).encode(errors="replace"), "sha256"
    ).hexdigest()
