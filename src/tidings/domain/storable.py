"""What PostgreSQL can store and a worker can read again: strings without NUL and without halves of surrogate pairs, and
data that is not nested without end."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

UNSTORABLE = "holds a character that cannot be stored: NUL, or half of a surrogate pair"
LONGEST_WORDS = 2_000
DEEPEST_DATA = 100
TOO_DEEP = f"is nested too deeply: use at most {DEEPEST_DATA} levels"


def storable(words: str | None) -> str | None:
    """A provider's words in a form that can be stored: whatever they contain, the fact must not be lost."""
    if words is None:
        return None
    return words[:LONGEST_WORDS].replace("\x00", "\ufffd").encode(errors="replace").decode()


def storable_json(value: object) -> object:
    """A function's answer in a form that can be stored: whatever it contains, the fact must not be lost."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {str(storable_json(name)): storable_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(one) for one in value]
    return value


def is_storable(text: str) -> bool:
    """Whether a string can be stored as it is."""
    return "\x00" not in text and (text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text))


def unstorable_places(raw: object, place: str = "") -> Iterator[str]:
    """The places in given data whose strings cannot be stored as they are."""
    if _is_storable_at_a_glance(raw):
        return
    for steps in _unstorable_steps(raw, []):
        yield place_of([place, *steps] if place else steps)


def _is_storable_at_a_glance(raw: object) -> bool:
    """Whether nothing is wrong for sure; a tenth of the time that walking through takes."""
    try:
        return b"\\u0000" not in msgspec.json.encode(raw)
    except (TypeError, ValueError, OverflowError, RecursionError):  # half of a surrogate pair is one of them
        return False


def place_of(steps: Iterable[str | int]) -> str:
    """A place as people read it, `triggers[3].data`, made only when it is told: names may be long, and values many."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")


def _unstorable_steps(raw: object, steps: list[str | int]) -> Iterator[list[str | int]]:
    if isinstance(raw, str) and not is_storable(raw):
        yield steps
    if isinstance(raw, Mapping):
        for name, value in raw.items():
            if isinstance(name, str) and not is_storable(name):
                yield steps
            yield from _below(value, name, steps)
    elif isinstance(raw, list | tuple):
        for number, value in enumerate(raw):
            yield from _below(value, number, steps)


def _below(value: object, step: str | int, steps: list[str | int]) -> Iterator[list[str | int]]:
    steps.append(step)
    yield from _unstorable_steps(value, steps)
    steps.pop()


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
