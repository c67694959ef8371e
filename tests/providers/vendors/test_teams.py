"""Teams workflows, against a server that says what their documents list."""

import msgspec

from tests.providers.items import marked
from tests.providers.vendors.asking import looked_up, sent
from tests.providers.vendors.making import webhook_maker
from tidings.domain.channels import Channel
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply

SIGNATURE = "canary4f1d9c27-Yb2Zp"
PATH = (
    f"/workflows/0f1e2d3c4b5a/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers&sv=1.0&sig={SIGNATURE}"
)
MAKE = webhook_maker("teams", PATH)
HELLO = {"body": "Good morning."}
ITEM = marked("default", HELLO, channel=Channel.CHAT)
RUN = "08584400000000000000000000000CU00"
OK = HttpReply(202, b"", {"x-ms-workflow-run-id": RUN})
REFUSED = Unavailable("", is_refused=True)


def error(status: int, code: object) -> HttpReply:
    return HttpReply(status, {"error": {"code": code, "message": "said"}})


DOCUMENTED = [
    DocumentedAnswer("invalid request", error(400, "InvalidRequestContent"), Rejected("")),
    DocumentedAnswer("switched off", error(400, "WorkflowTriggerIsNotEnabled"), REFUSED),
    DocumentedAnswer("signature", error(401, "DirectApiAuthorizationRequired"), REFUSED),
    DocumentedAnswer("forbidden", error(403, "Forbidden"), REFUSED),
    DocumentedAnswer("removed", error(404, "WorkflowNotFound"), REFUSED),
    DocumentedAnswer("gone", HttpReply(410), REFUSED),
    DocumentedAnswer("too large", HttpReply(413), Rejected("")),
    DocumentedAnswer("throttled", error(429, "WorkflowRunActionThrottled"), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("server", error(502, "NoResponse"), Unknown),
    DocumentedAnswer("odd code", error(400, ["x"]), Rejected("")),
]


async def test_teams_conforms_and_never_shows_its_signature() -> None:
    case = ConformanceCase(MAKE, ITEM, OK, DOCUMENTED, message_id=RUN, secrets=[SIGNATURE, PATH])

    assert await nonconformities(case) == []


async def test_a_message_is_an_adaptive_card() -> None:
    item = marked("", {"body": "Good morning.", "title": "News"}, channel=Channel.CHAT)

    outcome, [seen] = await sent(MAKE, item, OK)

    assert outcome == Accepted(RUN)
    assert (seen.method, seen.path) == ("POST", PATH)
    assert seen.json == {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": None,
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "body": [
                        {"type": "TextBlock", "text": "News", "weight": "Bolder", "size": "Medium", "wrap": True},
                        {"type": "TextBlock", "text": "Good morning.", "wrap": True},
                    ],
                },
            }
        ],
    }


async def test_a_run_without_an_id_was_begun_too() -> None:
    outcome, _ = await sent(MAKE, ITEM, HttpReply(200, b"1"))

    assert outcome == Accepted()


async def test_a_card_larger_than_teams_takes_is_refused_before_the_call() -> None:
    _, [seen] = await sent(MAKE, marked("", {"body": "x"}, channel=Channel.CHAT), OK)
    room = 28 * 1024 - len(msgspec.json.encode(seen.json)) + 1

    fits, _ = await sent(MAKE, marked("", {"body": "x" * room}, channel=Channel.CHAT), OK)
    large, unseen = await sent(MAKE, marked("", {"body": "x" * (room + 1)}, channel=Channel.CHAT), OK)

    assert isinstance(fits, Accepted)
    assert isinstance(large, Rejected)
    assert unseen == []


async def test_a_workflow_posts_to_one_place_and_cannot_be_asked() -> None:
    outcome, unsent = await sent(MAKE, marked("19:abc@thread.tacv2", HELLO, channel=Channel.CHAT), OK)
    evidence, unasked = await looked_up(MAKE, "default", HELLO)

    assert isinstance(outcome, Rejected)
    assert isinstance(evidence, CannotTell)
    assert (unsent, unasked) == ([], [])
