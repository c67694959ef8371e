"""What is said of a vendor's answer: never a secret, nor a part of one."""

from datetime import UTC, datetime

import pytest

from tidings.providers.mask import Mask
from tidings.providers.vendor_api import LONGEST_REASON, VendorAnswer

SECRET = "re_c3VwZXItc2VjcmV0LWtleS1vZi1zb21lYm9keQ"


@pytest.mark.parametrize("before", range(LONGEST_REASON - len(SECRET) - 10, LONGEST_REASON + 10, 7))
def test_a_secret_that_is_cut_off_where_a_reason_ends_is_not_shown_in_part(before: int) -> None:
    body = b"x" * before + SECRET.encode() + b" was not found"
    answer = VendorAnswer(500, {}, body, Mask([SECRET]), datetime(2027, 1, 1, tzinfo=UTC))

    assert SECRET[:6] not in answer.reason()
    assert len(answer.reason()) <= LONGEST_REASON + 1
