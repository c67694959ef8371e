"""Chat through a Slack incoming webhook: blind, since its answer is only `ok`, and nothing can be asked afterwards.

A webhook posts to the one channel it was made for: what is wrong with the channel is wrong with the connection.
"""

from datetime import date

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings, FollowedDocument, ProviderKind, webhook_url
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import ONE_PLACE, is_default
from tidings.providers.slack_text import slack_text
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    json_request,
    judge_refusal,
    nothing_to_ask,
)
from tidings.providers.webhook_address import secrets_in

_OUR_TROUBLE = frozenset(
    {"invalid_token", "no_active_hooks", "no_service", "no_service_id", "no_team", "user_not_found"}
)


class SlackWebhook:
    """A POST to the webhook, and what its errors mean."""

    provider_class = Blind()

    def __init__(self, url: str) -> None:
        self._url = url

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request."""
        if not is_default(item.recipient):
            return ONE_PLACE
        text = slack_text(item)
        return text if isinstance(text, Rejected) else json_request(self._url, {"text": text})

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means: a word as plain text."""
        said = answer.body.decode("utf-8", "replace").strip()
        if answer.is_success:
            return Accepted() if said == "ok" else Unknown(answer.reason())
        if answer.status in (404, 410) or said in _OUR_TROUBLE:
            return Unavailable(answer.reason(), is_refused=True)
        return judge_refusal(answer)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence."""
        return await nothing_to_ask("A Slack webhook")


def _build(connection: ConnectionSettings) -> Provider:
    url = connection.text("webhookUrl")
    return VendorProvider(connection, SlackWebhook(url), secrets_in(url))


KIND = ProviderKind(
    name="slack-webhook",
    title="Slack (incoming webhook)",
    channels=(Channel.CHAT,),
    settings=(webhook_url("the address of the webhook, which begins with https://hooks.slack.com/services/"),),
    build=_build,
    follows=(
        FollowedDocument("Slack documentation: sending messages using incoming webhooks", date(2026, 11, 18)),
        FollowedDocument("Slack changelog 2016-05-17: errors of incoming webhooks", date(2026, 11, 18)),
    ),
    accepts=is_default,
)
