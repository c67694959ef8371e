from tests.conftest import ManualClock

from tidings.domain.execution import ExecutionStatus
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider


async def test_an_email_a_delay_and_a_text_message(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await engine.define(
        "welcome",
        {
            "entryNodeId": "hello",
            "nodes": [
                {"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi {{ name }}", "body": "Welcome"},
                {"id": "wait", "type": "delay", "duration": "PT1H"},
                {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "Still there, {{ name }}?"},
            ],
            "edges": [{"from": "hello", "to": "wait"}, {"from": "wait", "to": "nudge"}],
        },
    )
    started = await engine.trigger("welcome", {"email": "a@example.com", "phone": "+49", "name": "Ada"}, "k1")

    await engine.work_everything()
    assert [call.recipient for call in provider.calls] == ["a@example.com"]
    clock.advance(minutes=61)
    await engine.work_everything()

    shown = await engine.execution(started.id)
    assert shown.status is ExecutionStatus.COMPLETED
    assert [call.payload for call in provider.calls] == [
        {"subject": "Hi Ada", "body": "Welcome"},
        {"body": "Still there, Ada?"},
    ]
    assert all(not check.offences for check in await engine.verify())
