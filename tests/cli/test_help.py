import pytest

from tests.cli.conftest import Command
from tidings import __version__


def test_help_lists_every_command(anywhere: Command) -> None:
    shown = anywhere("--help")

    assert shown.status == 0
    names = ["db", "outbox", "verify", "worker", "serve", "up", "demo", "workflows", "trigger", "executions", "keys"]
    names += ["dead-letters", "contacts", "sequences", "enrollments", "simulate", "campaigns", "segments", "runs"]
    for name in (*names, "rules", "events"):
        assert f" {name} " in shown.out


def test_help_of_a_group_lists_its_commands(anywhere: Command) -> None:
    groups = {
        "db": ("migrate", "status", "reset", "url", "stop", "forget-secrets"),
        "outbox": ("list", "in-doubt", "show", "resolve"),
        "workflows": ("apply", "list", "show", "validate", "activate", "deactivate", "delete"),
        "executions": ("list", "show", "watch", "cancel", "pause", "resume", "retry"),
        "dead-letters": ("list", "replay"),
        "keys": ("create", "list", "revoke"),
        "campaigns": ("list", "show", "create", "update", "delete", "count", "preview", "test", "deploy"),
        "segments": ("list", "show", "create", "update", "delete"),
        "runs": ("list", "show", "watch", "pause", "resume", "cancel", "retry", "resolve", "export"),
        "contacts": ("list", "show", "create", "update", "delete", "import"),
        "sequences": ("list", "show", "create", "update", "publish", "pause", "resume", "delete", "steps", "enroll"),
        "enrollments": ("list", "show", "why", "pause", "resume", "cancel"),
    }

    for group, names in groups.items():
        shown = anywhere(group, "--help").out
        assert all(f" {name} " in shown for name in names)


@pytest.mark.own_process
def test_the_version_is_the_packages(anywhere: Command) -> None:
    assert anywhere("--version").out.strip() == __version__


def test_an_unknown_command_is_refused_with_the_usage(anywhere: Command) -> None:
    ended = anywhere("send-everything")

    assert ended.status == 2
    assert "No such command 'send-everything'" in ended.err
