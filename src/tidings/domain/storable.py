"""What PostgreSQL can hold and a worker can read again: texts without NUL and without halves of surrogate pairs, and
data that is not nested without end."""

from collections.abc import Iterable, Iterator, Mapping

UNSTORABLE = "holds a character that cannot be stored: NUL, or half of a surrogate pair"
LONGEST_WORDS = 2_000
DEEPEST_DATA = 100
TOO_DEEP = f"is nested too deeply: use at most {DEEPEST_DATA} levels"


def storable(words: str | None) -> str | None:
    """A provider's words as they can be kept: whatever they hold, they must not cost us the fact."""
    if words is None:
        return None
    return words[:LONGEST_WORDS].replace("\x00", "\ufffd").encode(errors="replace").decode()


def storable_json(value: object) -> object:
    """A function's answer as it can be kept, for the same reason."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {str(storable_json(name)): storable_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(one) for one in value]
    return value


def is_storable(text: str) -> bool:
    """Whether a text can be kept as it is."""
    return "\x00" not in text and (text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text))


def unstorable_places(raw: object, place: str = "") -> Iterator[str]:
    """The places in given data whose texts cannot be kept as they are."""
    if isinstance(raw, str) and not is_storable(raw):
        yield place
    if isinstance(raw, Mapping):
        for name, value in raw.items():
            yield from unstorable_places(name, place)
            yield from unstorable_places(value, f"{place}.{name}".lstrip("."))
    elif isinstance(raw, list | tuple):
        for number, value in enumerate(raw):
            yield from unstorable_places(value, f"{place}[{number}]")


def is_surely_storable(encoded: bytes) -> bool:
    """Whether JSON can be kept, at a glance; what is not sure must be walked through."""
    return b"\\u0000" not in encoded and encoded.count(b"{") + encoded.count(b"[") <= DEEPEST_DATA


def is_too_deep(raw: object) -> bool:
    """Whether objects and lists are nested more deeply than data may be."""
    layer = [raw]
    for _ in range(DEEPEST_DATA):
        layer = [inner for one in layer for inner in _inside(one) if isinstance(inner, Mapping | list | tuple)]
        if not layer:
            return False
    return True


def _inside(raw: object) -> Iterable[object]:
    if isinstance(raw, Mapping):
        return raw.values()
    return raw if isinstance(raw, list | tuple) else ()
