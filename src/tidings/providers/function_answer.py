"""What a function's answer means for the item.

    answer                        may be called again (keyed)          called once (blind)
    ----------------------------  -----------------------------------  ----------------------------
    2xx, JSON                     accepted; result: `data`, else all   the same
    2xx, JSON, success: false     later                                later: it says that it failed
    2xx, no JSON                  later                                unknown: it may have worked
    2xx, too large or too deep    rejected: it would be again          rejected
    3xx                           rejected: redirects are refused      rejected
    408, 425                      later                                later: it was not taken
    429                           later, no attempt used               later, no attempt used
    other 4xx                     rejected                             rejected
    5xx                           later                                unknown: it may have worked
    none, or half of one          unknown                              unknown

Steps are called again after any failure, which is why their functions must be safe to repeat. Retry-After is obeyed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.providers.http_request import HttpAnswer
from tidings.providers.mask import Mask
from tidings.providers.printable import printable
from tidings.providers.retry_after import retry_after

LARGEST_ANSWER = 1_000_000
DEEPEST_ANSWER = 100
LONGEST_ERROR = 500

_NOT_TAKEN = frozenset({408, 425})
_TOO_MANY = 429
# PostgreSQL cannot keep NUL; an even number of backslashes before it is a string about NUL, not a NUL.
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, and how it may be spoken of."""

    name: str  # function/action
    may_repeat: bool
    mask: Mask = field(default_factory=lambda: Mask(()), repr=False)

    def shown(self, text: str, limit: int = LONGEST_ERROR) -> str:
        """Their words fit for a reason, which is stored and logged: a function may repeat the token it was sent.

        It is struck out before the rest is cut off, or half of it could stay.
        """
        return printable(self.mask.text(text), limit)


class Unusable(Exception):
    """A result that cannot be kept, and why."""


def judge(question: Question, answer: HttpAnswer, now: datetime) -> Outcome:
    """Turn an answer into an outcome."""
    if 200 <= answer.status < 300:
        return _judge_success(question, answer)
    return _judge_refusal(question, answer, now)


def _judge_refusal(question: Question, answer: HttpAnswer, now: datetime) -> Outcome:
    reason = _error_in(question, answer) or f"{question.name} failed with status {answer.status}"
    if 300 <= answer.status < 400:
        return Rejected(f"{reason}: redirects are refused; set the function's URL to where it really is")
    delay = retry_after(answer.headers.get("retry-after"), now)
    if answer.status == _TOO_MANY:
        return RetryLater(reason, delay, uses_attempt=False)
    if answer.status in _NOT_TAKEN:
        return RetryLater(reason, delay)
    if answer.status < 500:
        return Rejected(reason)
    return RetryLater(reason, delay) if question.may_repeat else Unknown(reason)


def read_result(text: bytes) -> Any:
    """Read JSON that can be kept as a result; raise Unusable for what is too deep, ValueError for what is no JSON."""
    try:
        value = msgspec.json.decode(_NUL.sub(rb"\1\\ufffd", text))
    except RecursionError:
        raise Unusable(f"it is nested deeper than {DEEPEST_ANSWER} levels") from None
    if _is_deeper(value, DEEPEST_ANSWER):
        raise Unusable(f"it is nested deeper than {DEEPEST_ANSWER} levels")
    return value


def _judge_success(question: Question, answer: HttpAnswer) -> Outcome:
    name = question.name
    if answer.body is None:
        return Unknown(f"{name} answered {answer.status}, but the answer did not come whole")
    if len(answer.body) > LARGEST_ANSWER:
        return Rejected(f"{name} answered {answer.status} with more than {LARGEST_ANSWER:,} bytes: let it answer less")
    try:
        body = question.mask.value(read_result(answer.body))
    except Unusable as problem:
        return Rejected(f"{name} answered {answer.status}, but {problem}: let it answer plainer JSON")
    except ValueError:
        kind = _kind_of(question, answer)
        reason = f"{name} answered {answer.status} without JSON ({kind}): let it answer a JSON object"
        return RetryLater(reason) if question.may_repeat else Unknown(reason)
    if isinstance(body, dict) and body.get("success") is False:
        return RetryLater(_error_of(question, body) or f"{name} failed with status {answer.status}")
    return Accepted(result=_result_in(body))


def _result_in(body: object) -> object:
    """`data` where there is any, else the whole body."""
    return body["data"] if isinstance(body, dict) and body.get("data") is not None else body


def _error_in(question: Question, answer: HttpAnswer) -> str | None:
    """What the body of a refusal says in `error`, if it has that form."""
    try:
        body = read_result(answer.body or b"")
    except (ValueError, Unusable):
        return None
    return _error_of(question, body) if isinstance(body, dict) else None


def _error_of(question: Question, body: Mapping[str, object]) -> str | None:
    error = body.get("error")
    if not error:
        return None
    text = error if isinstance(error, str) else msgspec.json.encode(error).decode()
    return question.shown(text)


def _kind_of(question: Question, answer: HttpAnswer) -> str:
    """Name what came instead of JSON."""
    if not answer.body:
        return "nothing at all"
    kind = answer.headers.get("content-type", "no content type")
    coding = answer.headers.get("content-encoding", "")
    return question.shown(f"{kind}, {coding}" if coding else kind, 100)


def _is_deeper(value: object, most: int) -> bool:
    """Look level by level, so that depth costs no stack."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        if not level:
            return False
        values = (one.values() if isinstance(one, dict) else one for one in level)
        level = [inner for many in values for inner in many if isinstance(inner, dict | list)]
    return bool(level)
