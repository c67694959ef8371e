"""A scratch engine on the tests' own server."""

from collections.abc import AsyncIterator

import pytest

from tidings.testing import Scratch, scratch_engine

WELCOME = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi {{ name }}", "body": "Welcome"},
        {"id": "wait", "type": "delay", "duration": "P3D"},
        {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "Still there, {{ name }}?"},
    ],
    "edges": [{"from": "hello", "to": "wait"}, {"from": "wait", "to": "nudge"}],
}
ADA = {"name": "Ada", "email": "ada@example.com", "phone": "+442071838750"}


@pytest.fixture
async def scratch(server: str) -> AsyncIterator[Scratch]:
    async with scratch_engine(server=server) as scratch:
        yield scratch
