"""The application of the benchmark's workers: a provider that accepts at once, so that only the kernel is measured."""

from tidings.domain.item import Channel
from tidings.providers.fake import FakeProvider
from tidings.wiring import App

_provider = FakeProvider("null", concurrency=1000, record=False)
app = App(providers=[_provider], routes=dict.fromkeys(Channel, "null"))
