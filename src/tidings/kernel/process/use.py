"""Which limits of connections leave no place, as this process has last heard. kernel/gate/limits.py asks and tells."""

from datetime import datetime, timedelta

CLEANED_EVERY = timedelta(hours=1)


class KnownUse:
    """Until when there is no place for messages through a connection to a domain; asking earlier would be in vain."""

    def __init__(self) -> None:
        self._full: dict[tuple[str, str], datetime] = {}
        self._cleaned_at: dict[str, datetime] = {}

    def note(self, provider: str, domain: str, free_at: datetime) -> None:
        """Note when the next place is free."""
        self._full[provider, domain] = free_at

    def full_until(self, provider: str, domain: str, now: datetime) -> datetime | None:
        """When the next place is free, if none is now."""
        at = self._full.get((provider, domain))
        if at is None or at > now:
            return at
        del self._full[provider, domain]
        return None

    def must_clean(self, provider: str, now: datetime) -> bool:
        """Whether it is time to forget domains that a connection has not written to for long; once in a while it is."""
        at = self._cleaned_at.get(provider)
        if at is not None and timedelta() <= now - at < CLEANED_EVERY:
            return False
        self._cleaned_at[provider] = now
        return True

    def let_go(self, provider: str) -> None:
        """Know nothing of a connection that was removed."""
        self.forget(provider)
        self._cleaned_at.pop(provider, None)

    def forget(self, provider: str) -> None:
        """Forget what is known of a connection: its limits have changed."""
        for key in [key for key in self._full if key[0] == provider]:
            del self._full[key]
