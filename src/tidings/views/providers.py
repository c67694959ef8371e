"""Providers, and the workers that call them."""

from collections.abc import Sequence
from typing import Annotated

from tidings.views.view import ChannelName, Id, Time, View, doc


class WorkerShare(View, frozen=True, kw_only=True):
    """What one worker holds of a provider's limit."""

    worker_id: Annotated[Id, doc("As the worker's log line `worker_started` gives it.")]
    slots: Annotated[int, doc("The calls it may have in the air.", 10)]
    wanted: Annotated[int, doc("The calls it would make at once if it could; 0 when it is idle.", 10)] = 0
    until: Annotated[Time, doc("When its slots come free if it does not renew them.")]


class ProviderStatus(View, frozen=True, kw_only=True):
    """A provider, and who may call it."""

    name: Annotated[str, doc(example="smtp")]
    provider_class: Annotated[
        str | None, doc("`keyed`, `resolvable` or `blind`; null while nobody serves it.", "blind")
    ] = None
    channels: Annotated[Sequence[ChannelName], doc("What goes through it.")] = ()
    routed_since: Annotated[Time | None, doc("Since when.", "2026-03-02T09:00:00Z")] = None
    printing: Annotated[bool, doc("Whether it prints messages instead of sending them.")] = False
    served_by: Annotated[Sequence[Id], doc("The workers that live and can call it.")] = ()
    concurrency: Annotated[int | None, doc("The most calls of one process in the air.", 10)] = None
    limit: Annotated[int | None, doc("The most calls of all workers in the air; null without a limit.", 20)] = None
    workers: Sequence[WorkerShare] = ()
    rests_until: Annotated[Time | None, doc("Until when all workers leave it alone.")] = None
    unavailable_since: Annotated[Time | None, doc("When it could first not be used; null when it can be.")] = None
    unavailable_times: Annotated[int, doc("How often it was left alone since then.", 0)] = 0
    unavailable_reason: Annotated[str | None, doc("Why the last call could not begin.")] = None
    is_refused: Annotated[bool, doc("Our settings (credentials, sender) are refused: somebody must mend them.")] = False


class ProviderDetail(ProviderStatus, frozen=True, kw_only=True):
    """A provider as who runs the system sees it, and no tenant: a reason may quote another tenant's message."""

    rest_reason: Annotated[str | None, doc("Why all workers leave it alone, or did the last time.")] = None


class Served(View, frozen=True, kw_only=True):
    """What a worker can call through one provider."""

    provider: Annotated[str, doc(example="smtp")]
    provider_class: Annotated[str, doc(example="blind")] = ""
    channels: Annotated[Sequence[ChannelName], doc("What its own settings send through it.")] = ()
    concurrency: Annotated[int, doc("The most calls of it in the air.", 10)] = 0


class LiveWorker(View, frozen=True, kw_only=True):
    """A worker that was seen a moment ago."""

    id: Id
    host: Annotated[str, doc(example="mail-1")]
    pid: Annotated[int, doc(example=4711)]
    version: Annotated[str, doc(example="0.1.0")]
    lanes: Annotated[Sequence[str], doc(example=["transactional", "sequences", "campaigns", "runs"])] = ()
    serves: Sequence[Served] = ()
    started_at: Time
    last_seen_at: Time
