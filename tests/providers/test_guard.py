"""The guard: which addresses are public, and that what was checked is what is connected to."""

import asyncio
from ipaddress import ip_address

import pytest

from tests.providers.function_server import function_server
from tests.providers.items import yes
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, NO_PRIVATE_ADDRESSES
from tidings.domain.workflows.function import Endpoint, check_url
from tidings.providers.function_answer import Question
from tidings.providers.function_call import FunctionCaller, FunctionRequest
from tidings.providers.guard import AddressRefused, connect_checked, is_public, resolve
from tidings.providers.http_request import HttpAnswer

PRIVATE = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.8.8.8"),
    *("169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1"),
    *("198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
    "255.255.255.255",
    *("::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "100::1", "2002:7f00:1::", "2002:a00:1::1"),
    *("2001::1", "2001:0:808:808::1", "2001:db8::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1"),
    *("fe80::1%2", "fec0::1", "ff02::1", "4000::1"),
]
PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1"),
    *("172.15.255.255", "172.32.0.1", "192.0.1.1", "223.255.255.255"),
    *("2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(ip_address(address))


class Names:
    """A name server: each look-up gets the next answer."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> list[str]:
        self.asked.append(host)
        return self.answers.pop(0)


class Wire:
    """A network that only notes where it was to connect."""

    def __init__(self, *dead: str) -> None:
        self.dead = dead
        self.connected: list[str] = []

    async def dial(self, address: str) -> str:
        self.connected.append(address)
        if address in self.dead:
            raise ConnectionRefusedError("refused")
        return address


async def connect(host: str, names: Names, wire: Wire) -> str:
    return await connect_checked(host, 80, NO_PRIVATE_ADDRESSES, wire.dial, names)


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    names, wire = Names(["93.184.216.34"], ["127.0.0.1"]), Wire()

    await connect("rebinding.example", names, wire)

    assert names.asked == ["rebinding.example"]
    assert wire.connected == ["93.184.216.34"]


async def test_a_name_that_is_private_at_the_next_look_up_is_refused_then() -> None:
    names, wire = Names(["93.184.216.34"], ["127.0.0.1"]), Wire()
    await connect("rebinding.example", names, wire)

    with pytest.raises(AddressRefused):
        await connect("rebinding.example", names, wire)

    assert wire.connected == ["93.184.216.34"]


@pytest.mark.parametrize("private", ["127.0.0.1", "::1", "169.254.169.254"])
async def test_one_private_address_spoils_all(private: str) -> None:
    wire = Wire()

    for addresses in (["93.184.216.34", private], [private, "93.184.216.34"]):
        with pytest.raises(AddressRefused):
            await connect("half.example", Names(addresses), wire)

    assert wire.connected == []


async def test_the_next_address_is_tried_when_the_first_is_dead() -> None:
    wire = Wire("8.8.8.8")

    await connect("two.example", Names(["8.8.8.8", "1.1.1.1"]), wire)

    assert wire.connected == ["8.8.8.8", "1.1.1.1"]


@pytest.mark.parametrize("addresses", [["8.8.8.8"], []])
async def test_without_a_living_address_the_connection_fails(addresses: list[str]) -> None:
    with pytest.raises(OSError):
        await connect("dead.example", Names(addresses), Wire("8.8.8.8"))


async def test_a_refusal_does_not_say_which_address_it_was() -> None:
    with pytest.raises(AddressRefused) as refused:
        await connect("internal.example", Names(["10.1.2.3"]), Wire())

    assert "10.1.2.3" not in str(refused.value)


async def test_a_real_look_up_gives_each_address_once() -> None:
    addresses = await resolve("localhost", 80)

    assert addresses
    assert len(addresses) == len(set(addresses))
    assert not any(is_public(ip_address(address)) for address in addresses)


async def call(url: str, names: Names, *, allow_private: bool) -> object:
    caller = FunctionCaller(connections=1, keep_connections=False, resolver=names)
    endpoint = Endpoint(url, private=EVERY_PRIVATE_ADDRESS if allow_private else NO_PRIVATE_ADDRESSES)
    until = asyncio.get_running_loop().time() + 5
    try:
        request = FunctionRequest(endpoint, Question("f/a", True), b"{}", "k", Workspace())
        return await caller.call(request, until, yes)
    finally:
        await caller.close()


async def test_a_function_is_reached_by_the_address_its_name_was_given_and_hears_its_name() -> None:
    async with function_server() as server:
        answer = await call(server.url(host="function.test"), Names(["127.0.0.1"]), allow_private=True)

    assert isinstance(answer, HttpAnswer)
    assert server.requests[0].headers["host"] == f"function.test:{server.port}"


async def test_a_name_that_resolves_to_a_private_address_is_not_called() -> None:
    async with function_server() as server:
        refused = await call(server.url(host="function.test"), Names(["127.0.0.1"]), allow_private=False)

    assert isinstance(refused, Rejected)
    assert server.connections == 0


async def test_a_failed_look_up_is_a_safe_retry() -> None:
    class Broken(Names):
        async def __call__(self, host: str, _port: int) -> list[str]:
            raise OSError("name server is down")

    assert isinstance(await call("http://function.test/", Broken(), allow_private=False), RetryLater)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "//example.com", "ftp://example.com", "file:///etc/passwd", "gopher://example.com/_x"),
        *("javascript:alert(1)", "http://", "http:///path", "http://:80/", "https://user:pw@example.com/"),
        *("https://user@example.com/", "https://example.com\\@evil.example/", "https://@example.com"),
        *("http://exa mple.com/", "http://example.com/\r\nX: y", "http://exämple.com/", "http://example.com/ü"),
        *("http://example.com:99999/", "http://example.com:0/", "http://example.com:x/", "http://[::1", "http://[x]/"),
        *("http://example.com/#part", "http://[fe80::1%25eth0]/", "http://a%2eb/", "https://" + "x" * 3000),
    ],
)
def test_an_address_that_could_mean_something_else_is_refused(url: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        check_url(url)

    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000",
        "https://example.com/f?x=1&y=%20",
        "https://[2606:4700::1]:8443/f",
        "https://a_b.example/",
    ],
)
def test_an_ordinary_address_is_taken(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize("secret", ["", "a b", "a\r\nX-Admin: 1", "pässword", "x" * 5000])
def test_a_secret_that_no_header_can_carry_is_refused_without_repeating_it(secret: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        Endpoint("https://example.com/", secret)

    assert not secret or secret not in str(refused.value)


@pytest.mark.parametrize(
    ("base", "name", "url"),
    [
        ("https://x.example", "send-email", "https://x.example/functions/v1/send-email"),
        ("https://x.example/", "send-email", "https://x.example/functions/v1/send-email"),
        ("https://x.example/api", "a/../b c?#é", "https://x.example/api/functions/v1/a%2F..%2Fb%20c%3F%23%C3%A9"),
    ],
)
def test_a_function_s_name_is_one_step_of_the_path_below_its_base(base: str, name: str, url: str) -> None:
    endpoint = Endpoint(base, "token").of_function(name)

    assert endpoint.url == url
    assert endpoint.secret == "token"
