"""Errors as application/problem+json: one table from error to status, one form for all of them."""

from collections.abc import Mapping, Sequence
from typing import get_args

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from tidings.domain.errors import (
    Conflict,
    DataMissing,
    DraftOutdated,
    FieldsInvalid,
    InputInvalid,
    NotFound,
    Problem,
    ProblemsFound,
    RendererUnavailable,
    SimulationUnavailable,
    StorageUnavailable,
    TidingsError,
)
from tidings.domain.messages import did_you_mean, quoted
from tidings.http.answers import answer
from tidings.log import log
from tidings.views import problems

PROBLEM_JSON = "application/problem+json"
SECRET_FIELDS = frozenset(["secret", "password", "currentPassword", "current_password", "token"])
RETRY_AFTER: Mapping[str, str] = {"Retry-After": "2"}
"""Sent with every 503: an embedded server that was killed is back by then."""


class RequestRefused(TidingsError):
    """A request that is refused before its operation runs."""

    def headers(self) -> Mapping[str, str]:
        """Return further headers of the answer."""
        return {}


class NoValidKey(RequestRefused):
    """The request has no key, or an invalid one."""

    code = "unauthorized"

    def headers(self) -> Mapping[str, str]:
        """Return the header that names how to authenticate."""
        return {"WWW-Authenticate": "Bearer"}


class NoSession(NoValidKey):
    """The session is unknown or has ended; the browser is to forget its cookie."""

    def __init__(self, message: str, forgetting: Mapping[str, str]) -> None:
        super().__init__(message)
        self._forgetting = forgetting

    def headers(self) -> Mapping[str, str]:
        """Return the header that names how to authenticate, and the one that removes the cookie."""
        return {**super().headers(), **self._forgetting}


class SignInFailed(NoValidKey):
    """What somebody signs in with is wrong; not what of it."""

    code = "sign_in_failed"


class LinkInvalid(NoValidKey):
    """The one-time link opens nothing: used, replaced, past, or never made."""

    code = "link_invalid"


class WrongPassword(FieldsInvalid):
    """Somebody who is signed in does not know the current password."""


class Forbidden(RequestRefused):
    """The roles of the key or the person lack the permission."""

    code = "forbidden"


class CsrfMissing(Forbidden):
    """A change in a session comes without the header that only our own page can send."""

    code = "csrf_missing"


class BodyMalformed(RequestRefused):
    """The body is not JSON, or is nested too deeply."""

    code = "body_malformed"


class BodyTooLarge(RequestRefused):
    """The body is above the limit of its operation."""

    code = "body_too_large"


