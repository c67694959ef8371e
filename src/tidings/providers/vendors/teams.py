"""Chat through a Teams workflow ("when a Teams webhook request is received"): blind.

The workflow takes a card and posts it afterwards: 202 says that a run of it began, whose id is the message's. What
becomes of the run, only its owner sees.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings, FollowedDocument, ProviderKind, webhook_url
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, Unavailable
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import ONE_PLACE, is_default, text_of
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    json_request,
    judge_refusal,
    nothing_to_ask,
)
from tidings.providers.webhook_address import secrets_in

_LARGEST_CARD = 28 * 1024
_OUR_TROUBLE = frozenset({"WorkflowTriggerIsNotEnabled", "WorkflowNotFound", "WorkflowTriggerNotFound"})


class Teams:
    """A POST to the workflow, and what its errors mean."""

    provider_class = Blind()

    def __init__(self, url: str) -> None:
        self._url = url

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request."""
        text = text_of(item)
        if isinstance(text, Rejected):
            return text
        if not is_default(item.recipient):
            return ONE_PLACE
        request = json_request(self._url, _message(text, item.payload.get("title")))
        if len(request.body) > _LARGEST_CARD:
            # The workflow would take it, and fail where nobody sees it.
            return Rejected(f"the card has {len(request.body):,} bytes, and Teams takes {_LARGEST_CARD:,}")
        return request

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        if answer.is_success:
            return Accepted(answer.headers.get("x-ms-workflow-run-id"))
        error = answer.fields.get("error")
        code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
        words = f"{code or ''} {message or ''}".strip() or None
        if str(code) in _OUR_TROUBLE or answer.status in (404, 410):
            return Unavailable(answer.reason(words), is_refused=True)
        return judge_refusal(answer, words)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence."""
        return await nothing_to_ask("A Teams workflow")


def _message(text: str, title: str | None) -> Mapping[str, Any]:
    heading = (
        [{"type": "TextBlock", "text": title, "weight": "Bolder", "size": "Medium", "wrap": True}] if title else []
    )
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [*heading, {"type": "TextBlock", "text": text, "wrap": True}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _build(connection: ConnectionSettings) -> Provider:
    url = connection.text("webhookUrl")
    return VendorProvider(connection, Teams(url), secrets_in(url))


KIND = ProviderKind(
    name="teams",
    title="Microsoft Teams (workflow)",
    channels=(Channel.CHAT,),
    settings=(webhook_url("the address that the workflow shows for its trigger, with its whole query"),),
    build=_build,
    follows=(
        FollowedDocument("Microsoft Learn: create incoming webhooks with Workflows", date(2026, 11, 18)),
        FollowedDocument("Microsoft Learn: the Teams connector, its limits", date(2026, 11, 18)),
    ),
    accepts=is_default,
)
