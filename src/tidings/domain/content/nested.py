"""JSON whose strings may be templates: the templates in it by their places, and the same JSON with them filled in."""

from collections.abc import Iterator, Mapping

from tidings.domain.content.template import has_liquid


def templates_in(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Yield each string with Liquid in it, by its place."""
    if isinstance(value, str):
        if has_liquid(value):
            yield place, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from templates_in(one, _below(place, name))
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from templates_in(one, _below(place, number))


def filled(value: object, place: str, fields: Mapping[str, str]) -> object:
    """Return the value with what was rendered in the places of its templates."""
    if isinstance(value, str):
        return fields.get(place, value)
    if isinstance(value, Mapping):
        return {name: filled(one, _below(place, name), fields) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [filled(one, _below(place, number), fields) for number, one in enumerate(value)]
    return value


def _below(place: str, step: object) -> str:
    """A place as a JSON pointer: no two places have the same name, whatever their keys contain."""
    return f"{place}/{str(step).replace('~', '~0').replace('/', '~1')}"
