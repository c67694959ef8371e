"""The settings about people who sign in, as the edge uses them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request

from tidings.config import Config
from tidings.http.oidc_issuer import Issuer


@dataclass(frozen=True, slots=True)
class PeopleSettings:
    """Where people reach the page, how long sessions last, and with whose logins they sign in."""

    public_url: str | None
    idle_after: timedelta
    lasts: timedelta
    issuers: Mapping[str, Issuer]

    @classmethod
    def of(cls, config: Config) -> "PeopleSettings":
        """Return those of a process."""
        return cls(
            config.public_url,
            timedelta(hours=config.session_idle_hours),
            timedelta(hours=config.session_hours),
            {name: Issuer(login) for name, login in config.oidc.items()},
        )

    def url_of(self, request: Request) -> str:
        """Return where people reach the page, without a slash at its end."""
        return (self.public_url or str(request.base_url)).rstrip("/")
