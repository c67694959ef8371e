"""Signature Version 4, beside what botocore 1.44.3 (SigV4Auth) writes for the same requests at the same time.

Its signatures are recorded here: botocore wants a python-dateutil older than the one that templates use.
"""

from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from tidings.providers.aws_signature import AwsCredentials, signed
from tidings.providers.http_request import HttpRequest

AT = datetime(2026, 11, 18, 12, 34, 56, tzinfo=UTC)
JSON = (("Content-Type", "application/json"), ("Accept", "application/json"))


class Vector(NamedTuple):
    """A request and what signs it."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    token: str
    region: str
    names: str
    signature: str


VECTORS = {
    "a message": Vector(
        "POST",
        "https://email.eu-west-1.amazonaws.com/v2/email/outbound-emails",
        JSON,
        b'{"Content":{}}',
        "",
        "eu-west-1",
        "accept;content-type;host;x-amz-date",
        "0f772cd526dca12238d7276616ea8a547dcd379ac264513398138e838167993c",
    ),
    "of a session": Vector(
        "POST",
        "https://email.us-gov-west-1.amazonaws.com/v2/email/outbound-emails",
        JSON,
        b"",
        "IQoJb3JpZ2luX2VjEXAMPLE==",
        "us-gov-west-1",
        "accept;content-type;host;x-amz-date;x-amz-security-token",
        "2a5b74340b8ad804bad4ff4405176c0b7aba9115e1d3a0ce35c8a7eeb0ab8595",
    ),
    "at another port, beyond ASCII": Vector(
        "POST",
        "http://127.0.0.1:8026/v2/email/outbound-emails",
        JSON,
        '{"x":"ü"}'.encode(),
        "",
        "eu-west-1",
        "accept;content-type;host;x-amz-date",
        "e00c7b639973dd8b7e1d717509a8ae20484780fbb190389bf44314ac0a7b8112",
    ),
    "with a query, a quoted path and spaces in a header": Vector(
        "GET",
        "https://email.eu-west-1.amazonaws.com/v2/email/a%20b/c?b=2&a=1%201&a=0",
        (("Accept", "application/json"), ("X-Spaces", "a   b")),
        b"",
        "",
        "eu-west-1",
        "accept;host;x-amz-date;x-spaces",
        "15bd0c5290ef1500339144d4506a8864bad7cbb0dbfef0a20987d25da78842ae",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_request_is_signed_as_botocore_signs_it(name: str) -> None:
    vector = VECTORS[name]
    who = AwsCredentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", vector.token)
    request = HttpRequest(vector.method, vector.url, vector.headers, vector.body)

    headers = dict(signed(request, who, vector.region, "ses", AT).headers)

    scope = f"20261118/{vector.region}/ses/aws4_request"
    assert headers["Authorization"] == (
        f"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/{scope}, "
        f"SignedHeaders={vector.names}, Signature={vector.signature}"
    )
    assert headers["X-Amz-Date"] == "20261118T123456Z"
    assert headers.get("X-Amz-Security-Token", "") == vector.token


def test_credentials_do_not_show_their_secrets() -> None:
    assert "secret" not in repr(AwsCredentials("AKIAIOSFODNN7EXAMPLE", "secret-1", "secret-2"))
