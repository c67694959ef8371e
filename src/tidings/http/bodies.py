"""Read a body: within its size, as JSON, not nested too deeply, and as the operation's model."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.json_text import TWICE, names_given_twice, spelled_twice
from tidings.domain.storable import UNSTORABLE, unstorable_places
from tidings.http.errors import BodyMalformed, BodyTooLarge, problems_of_fields

LARGEST_BODY = 1_000_000
LARGEST_BULK_BODY = 10_000_000
LARGEST_READ_TWICE = 64_000
"""Up to this many bytes a body is also searched for repeated names: what people write by hand is smaller."""
DEEPEST = 64
MOST_PROBLEMS = 100
_OPENINGS = (b"{", b"[")

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, limit: int = LARGEST_BODY) -> bytes:
    """Return the whole body; never hold more than the limit."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise _too_large(limit)
    except ClientDisconnect as error:
        raise BodyMalformed("the connection ended before the body did") from error
    return bytes(body)


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is larger than {limit:,} bytes; send less at once")


def decode(body: bytes) -> Any:
    """Return the JSON of a body, checked for what could not be stored or traversed."""
    try:
        found = msgspec.json.decode(body)
    except RecursionError as error:
        raise _too_deep() from error
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise BodyMalformed(f"the body is not JSON: {error}") from error
    if sum(body.count(one) for one in _OPENINGS) > DEEPEST:  # with fewer openings it cannot be deeper
        _check_depth(found)
    if b"\\u0000" in body or b"\\ud" in body.lower():
        places = islice(unstorable_places(found), MOST_PROBLEMS)
        problems = [Problem(place or "body", UNSTORABLE) for place in places]
        if problems:
            raise FieldsInvalid(problems)
    if isinstance(found, dict):
        _check_names(found, body)
    return found


def _check_names(found: dict[str, Any], body: bytes) -> None:
    """Refuse what could be read in two ways: a name that is repeated, or given in two spellings."""
    twice = names_given_twice(body) if len(body) < LARGEST_READ_TWICE else []
    problems = [Problem(name, TWICE) for name in twice] + spelled_twice(found)
    if problems:
        raise FieldsInvalid(problems[:MOST_PROBLEMS])


def _check_depth(found: object) -> None:
    level: list[object] = [found]
    for _ in range(DEEPEST):
        level = [one for one in chain.from_iterable(map(_inside, level)) if type(one) is dict or type(one) is list]
        if not level:
            return
    raise _too_deep()


def _inside(container: object) -> Iterable[object]:
    if isinstance(container, dict):
        return container.values()
    return container if isinstance(container, list) else ()


def _too_deep() -> BodyMalformed:
    return BodyMalformed(f"the body is nested more than {DEEPEST} levels deep; flatten it")


async def read_object(request: Request, limit: int = LARGEST_BODY) -> dict[str, Any]:
    """Return the body as a JSON object."""
    found = decode(await read_body(request, limit))
    if not isinstance(found, dict):
        raise FieldsInvalid([Problem("body", f"is a {_kind(found)}; send an object")])
    return found


def _kind(value: object) -> str:
    kinds: Mapping[type, str] = {list: "list", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")


Look = Callable[[Mapping[str, Any]], Iterable[Problem]]


def body_of(
    model: type[Model], *, required: bool = True, look: Look | None = None
) -> Callable[[Request], Awaitable[Model]]:
    """Return a dependency that reads the body as a model, or raises every problem; an optional body may be left out.

    `look` finds problems beyond the model: it is also called where the model fails, so that all are reported at once. A
    body that is left out is `{}`.
    """

    async def read(request: Request) -> Model:
        body = await read_body(request) or (b"" if required else b"{}")
        found = decode(body)
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            problems = problems_of_fields(error.errors(include_url=False), model)
            more = look(found) if look and isinstance(found, dict) else ()
            raise FieldsInvalid([*problems, *more]) from error

    return read
