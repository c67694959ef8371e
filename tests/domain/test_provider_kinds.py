"""What a connection is told is checked by its kind: every problem at its place, and no secret in any of them."""

from datetime import date

import pytest

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    SettingType,
    base_url,
    secret,
)
from tidings.domain.flow.provider import Provider


def _build(_: ConnectionSettings) -> Provider:
    raise AssertionError("nothing is built to check settings")


KIND = ProviderKind(
    name="acme",
    title="Acme",
    channels=(Channel.SMS,),
    settings=(
        secret("apiKey", "the key of the account"),
        secret("certificate", "the certificate", is_required=False, has_lines=True),
        Setting(name="from", doc="the sender", is_required=True),
        Setting(name="region", doc="where it is", choices=("eu", "us"), default="eu"),
        Setting(name="timeout", doc="seconds", type=SettingType.NUMBER, default=30),
        Setting(name="test", doc="whether it only tries", type=SettingType.FLAG),
        base_url("https://api.acme.example"),
    ),
    build=_build,
    follows=(FollowedDocument("Acme's API", date(2026, 11, 18)),),
)
GOOD_SETTINGS = {"from": "Tidings"}
GOOD_CREDENTIALS = {"apiKey": "k-1"}


def test_what_is_whole_has_no_problem_and_gets_its_defaults() -> None:
    assert KIND.problems_of(GOOD_SETTINGS, GOOD_CREDENTIALS) == []
    assert KIND.filled({"from": "Tidings", "region": "us"}) == {
        "from": "Tidings",
        "region": "us",
        "timeout": 30,
        "baseUrl": "https://api.acme.example",
    }


WRONG = [
    ({}, GOOD_CREDENTIALS, "settings.from", "is missing: the sender"),
    ({"from": ""}, GOOD_CREDENTIALS, "settings.from", "is missing: the sender"),
    (GOOD_SETTINGS, {}, "credentials.apiKey", "is missing: the key of the account"),
    ({**GOOD_SETTINGS, "regoin": "eu"}, GOOD_CREDENTIALS, "settings.regoin", "did you mean 'region'?"),
    ({**GOOD_SETTINGS, "region": "mars"}, GOOD_CREDENTIALS, "settings.region", "use one of eu, us"),
    ({**GOOD_SETTINGS, "timeout": "30"}, GOOD_CREDENTIALS, "settings.timeout", "use a whole number"),
    ({**GOOD_SETTINGS, "timeout": True}, GOOD_CREDENTIALS, "settings.timeout", "use a whole number"),
    ({**GOOD_SETTINGS, "timeout": -1}, GOOD_CREDENTIALS, "settings.timeout", "use a whole number"),
    ({**GOOD_SETTINGS, "test": "yes"}, GOOD_CREDENTIALS, "settings.test", "use true or false"),
    ({"from": "a\r\nBcc: b"}, GOOD_CREDENTIALS, "settings.from", "line break"),
    ({**GOOD_SETTINGS, "apiKey": "k"}, GOOD_CREDENTIALS, "settings.apiKey", "belongs to credentials"),
    (GOOD_SETTINGS, {**GOOD_CREDENTIALS, "from": "x"}, "credentials.from", "belongs to settings"),
    ({"from": "x" * 1_001}, GOOD_CREDENTIALS, "settings.from", "1,001 characters"),
]


@pytest.mark.parametrize(("settings", "credentials", "place", "words"), WRONG)
def test_each_problem_names_its_place_and_the_remedy(
    settings: dict[str, object], credentials: dict[str, object], place: str, words: str
) -> None:
    found = KIND.problems_of(settings, credentials)

    assert [one.place for one in found] == [place]
    assert words in found[0].message


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example",
        "https://",
        "https://user:pw@a.example",
        "https://a.example?x=1",
        "https://a:x",
        "a.example",
        7,
    ],
)
def test_an_address_is_plain_http(url: object) -> None:
    [found] = KIND.problems_of({**GOOD_SETTINGS, "baseUrl": url}, GOOD_CREDENTIALS)

    assert found.place == "settings.baseUrl"


def test_no_problem_repeats_a_secret() -> None:
    found = KIND.problems_of(GOOD_SETTINGS, {"apiKey": "canary\r\n", "certificate": "canary\ud800"})

    assert [one.place for one in found] == ["credentials.apiKey", "credentials.certificate"]
    assert "canary" not in str(found)


def test_credentials_that_are_stored_need_not_be_given_again() -> None:
    assert KIND.problems_of(GOOD_SETTINGS, {}, stored=["apiKey"]) == []


def test_secrets_are_not_in_the_words_for_settings() -> None:
    settings = ConnectionSettings("acme/1", Channel.SMS, {"apiKey": "canary", "from": "x"})

    assert "canary" not in repr(settings)
    assert settings.text("from") == "x"
    assert settings.text("region") == ""
