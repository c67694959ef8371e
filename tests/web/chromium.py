"""The browser of this machine."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """Return the path of Chromium: the one that is named, or else one of PATH."""
    return os.environ.get("TIDINGS_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
