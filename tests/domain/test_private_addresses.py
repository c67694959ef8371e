"""Which private addresses may be called, by what the operator named."""

from ipaddress import ip_address

import pytest

from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, METADATA, PrivateAddresses, private_addresses

TRUSTED = private_addresses(["10.1.0.0/16", "127.0.0.1", "fn.internal", "fd12::/16"])


@pytest.mark.parametrize(
    ("host", "address", "is_allowed"),
    [
        ("a.example", "10.1.2.3", True),
        ("a.example", "10.2.0.1", False),
        ("a.example", "127.0.0.1", True),
        ("a.example", "127.0.0.2", False),
        ("FN.internal.", "192.168.7.7", True),
        ("other.internal", "192.168.7.7", False),
        ("a.example", "fd12::1", True),
        ("a.example", "fd13::1", False),
    ],
)
def test_only_what_is_named_is_open(host: str, address: str, is_allowed: bool) -> None:
    assert TRUSTED.allow(host, ip_address(address)) is is_allowed


@pytest.mark.parametrize("address", sorted(map(str, METADATA)))
def test_the_addresses_where_clouds_hand_out_credentials_open_only_by_themselves(address: str) -> None:
    wide = private_addresses(["0.0.0.0/0", "::/0", "169.254.0.0/16", "metadata.internal"])

    assert not wide.allow("metadata.internal", ip_address(address))
    assert not EVERY_PRIVATE_ADDRESS.allow("metadata.internal", ip_address(address))
    assert private_addresses([address]).allow("metadata.internal", ip_address(address))


def test_nothing_is_open_at_first() -> None:
    assert not PrivateAddresses().allow("localhost", ip_address("127.0.0.1"))
