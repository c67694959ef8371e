"""Addresses, numbers, zones and locales: what is taken, in which spelling, and what is refused."""

from collections.abc import Callable

import pytest

from tidings.domain.people.address import read_email, read_locale, read_phone, read_time_zone

EMAILS = {
    "ada@example.com": "ada@example.com",
    "  ada@example.com\n": "ada@example.com",
    "Ada.Lovelace@EXAMPLE.Com": "Ada.Lovelace@example.com",
    "mailto:ada@example.com": "ada@example.com",
    "ada+news@sub.example.co.uk": "ada+news@sub.example.co.uk",
    "o'hara@example.com": "o'hara@example.com",
    "ada@xn--bcher-kva.example": "ada@xn--bcher-kva.example",
    "ada@BÜCHER.example": "ada@xn--bcher-kva.example",
    "jürgen@example.com": "jürgen@example.com",
    "ju\u0308rgen@example.com": "jürgen@example.com",
    "ada@ex\u200bample.com": "ada@example.com",
    f"{'a' * 64}@example.com": f"{'a' * 64}@example.com",
}
NO_EMAILS = [
    *("ada", "ada@", "@example.com", "ada@example", "ada@example..com", "ada@.example.com", "ada@example.com."),
    *("ada@-example.com", "ada@example-.com", "ada@exa_mple.com", "ada@example.1", "ada@1.2.3.4", "ada@[1.2.3.4]"),
    *(".ada@example.com", "ada.@example.com", "a..da@example.com", "a da@example.com", "ada@exam ple.com"),
    *("Ada <ada@example.com>", "ada@example.com, eve@example.com", "ada@@example.com", '"ada"@example.com'),
    *(
        f"{'a' * 65}@example.com",
        f"ada@{'a' * 64}.com",
        f"ada@{'a.' * 130}com",
        "ada\x00@example.com",
        "ü ü@example.com",
    ),
    *("jürgen.@example.com", "ada@bü cher.example", "ada@example.c"),
]
PHONES = {
    "+442071838750": "+442071838750",
    "+44 20 7183 8750": "+442071838750",
    "+44 (0)20 7183-8750": "+442071838750",
    "0044 20 7183 8750": "+442071838750",
    "tel:+1-212-555-0100": "+12125550100",
    "whatsapp:+4915112345678": "+4915112345678",
    "+1 (212) 555.0100": "+12125550100",
    "+49\u00a0151\u2011123/45678": "+4915112345678",
    "+6834002": "+6834002",
    "+123456789012345": "+123456789012345",
}
NO_PHONES = [
    *("020 7183 8750", "442071838750", "+044207183", "+1234567890123456", "+12345", "+44x20", "+", "phone"),
    *("+44 20 7183 8750 ext 5", "+٤٤٢٠٧١٨٣٨٧٥٠", "++442071838750", "+44 20 7183 8750, +44 20 7183 8751"),
]
ZONES = {"Europe/Berlin": "Europe/Berlin", "europe/berlin": "Europe/Berlin", "UTC": "UTC", "utc": "UTC"} | {
    " America/New York ": "America/New_York",
    "america/argentina/buenos_aires": "America/Argentina/Buenos_Aires",
}
NO_ZONES = ["", "Berlin", "Europe/Atlantis", "+02:00", "../../etc/passwd", "/etc/passwd", "localtime", "Factory"]
LOCALES = {"en": "en", "pt_br": "pt-BR", "ZH-hant-tw": "zh-Hant-TW", "es-419": "es-419", " de ": "de"}
NO_LOCALES = ["", "e", "english", "en-", "en-GBR", "en GB", "12"]

CASES = [
    *((read_email, given, wanted) for given, wanted in EMAILS.items()),
    *((read_phone, given, wanted) for given, wanted in PHONES.items()),
    *((read_time_zone, given, wanted) for given, wanted in ZONES.items()),
    *((read_locale, given, wanted) for given, wanted in LOCALES.items()),
]
WRONG = [
    *((read_email, given) for given in NO_EMAILS),
    *((read_phone, given) for given in NO_PHONES),
    *((read_time_zone, given) for given in NO_ZONES),
    *((read_locale, given) for given in NO_LOCALES),
]


@pytest.mark.parametrize(("read", "given", "wanted"), CASES)
def test_it_is_read_into_one_spelling(read: Callable[[str], str], given: str, wanted: str) -> None:
    assert read(given) == wanted
    assert read(wanted) == wanted


@pytest.mark.parametrize(("read", "given"), WRONG)
def test_it_is_refused_with_the_remedy(read: Callable[[str], str], given: str) -> None:
    with pytest.raises(ValueError, match="write it like"):
        read(given)


def test_a_refusal_does_not_repeat_a_novel() -> None:
    with pytest.raises(ValueError) as refused:
        read_email("x" * 100_000)

    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("nasty", ["a." * 100_000 + "@example.com", "ada@" + "a-" * 100_000, "ada@" + "a." * 100_000])
def test_an_endless_address_is_refused_at_once(nasty: str) -> None:
    with pytest.raises(ValueError):
        read_email(nasty)