class _AskLater(RequestRefused):
    """Refused for now."""

    def __init__(self, message: str, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds

    def headers(self) -> Mapping[str, str]:
        """Return the header that says when to try again."""
        return {"Retry-After": str(self.retry_after_seconds)}


class TooManyRequests(_AskLater):
    """The tenant or the address asks for more than its share."""

    code = "too_many_requests"


class ServerBusy(_AskLater):
    """All tenants together ask for more than there is."""

    code = "server_busy"


STATUS_BY_ERROR: Mapping[type[TidingsError], int] = {
    BodyMalformed: 400,
    NoValidKey: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    BodyTooLarge: 413,
    InputInvalid: 422,
    TooManyRequests: 429,
    ServerBusy: 503,
    RendererUnavailable: 503,
    SimulationUnavailable: 503,
    StorageUnavailable: 503,
}

TITLES: Mapping[int, str] = {
    400: "The request cannot be read",
    401: "A key or a session is needed",
    403: "That is not allowed here",
    404: "Not found",
    405: "Method not allowed",
    409: "The state forbids it",
    413: "The body is too large",
    422: "Something given is wrong",
    429: "Too many requests",
    431: "The head is too large",
    500: "Something went wrong here",
    503: "Not available at the moment",
}


def status_of(error: TidingsError) -> int:
    """Return the status of an error: that of its nearest ancestor in the table."""
    for kind in type(error).__mro__:
        if kind in STATUS_BY_ERROR:
            return STATUS_BY_ERROR[kind]
    return 500


def problem(
    request_id: str | None,
    status: int,
    code: str,
    detail: str,
    places: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an answer that says what is wrong and where."""
    view = problems.ProblemDetails(
        type=f"urn:tidings:problem:{code}",
        title=TITLES.get(status, "The request cannot be served"),
        status=status,
        code=code,
        detail=detail,
        errors=[problems.ProblemPlace(place=one.place, message=one.message) for one in places],
        request_id=request_id,
    )
    return answer(view, status, headers, PROBLEM_JSON)


def places_of(error: TidingsError) -> Sequence[Problem]:
    """Return every problem with its place, as far as the error knows it."""
    if isinstance(error, ProblemsFound):
        return error.problems
    if isinstance(error, DataMissing):
        names = dict.fromkeys([*error.required, *error.variables])
        return [Problem(f"data.{name}", "is missing") for name in names]
    return ()


def tidings_problem(request: Request, error: TidingsError) -> Response:
    """Answer an error that the engine or the edge raised."""
    status = status_of(error)
    headers = error.headers() if isinstance(error, RequestRefused) else RETRY_AFTER if status == 503 else {}
    detail = str(error)
    if status >= 500:
        # Storage errors may name hosts and roles; the log has them under the request's id.
        log.warning("request_failed", request_id=request_id_of(request), code=error.code, reason=detail)
        if not isinstance(error, SimulationUnavailable | ServerBusy):
            detail = "the storage or a part of the server is not available; try again in a moment"
    if isinstance(error, DraftOutdated):
        return _outdated_problem(request, error)
    return problem(request_id_of(request), status, error.code, detail, places_of(error), headers)


def _outdated_problem(request: Request, error: DraftOutdated) -> Response:
    view = problems.OutdatedDraft(
        type=f"urn:tidings:problem:{error.code}",
        title=TITLES[409],
        status=409,
        code=error.code,
        detail=str(error),
        request_id=request_id_of(request),
        version=error.version,
        published=error.published,
        draft=error.draft,
    )
    return answer(view, 409, None, PROBLEM_JSON)


def request_id_of(request: Request) -> str | None:
    """Return the id that edge.py gave this request."""
    found: str | None = request.scope.get("tidings.request_id")
    return found


def problems_of_fields(errors: Sequence[ErrorDetails], model: type[BaseModel]) -> list[Problem]:
    """Return what pydantic found, each at its place: `triggers[3].data`."""
    return [Problem(_place(error["loc"]) or "body", _words(error, model)) for error in errors]


def _words(error: ErrorDetails, model: type[BaseModel] | None = None) -> str:
    """Say what is wrong with a field in our own words where pydantic's do not say enough."""
    match error["type"]:
        case "missing":
            return "is missing"
        case "value_error":
            return str(error["ctx"]["error"])
        case "extra_forbidden" if model:
            return _unknown(str(error["loc"][-1]), _model_at(model, error["loc"][:-1]))
        case _:
            message = error["msg"]
            if not SECRET_FIELDS.isdisjoint(error["loc"]):
                return message  # without what was given
            return f"{quoted(error['input'])}: {message[:1].lower()}{message[1:]}"


def _unknown(name: str, model: type[BaseModel] | None) -> str:
    known = {} if model is None else {field: one.alias or field for field, one in model.model_fields.items()}
    if name in known:
        return f"is given twice, the other time as {known[name]}; give it once"
    use = f"; use {', '.join(known.values())}" if known else ""
    return f"is not a field here{use}{did_you_mean(name, known.values())}"


def _model_at(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel] | None:
    """Return the model that describes what is at a place inside another."""
    found: type[BaseModel] | None = model
    for step in location:
        if isinstance(step, str) and found is not None:
            fields = {one.alias or name: one for name, one in found.model_fields.items()}
            found = _model_in(fields[step].annotation) if step in fields else None
    return found


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _model_in(one))), None)


def _place(location: Sequence[int | str]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


async def _on_tidings_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, TidingsError)  # noqa: S101 – what it is registered for; the framework's type says less
    return tidings_problem(request, error)


async def _on_bad_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 – likewise
    found = [Problem(_place(one["loc"][1:]), _words(one)) for one in error.errors()]
    return tidings_problem(request, FieldsInvalid(found))


async def _on_http_error(request: Request, error: Exception) -> Response:
    """Answer what the router raises: no such path, or not with this method."""
    assert isinstance(error, HTTPException)  # noqa: S101 – likewise
    if error.status_code == 405:
        allowed = ", ".join(_allowed_methods(request))
        detail = f"{request.method} is not allowed here; use {allowed}"
        return problem(request_id_of(request), 405, "method_not_allowed", detail, headers={"Allow": allowed})
    code = "not_found" if error.status_code == 404 else "refused"
    detail = f"there is nothing at {request.url.path}" if error.status_code == 404 else str(error.detail)
    return problem(request_id_of(request), error.status_code, code, detail, headers=error.headers)


def _allowed_methods(request: Request) -> list[str]:
    """Return every method that any route has for this path; the router itself names only those of the first."""
    found: set[str] = set()
    for route in request.app.state.routes:
        match, _ = route.matches({**request.scope, "method": "OPTIONS"})
        if match is not Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return sorted(found)


def handle_errors(app: FastAPI) -> None:
    """Answer every exception in one form."""
    app.add_exception_handler(TidingsError, _on_tidings_error)
    app.add_exception_handler(RequestValidationError, _on_bad_parameters)
    app.add_exception_handler(HTTPException, _on_http_error)
