"""Channels as bodies and queries name them, so that a wrong one is refused and the documentation lists the right ones.

Taken from the table in domain/channels.py. A type checker cannot follow that, and sees strings.
"""

from typing import TYPE_CHECKING, Literal

from tidings.domain.channels import CONTACT_CHANNELS, MESSAGE_CHANNELS, STEP_CHANNELS

if TYPE_CHECKING:
    MessageChannel = str
    ContactChannel = str
    StepChannel = str
else:
    MessageChannel = Literal[tuple(one.value for one in MESSAGE_CHANNELS)]
    ContactChannel = Literal[tuple(one.value for one in CONTACT_CHANNELS)]
    StepChannel = Literal[tuple(one.value for one in STEP_CHANNELS)]
