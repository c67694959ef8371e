"""What is installed on request, and what a command says without it."""

import sys

import pytest

from tidings import cli
from tidings.cli import app as commands
from tidings.domain.errors import ExtraMissing
from tidings.extras import EXTRAS, missing_extra, require_extra


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_that_is_installed_is_no_hindrance(extra: str) -> None:
    require_extra(extra)


def test_every_package_that_lacks_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "demo", ("nowhere_one", "aiosmtpd", "nowhere_two"))

    with pytest.raises(ExtraMissing) as missing:
        require_extra("demo")

    assert str(missing.value) == "not installed: nowhere_one, nowhere_two; run pip install 'tidings[demo]'"


def test_an_import_that_fails_in_the_middle_of_a_command_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacks_a_package() -> None:
        raise ModuleNotFoundError("No module named 'fastapi.openapi'", name="fastapi.openapi")

    monkeypatch.setattr(sys, "argv", ["tidings", "keys", "list", "--json"])
    monkeypatch.setattr(commands, "app", lacks_a_package)
    monkeypatch.setattr("typer.main.get_command", lambda _: None)
    monkeypatch.setattr("tidings.cli.flags.running_command", lambda *_: None)
    monkeypatch.setattr("tidings.cli.flags.with_flags", lambda error, *_: str(error))

    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == 1
    assert capsys.readouterr().err.strip().endswith("not installed: fastapi; run pip install 'tidings[server]'")


def test_another_module_that_is_missing_is_a_fault_of_ours() -> None:
    assert missing_extra(ModuleNotFoundError("No module named 'tidings.nowhere'", name="tidings.nowhere")) is None
