"""The sizes that are searched: every class of provider with every policy, and each kind of trouble beside a freeze."""

from datetime import timedelta

from tests.model.states import Budget, Setting
from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.graph import OnDoubt
from tidings.domain.flow.provider import Blind, Keyed, ProviderClass, Resolvable

BLIND = Blind()
KEYED = Keyed(timedelta(hours=24))
RESOLVABLE = Resolvable(authoritative=True, settle=timedelta(minutes=1))
HINTING = Resolvable(authoritative=False, settle=timedelta(minutes=1))

CRASHES = Budget(crashes=3)
ODDITIES = Budget(crashes=1, free_refusals=1, postponements=1, cancels=1)
ANSWERS = Budget(lost_commits=1, unknowns=2, free_refusals=1)
FREEZE_AND_CRASH = Budget(crashes=1, freezes=1)
FREEZE_AND_UNKNOWN = Budget(freezes=1, unknowns=1)
FREEZE_AND_LOST_COMMIT = Budget(freezes=1, lost_commits=1)

PROVIDERS: dict[str, tuple[ProviderClass, DoubtPolicy]] = {
    "blind": (BLIND, DoubtPolicy.HOLD),
    "blind, resend": (BLIND, DoubtPolicy.RESEND),
    "blind, give up": (BLIND, DoubtPolicy.GIVE_UP),
    "keyed": (KEYED, DoubtPolicy.HOLD),
    "keyed, give up": (KEYED, DoubtPolicy.GIVE_UP),
    "resolvable": (RESOLVABLE, DoubtPolicy.HOLD),
    "hinting": (HINTING, DoubtPolicy.HOLD),
}

WITHOUT_FREEZE = {
    f"{name}: {trouble}": Setting(provider, policy, budget=budget)
    for name, (provider, policy) in PROVIDERS.items()
    for trouble, budget in {"crashes": CRASHES, "oddities": ODDITIES, "answers": ANSWERS}.items()
}
WITH_FREEZE = {
    f"{name}: freeze and {trouble}": Setting(provider, policy, budget=budget)
    for name, (provider, policy) in PROVIDERS.items()
    if name != "keyed, give up"  # many states, and nothing that keyed and give up do not show by themselves
    for trouble, budget in {
        "crash": FREEZE_AND_CRASH,
        "unknown": FREEZE_AND_UNKNOWN,
        "lost commit": FREEZE_AND_LOST_COMMIT,
    }.items()
}
SPECIAL = {
    "blind: two freezes": Setting(BLIND, budget=Budget(freezes=2)),
    "blind: walks on past doubt": Setting(BLIND, on_doubt=OnDoubt.CONTINUE, budget=FREEZE_AND_CRASH),
    "blind: dies of two crashes": Setting(BLIND, crash_limit=2, budget=CRASHES),
    "keyed: dies of two crashes": Setting(KEYED, crash_limit=2, budget=CRASHES),
    "blind: two items": Setting(BLIND, items=2, budget=Budget(crashes=1)),
    "resolvable: two items": Setting(RESOLVABLE, items=2, budget=Budget(crashes=1)),
}
EVERY = WITHOUT_FREEZE | WITH_FREEZE | SPECIAL

LARGE = Budget(crashes=3, freezes=3, lost_commits=2, unknowns=2, free_refusals=1, postponements=1)
WIDE = {
    f"{name}: {items} items, 3 workers": Setting(provider, policy, items=items, workers=3, attempts=3, budget=LARGE)
    for name, (provider, policy) in PROVIDERS.items()
    for items in (1, 2)
}
