"""What a caller of the API must know of.

Exception
├── ApiError              the server answered, and it was not a success
│   ├── Invalid             400, 422: what was sent; every problem is in `errors`
│   ├── Unauthorized        401, 403: the key is missing, unknown, or its role may not do this
│   ├── NotFound            404: no such thing in the key's workspace
│   └── Conflict            409: it exists, but its state forbids this
├── ServerUnreachable     no answer, after every try that was safe
└── WaitTimeout           (a TimeoutError) the execution or run goes on, but nobody waits any longer
"""

from collections.abc import Sequence
from uuid import UUID

from tidings.views.problems import ProblemPlace


class ApiError(Exception):
    """An answer that is not a success."""

    def __init__(self, status: int, code: str, detail: str, errors: Sequence[ProblemPlace] = ()) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = tuple(errors)


class Invalid(ApiError):
    """What was sent must be changed."""


class Unauthorized(ApiError):
    """The key does not open this."""


class NotFound(ApiError):
    """No such thing in the key's workspace."""


class Conflict(ApiError):
    """The state of the thing forbids what was asked."""


class ServerUnreachable(Exception):
    """The server did not answer."""


class WaitTimeout(TimeoutError):
    """An execution or a run that had not ended in the time given; it goes on."""

    def __init__(self, id: UUID | str, seconds: float, status: str, *, what: str = "execution") -> None:
        super().__init__(f"{what} {id} is still {status} after {seconds:g} s; it goes on, wait again")
        self.id = id
        self.seconds = seconds
        self.status = status


ERROR_BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    409: Conflict,
    422: Invalid,
}
