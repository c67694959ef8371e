"""Who there is, and how they come by a password."""

from datetime import timedelta
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.resources.sessions import Browser, OwnChange

HOME = Workspace()
HOUR = timedelta(hours=1)
PASSWORD = "correct horse battery staple"


def by(actor: str = "test") -> Caller:
    return Caller(HOME, actor)


async def invite(engine: Engine, email: str, *roles: Role) -> UUID:
    """Somebody with a password."""
    linked = await engine.users.invite(by(), email, email.partition("@")[0].title(), {HOME.name: list(roles)})
    assert await engine.sessions.redeem(linked.token, OwnChange(password=PASSWORD), Browser(HOUR, HOUR))
    return linked.user.id
