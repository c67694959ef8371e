"""Countries, as they are named for phone numbers that have no country's code."""

import re

_COUNTRY = re.compile(r"[A-Z]{2}")


def read_region(text: str) -> str:
    """A country by its two letters (ISO 3166), as in DE; raises ValueError for anything else."""
    region = text.strip().upper()
    if not _COUNTRY.fullmatch(region):
        raise ValueError("write a country's two letters, like DE")
    return region
