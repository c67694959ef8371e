"""Posts to a Mastodon account: keyed, since a server keeps an Idempotency-Key for an hour.

Servers older than mastodon #37879 (February 2026) know a key only once the first request is done, so that a repeat on
its heels posts twice (#21840): after doubt a repeat waits for a minute. Some versions answer 500 to a repeat that they
recognise (#40399), so a 5xx is never read as "not posted": it is doubt, and ends with an answer that names the post or
with a person.
"""

from datetime import date, datetime, timedelta

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    base_url,
    secret,
)
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater, Unknown
from tidings.domain.flow.provider import Doubtful, Evidence, Keyed, Provider
from tidings.providers.http_request import HttpRequest
from tidings.providers.post_fields import PostFields, post_fields
from tidings.providers.retry_after import LONGEST_DELAY
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    json_request,
    judge_refusal,
    nothing_to_ask,
)


class Mastodon:
    """POST /api/v1/statuses, and what its errors mean."""

    provider_class = Keyed(retention=timedelta(hours=1), settle=timedelta(minutes=1))

    def __init__(self, url: str, token: str, account: str, visibility: str) -> None:
        self._url, self._token, self._account, self._visibility = url, token, account, visibility

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request; our key is theirs."""
        fields = post_fields(item, self._account)
        if not isinstance(fields, PostFields):
            return fields
        return json_request(
            f"{self._url}/api/v1/statuses",
            {"status": fields.text, "visibility": self._visibility},
            ("Authorization", f"Bearer {self._token}"),
            ("Idempotency-Key", item.key.hex()),
        )

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        said = answer.fields
        if answer.is_success:
            id = said.get("id")
            return Accepted(id) if isinstance(id, str) and id else Unknown(answer.reason("the answer has no id"))
        words = said.get("error")
        if answer.status == 429:
            return RetryLater(answer.reason(words), answer.delay or _until_reset(answer), uses_attempt=False)
        if answer.status >= 500:
            return Unknown(answer.reason(words))
        return judge_refusal(answer, words)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence: the same request is simply made again."""
        return await nothing_to_ask("Mastodon")


def _until_reset(answer: VendorAnswer) -> timedelta | None:
    """How long until X-RateLimit-Reset, a date in ISO 8601."""
    try:
        reset = datetime.fromisoformat(answer.headers.get("x-ratelimit-reset", ""))
        return min(max(reset - answer.now, timedelta()), LONGEST_DELAY)
    except (ValueError, TypeError):  # TypeError: a date without a zone
        return None


def _build(connection: ConnectionSettings) -> Provider:
    token = connection.text("accessToken")
    vendor = Mastodon(connection.url(), token, connection.text("account"), connection.text("visibility"))
    return VendorProvider(connection, vendor, [token])


KIND = ProviderKind(
    name="mastodon",
    title="Mastodon",
    channels=(Channel.SOCIAL,),
    settings=(
        secret("accessToken", "the account's access token, with the scope write:statuses"),
        Setting(name="account", doc="the account, where posts for others are to be refused", example="@news"),
        Setting(
            name="visibility",
            doc="who sees posts",
            default="public",
            choices=("public", "unlisted", "private"),
        ),
        base_url("https://mastodon.social"),
    ),
    build=_build,
    follows=(
        FollowedDocument("Mastodon documentation: statuses API methods, rate limits", date(2026, 11, 18)),
        FollowedDocument("mastodon/mastodon #21840, #37879 and #40399", date(2026, 11, 18)),
    ),
)
