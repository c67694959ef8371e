"""Read Retry-After, the header by which a server says when it may be asked again."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST_DELAY = timedelta(days=1)


def retry_after(given: str | None, now: datetime) -> timedelta | None:
    """How long the server asks to wait: in seconds, or until a date."""
    if not given:
        return None
    try:
        wait = timedelta(seconds=int(given)) if given.isascii() and given.isdigit() else _date(given) - now
    except (ValueError, OverflowError):
        return None
    return min(max(wait, timedelta()), LONGEST_DELAY)


def seconds_later(given: object) -> timedelta | None:
    """How long a vendor asks to wait that says so in the body of its answer, perhaps in parts of a second."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        return None
    return timedelta(seconds=min(float(given), LONGEST_DELAY.total_seconds()))


def _date(given: str) -> datetime:
    date = parsedate_to_datetime(given)
    return date if date.tzinfo else date.replace(tzinfo=UTC)
