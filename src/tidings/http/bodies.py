"""Read a body: within its size, as JSON, not nested too deeply, and as the operation's model."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.flow.ids import Workspace
from tidings.domain.json_text import TWICE, names_given_twice, spelled_twice
from tidings.domain.storable import UNSTORABLE, unstorable_places
from tidings.http.access import api_of
from tidings.http.body_memory import WORKSPACE, BodyMemory
from tidings.http.errors import BodyMalformed, BodyTooLarge, problems_of_fields
from tidings.kernel.process.breaks import Breaks
from tidings.kernel.templates import are_cheap

LARGEST_BODY = 1_000_000
LARGEST_BULK_BODY = 10_000_000
LARGEST_READ_TWICE = 64_000
"""Up to this many bytes a body is also searched for repeated names: what people write by hand is smaller."""
MORE = 64_000
"""How much more is counted at a time, at least, of a body that does not say its length."""
DEEPEST = 64
MOST_CONTAINERS = 50_000
"""Objects and lists in a body, or in an item of a bulk body: they take longest to read."""
MOST_PROBLEMS = 100
_OPENINGS = (b"{", b"[")

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, limit: int = LARGEST_BODY) -> bytes:
    """Return the whole body; never hold more than the limit, nor more than the tenant's share."""
    declared = request.headers.get("content-length", "0")
    expected = int(declared) if declared.isdecimal() else 0
    if expected > limit:
        raise _too_large(limit)
    memory: BodyMemory = request.app.state.api.bodies
    memory.hold(request.scope, expected)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise _too_large(limit)
            if len(body) > expected:
                more = max(MORE, len(body) - expected)
                memory.hold(request.scope, more)
                expected += more
    except ClientDisconnect as error:
        raise BodyMalformed("the connection ended before the body did") from error
    return bytes(body)


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is larger than {limit:,} bytes; send less at once")


def decode(body: bytes) -> Any:
    """Return the JSON of a body, checked for what could not be stored or traversed."""
    found = _value(body)
    if isinstance(found, dict):
        _check_names(found, body)
    return found


def _value(body: bytes, place: str = "") -> Any:
    containers = sum(body.count(one) for one in _OPENINGS)
    tags = 2 * body.count(b"{{") + body.count(b"{%")  # which stand in strings: JSON itself has neither
    if containers - tags > MOST_CONTAINERS:
        raise _too_many(containers - tags, place)
    try:
        found = msgspec.json.decode(body)
    except RecursionError as error:
        raise _too_deep() from error
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise BodyMalformed(f"the body is not JSON: {error}") from error
    if containers > DEEPEST:  # with fewer openings it cannot be deeper
        _check_depth(found)
    if b"\\u0000" in body or b"\\ud" in body.lower():
        places = islice(unstorable_places(found, place), MOST_PROBLEMS)
        problems = [Problem(one or "body", UNSTORABLE) for one in places]
        if problems:
            raise FieldsInvalid(problems)
    return found


def _too_many(containers: int, place: str) -> BodyMalformed:
    where = f"{place} has" if place else "the body has"
    return BodyMalformed(f"{where} {containers:,} objects and lists; send at most {MOST_CONTAINERS:,} at once")


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
    body = await read_body(request, limit)
    await _wait_for_a_turn(request, body)
    return _object(decode(body))


async def _wait_for_a_turn(request: Request, body: bytes) -> None:
    """Have large bodies read one in each round of the loop, in turns between tenants: others come in between."""
    if len(body) >= LARGEST_READ_TWICE:
        kernel = api_of(request).engine.kernel
        await kernel.checks.step(request.scope.get(WORKSPACE) or Workspace())


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise FieldsInvalid([Problem("body", f"is a {_kind(found)}; send an object")])
    return found


async def read_listed(request: Request, name: str) -> dict[str, Any]:
    """Return the object of a bulk body; the items of its list are read one by one, with breaks for other requests."""
    body = await read_body(request, LARGEST_BULK_BODY)
    await _wait_for_a_turn(request, body)
    if len(body) <= LARGEST_BODY:
        return _object(decode(body))
    fields, items = _outlines(body, name)
    if items is None:
        return _object(decode(body))
    found, breaks = _object(decode(msgspec.json.encode({**fields, name: []}))), Breaks()
    for number, item in enumerate(items):
        await breaks.take_if_due()
        found[name].append(_value(bytes(item), f"{name}[{number}]"))
    return found


def _outlines(body: bytes, name: str) -> tuple[dict[str, msgspec.Raw], list[msgspec.Raw] | None]:
    """Return the fields of an object and the items of one of them, none of them read yet; None if it has no list."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        return fields, msgspec.json.decode(fields[name], type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError, KeyError):
        return {}, None


def _kind(value: object) -> str:
    kinds: Mapping[type, str] = {list: "list", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")


Look = Callable[[Mapping[str, Any]], Iterable[Problem]]


def body_of(
    model: type[Model], *, required: bool = True, look: Look | None = None, limit: int = LARGEST_BODY
) -> Callable[[Request], Awaitable[Model]]:
    """Return a dependency that reads the body as a model, or raises every problem; an optional body may be left out.

    `look` finds problems beyond the model: it is also called where the model fails, so that all are reported at once. A
    body that is left out is `{}`.
    """

    async def read(request: Request) -> Model:
        body = await read_body(request, limit) or (b"" if required else b"{}")
        await _wait_for_a_turn(request, body)
        found = decode(body)
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            problems = problems_of_fields(error.errors(include_url=False)[:MOST_PROBLEMS], model)
            more = look(found) if look and isinstance(found, dict) and are_cheap(found) else ()
            raise FieldsInvalid([*problems, *more]) from error

    return read
