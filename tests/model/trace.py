"""Tell a trace to a person: each step in a sentence, and the rows after it."""

from collections.abc import Iterator, Sequence

from tests.model import model
from tests.model.states import Item, Row, Setting, State, Step, Window

SENTENCES = {
    "claim": "claims the owner",
    "reread": "reads back what its claim took",
    "load": "reads the items",
    "admit": "takes marks without an answer for a crash",
    "ask": "asks the provider what became of the call",
    "cannot_tell": "asks the provider, which cannot tell",
    "record": "records what it knows without a call",
    "clear": "ends the doubt: the call has never arrived",
    "schedule": "sets when the doubt is looked at again",
    "settle": "settles what was never called",
    "reserve": "reserves the items",
    "reserve_marked": "reserves the items with their marks",
    "release": "releases the owner",
    "postpone": "lets the calls wait: the provider rests",
    "hand_over": "hands the request over",
    "refrain": "does not begin the call: its lease has run out",
    "lease_spent": "begins the call and stops before the first byte: its lease has run out",
    "accept": "is told: accepted",
    "reject": "is told: rejected",
    "refuse": "is told: try again later",
    "refuse_free": "is told: not so fast",
    "cannot_begin": "finds the provider out of use",
    "accept_unheard": "hears nothing; the provider has accepted",
    "vanish": "hears nothing; the request was lost",
    "time_out": "hears nothing; the request is still on its way",
    "crash": "dies",
    "arrive": "a request without a worker is accepted",
    "drop": "a request without a worker is lost",
    "reject_unheard": "a request without a worker is rejected",
    "retry_due": "the time of a retry has come",
    "row_due": "the owner is due",
    "expire": "the lease of a dead worker runs out",
    "freeze": "a worker freezes until its lease has run out",
    "cancel": "a person cancels",
}


def retold(setting: Setting, steps: Sequence[Step]) -> Iterator[str]:
    """The story of a violation, step by step, with the true fences."""
    state = setting.start()
    for number, step in enumerate(steps, start=1):
        before, state = state, model.apply(setting, state, step)
        yield f"{number:3}. {_sentence(before, state, step)}"
        if (before.row, before.items, before.posts) != (state.row, state.items, state.posts):
            yield f"       {_rows(state)}"


def _sentence(before: State, after: State, step: Step) -> str:
    what = _window(step.window) if step.window else SENTENCES[step.what]
    about = f" [item {step.item + 1}]" if step.item >= 0 and len(after.items) > 1 else ""
    lost = " – the commit's answer is lost" if step.answer_lost else ""
    if step.worker < 0:
        return what + about
    fence = before.workers[step.worker].fence or after.workers[step.worker].fence
    return f"{'ABCDEFGH'[step.worker]} (fence {fence}) {what}{about}{lost}"


def _window(window: Window) -> str:
    parts = {"facts about": window.facts, "takes back marks of": window.unmarks, "marks": window.marks}
    said = [f"{name} {', '.join(str(place + 1) for place in places)}" for name, places in parts.items() if places]
    return "commits: " + "; ".join([*said, *(["renews its lease"] if window.renew else [])])


def _rows(state: State) -> str:
    items = "; ".join(_item(item) for item in state.items)
    return (
        f"{_row(state.row)} | {items} | reached people {', '.join(str(post.effective) for post in state.posts)} times"
    )


def _row(row: Row | None) -> str:
    if row is None:
        return "owner gone"
    lease = ("lease run out" if row.due else "leased") if row.leased else ("due" if row.due else "asleep")
    flags = [name for name in ("wake", "stop") if getattr(row, name)]
    return " ".join([f"owner {lease}, fence {row.fence}, crashes {row.crashes}", *flags])


def _item(item: Item | None) -> str:
    if item is None:
        return "no item"
    flags = [name for name in ("marked", "in_doubt") if getattr(item, name)]
    retry = [] if item.retry == "none" else [f"retry {item.retry}"]
    return ", ".join([item.status, f"mark {item.marked_attempt}", f"attempts {item.attempts}", *flags, *retry])
