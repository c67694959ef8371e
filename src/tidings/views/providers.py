"""Providers, and the workers that call them."""

from collections.abc import Sequence
from typing import Annotated

from tidings.views.view import ChannelName, Id, Time, View, doc


class WorkerShare(View, frozen=True, kw_only=True):
    """The part of a provider's limit that one worker holds."""

    worker_id: Annotated[Id, doc("The worker's id, as its log line `worker_started` shows it.")]
    slots: Annotated[int, doc("The number of calls the worker may have under way at once.", 10)]
    wanted: Annotated[
        int, doc("The number of calls the worker would make at once if it could; 0 when it is idle.", 10)
    ] = 0
    until: Annotated[Time, doc("When the slots become free if the worker does not renew them.")]


class ProviderStatus(View, frozen=True, kw_only=True):
    """A provider and its state; what concerns the whole installation is shown to operators only."""

    name: Annotated[str, doc(example="smtp")]
    state: Annotated[
        str, doc("`ready`, `resting` while no worker calls it, `unserved` while no live worker can.", "ready")
    ] = "ready"
    provider_class: Annotated[
        str | None, doc("`keyed`, `resolvable` or `blind`; null while no worker serves it.", "blind")
    ] = None
    channels: Annotated[Sequence[ChannelName], doc("The channels that are routed to it.")] = ()
    routed_since: Annotated[Time | None, doc("Since when they are routed to it.", "2026-03-02T09:00:00Z")] = None
    printing: Annotated[bool, doc("Whether it prints messages instead of sending them.")] = False
    served_by: Annotated[Sequence[Id], doc("The live workers that can call it.")] = ()
    concurrency: Annotated[int | None, doc("The most calls that one process has under way at once.", 10)] = None
    limit: Annotated[
        int | None, doc("The most calls that all workers together have under way at once; null without a limit.", 20)
    ] = None
    workers: Sequence[WorkerShare] = ()
    rests_until: Annotated[Time | None, doc("Until when no worker calls it.")] = None
    unavailable_since: Annotated[Time | None, doc("When it first became unavailable; null while it is available.")] = (
        None
    )
    unavailable_times: Annotated[
        int, doc("How often the workers have stopped calling it for a while since then.", 0)
    ] = 0
    unavailable_reason: Annotated[str | None, doc("Why the last call could not begin.")] = None
    is_refused: Annotated[
        bool, doc("Whether the provider refuses our settings (credentials, sender), which somebody must correct.")
    ] = False
    rest_reason: Annotated[
        str | None,
        doc("Why no worker calls it now, or why none did the last time; it may quote anybody's message."),
    ] = None


class Served(View, frozen=True, kw_only=True):
    """What a worker can call through one provider."""

    provider: Annotated[str, doc(example="smtp")]
    provider_class: Annotated[str, doc(example="blind")] = ""
    channels: Annotated[Sequence[ChannelName], doc("The channels that the worker's own settings route to it.")] = ()
    concurrency: Annotated[int, doc("The most calls to it that the worker has under way at once.", 10)] = 0


class LiveWorker(View, frozen=True, kw_only=True):
    """A worker that has reported within the last moments."""

    id: Id
    host: Annotated[str | None, doc("Shown to operators only.", "mail-1")] = None
    pid: Annotated[int | None, doc("Shown to operators only.", 4711)] = None
    version: Annotated[str, doc(example="0.1.0")]
    lanes: Annotated[Sequence[str], doc(example=["transactional", "sequences", "campaigns", "runs"])] = ()
    serves: Sequence[Served] = ()
    started_at: Time
    last_seen_at: Time
