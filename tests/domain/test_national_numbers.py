"""Numbers without a country's code: of the process's own country, or refused with the remedy."""

from collections.abc import Iterator

import pytest

from tidings.domain.channels import Channel
from tidings.domain.people.address import read_phone, use_region
from tidings.domain.people.contact import read_contact
from tidings.kernel.flow.addressees import spelled


@pytest.fixture(autouse=True)
def anywhere() -> Iterator[None]:
    yield
    use_region(None)


@pytest.mark.parametrize("number", ["0170 1234567", "030/123456", "1", "x"])
def test_without_a_country_a_national_number_is_refused_with_the_remedy(number: str) -> None:
    with pytest.raises(ValueError, match=r"write it like \+442071838750"):
        read_phone(number)


@pytest.mark.parametrize(
    ("region", "number", "expected"),
    [
        ("DE", "0170 1234567", "+491701234567"),
        ("DE", "(030) 123456", "+4930123456"),
        ("GB", "020 7183 8750", "+442071838750"),
        ("US", "(212) 555-2368", "+12125552368"),
        ("DE", "+44 20 7183 8750", "+442071838750"),
        ("DE", "0044 20 7183 8750", "+442071838750"),
    ],
)
def test_a_national_number_is_of_the_country_that_is_set(region: str, number: str, expected: str) -> None:
    use_region(region)

    assert read_phone(number) == expected
    assert read_contact({"phone": number})[0].phone == expected
    assert spelled(Channel.SMS, f" {number} ") == expected


@pytest.mark.parametrize("number", ["12", "call me", "0" * 100, "", "99999999999999999"])
def test_what_is_no_number_of_the_country_is_still_refused(number: str) -> None:
    use_region("DE")

    with pytest.raises(ValueError, match="is not a phone number"):
        read_phone(number)


def test_what_is_no_number_is_left_to_the_provider_and_other_channels_to_themselves() -> None:
    assert spelled(Channel.SMS, " short ") == "short"
    assert spelled(Channel.CHAT, " 0170 ") == "0170"
    assert spelled(Channel.WHATSAPP, "+49 170 1234567") == "+491701234567"
