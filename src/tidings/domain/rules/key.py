"""What a rule is known by, and what stands in for it: every process knows these, and few read rules."""

import re
from typing import NamedTuple

from tidings.domain.channels import Channel
from tidings.domain.messages import unfit
from tidings.views.rules import RuleAudience

_TRIGGER = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


class RuleKey(NamedTuple):
    """What a rule is known by in its workspace."""

    trigger: str
    channel: Channel
    audience: RuleAudience

    def __str__(self) -> str:
        return f"{self.trigger}/{self.channel}/{self.audience}"


def check_trigger(raw: object) -> str:
    """A trigger's name, or ValueError."""
    if not isinstance(raw, str) or not _TRIGGER.fullmatch(raw):
        what = unfit(raw, "is no trigger")
        raise ValueError(f"{what}: use 1 to 100 letters, digits, dots, colons, dashes and underscores")
    return raw


def fallback_name(key: RuleKey) -> str:
    """The name under which a fallback is called like a function; no function can have it by accident."""
    return f"fallback:{key}"
