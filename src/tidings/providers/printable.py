"""Make text from outside fit for one line of a log or a reason: escaped and short."""


def printable(text: str, limit: int = 200) -> str:
    """Escape what is not printable and cut the rest off after `limit` characters.

    Lone surrogates and NUL, which PostgreSQL cannot store, are escaped too.
    """
    cut = text if len(text) <= limit else text[:limit] + "…"
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in cut)
