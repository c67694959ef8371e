"""docs/reference/vendors.md says of every vendor in the catalogue what its code says, and nothing of others."""

import re
from pathlib import Path

import pytest

from tests.providers.vendors.keys import p256_key, pem, service_account
from tidings.domain.connections.kind import ConnectionSettings, ProviderKind, Setting, SettingType, Value
from tidings.domain.flow.provider import CLASS_NAMES
from tidings.domain.workflows.signing import signing_secret
from tidings.providers.catalogue import CATALOGUE

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "vendors.md").read_text()
ROWS = {
    cells[0].partition("`")[2].partition("`")[0]: cells
    for line in PAGE.splitlines()
    if line.startswith("| [`") and (cells := [one.strip() for one in line.strip("|").split("|")])
}
SETTINGS: dict[str, dict[str, Value]] = {
    "apns": {"key": pem(p256_key())},
    "apprise": {"address": "json://127.0.0.1/"},
    "fcm": {"serviceAccount": service_account()},
    "web-push": {"privateKey": pem(p256_key())},
    "webhook": {"secret": signing_secret(bytes(32))},
}
"""What a vendor must be told that cannot be made up, as a private key."""


def test_the_table_has_a_row_for_each_vendor_in_order() -> None:
    assert list(ROWS) == sorted(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_row_names_the_channels_and_the_class_of_its_vendor(name: str) -> None:
    kind = CATALOGUE[name]
    link, channels, classes, *_ = ROWS[name]

    assert link == f"[`{name}`](#{name})"
    assert channels.split(", ") == [str(one) for one in kind.channels]
    assert classes.split(", ") == _classes(kind)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_row_says_when_its_documents_were_read_and_what_was_tried(name: str) -> None:
    *_, documents, tried = ROWS[name]

    assert documents.rpartition("; ")[2] == str(max(one.read_on for one in CATALOGUE[name].follows))
    assert tried == "against a local server only"


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_section_lists_every_setting_and_prints_secrets_in_bold(name: str) -> None:
    section = re.split(r"\n#+ ", PAGE.partition(f"### {name}\n")[2])[0]
    listed = re.findall(r"^\| (\*\*)?`(\w+)`(?:\*\*)? \|", section, re.MULTILINE)

    assert {(setting, bool(bold)) for bold, setting in listed} == {
        (one.name, one.is_secret) for one in CATALOGUE[name].settings
    }


def _classes(kind: ProviderKind) -> list[str]:
    """The classes of its providers, each once: a vendor's channels may differ."""
    made = {one.name: _made_up(one) for one in kind.settings if one.is_required}
    values = kind.filled(made | SETTINGS.get(kind.name, {}))
    built = [kind.build(ConnectionSettings("x", channel, values)) for channel in kind.channels]
    return list(dict.fromkeys(CLASS_NAMES[type(one.provider_class)] for one in built))


def _made_up(setting: Setting) -> Value:
    numbers = {SettingType.NUMBER: 1, SettingType.FLAG: True}
    return numbers.get(setting.type, setting.example or "made up")
