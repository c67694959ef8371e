"""Contacts as the database finds them: by any filter those whom it means, over any channel the address."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from uuid import UUID

import pytest

from tests.architecture.sql_text import unbound_tables
from tidings.domain.caller import Caller
from tidings.domain.channels import CONTACT_CHANNELS, Channel
from tidings.domain.comparison import Compare, Op
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import EVERYTHING
from tidings.domain.people.audience_filter import (
    EVERYONE,
    LEAVES,
    NOBODY,
    AllOf,
    AnyOf,
    AudienceFilter,
    NamedContacts,
    Not,
    Where,
    both,
    found_by,
    matches,
)
from tidings.domain.people.contact import addresses_of
from tidings.engine import Engine
from tidings.storage import audience, contacts
from tidings.storage.contact_parts import address_fields, for_filter
from tidings.storage.database import Tx
from tidings.storage.statements import Statement, load, load_parts
from tidings.views.contacts import Contact

NOW, LATER = datetime(2026, 11, 18, 12, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
VALUES: dict[str, list[object]] = {
    "company": ["Engines", "looms", "nobody"],
    "tag": ["VIP", "new", "old", "nothing"],
    "tags": [{"any": ["VIP", "nothing"]}, {"all": ["vip", "NEW"]}, {"none": ["old"], "any": ["new", "vip"]}],
    "status": ["lead", "customer", "Lead"],
    "attributes": [{"plan": "pro"}, {"plan": "PRO", "seats": 2}, {"address": {"city": "Paris"}}, {"seats": True}],
    "has": ["email", "sms", "whatsapp", "push"],
    "consent": [{"email": "granted"}, {"email": "withdrawn", "sms": "unknown"}],
    "allows": ["email", "sms"],
    "text": ["P1", "loom", "@example.com", "%"],
}
ATTRIBUTES: dict[str, list[object]] = {
    "plan": ["pro", "Pro", ["pro"], "free"],
    "seats": [1, 2.0, True, None],
    "address": ["Paris", {"city": "Paris", "street": "x"}, {"street": "x"}],
}
COMPARED: list[AudienceFilter] = [
    Compare(("attributes", "plan"), Op.IN, ("PRO", "free")),
    Compare(("attributes", "plan"), Op.CONTAINS, "R"),
    Compare(("attributes", "seats"), Op.GREATER, 1),
    Compare(("attributes", "address", "city"), Op.EXISTS),
    Compare(("company",), Op.EQUALS, "looms"),
    Compare(("email",), Op.MISSING),
    Compare(("createdAt",), Op.AFTER, "30 days ago"),
]
STATEMENTS = [("contacts", "list_contacts"), ("audience", "pick_contacts"), ("enroll", "find_next_contacts")]
STATEMENTS += [("simulation", "count_audience"), ("simulation", "sample_audience")]


async def make_people(engine: Engine, caller: Caller) -> list[Contact]:
    chance = random.Random(16)
    people: list[dict[str, object]] = [
        {
            "externalId": f"p{place}",
            "name": chance.choice(["Ada", "", None]),
            "email": f"p{place}@example.com" if place % 3 else None,
            "company": chance.choice(["Engines", "Looms", "LOOMS", None]),
            "tags": chance.sample(["vip", "New", "old"], chance.randrange(4)),
            "status": chance.choice(["lead", "customer"]),
            "attributes": {name: chance.choice(values) for name, values in ATTRIBUTES.items()},
            "phone": "+442071838750" if place % 4 else None,
            "consent": chance.choice([{}, {"email": "granted"}, {"email": "withdrawn"}]),
            "suppressions": chance.choice([{}, {"sms": "bounced"}]),
        }
        for place in range(80)
    ]
    await engine.contacts.upsert_many(caller, people)
    await engine.contacts.delete(caller, "p7")
    listed = await engine.contacts.list(caller.workspace, limit=200)
    return [*listed.items]


def random_filter(chance: random.Random, ids: Iterable[UUID], depth: int = 3) -> AudienceFilter:
    kind = chance.randrange(8 if depth else 4)
    if kind == 0:
        return chance.choice(COMPARED)
    if kind < 3:
        leaf = chance.choice([*LEAVES])
        return Where(leaf, chance.choice(VALUES[leaf]))
    if kind == 3:
        return NamedContacts(tuple(chance.sample([*ids], 10)))
    if kind == 4:
        return Not(random_filter(chance, ids, depth - 1))
    join = AnyOf if kind == 5 else AllOf
    return join(tuple(random_filter(chance, ids, depth - 1) for _ in range(chance.randrange(4))))


async def found_in(engine: Engine, caller: Caller, wanted: AudienceFilter) -> list[set[UUID]]:
    """Whom each of the ways to ask finds, over all shards."""
    kernel = engine.kernel
    picked, listed, counted = set[UUID](), set[UUID](), 0
    async with kernel.db.autocommit() as tx:
        for shard in kernel.every_shard():
            find = partial(audience.pick_contacts, tx, shard=shard, workspace=caller.workspace, wanted=wanted)
            picked |= {one.id for one in await find(now=NOW, made_by=LATER, after=None, limit=1_000)}
            show = partial(contacts.list_contacts, tx, shard=shard, workspace=caller.workspace, wanted=wanted)
            listed |= {one.id for one in await show(now=NOW, span=EVERYTHING, limit=1_000)}
            counted += await count(tx, shard, caller.workspace, wanted)
    assert counted == len(picked)
    return [picked, listed]


async def count(tx: Tx, shard: Shard, workspace: Workspace, wanted: AudienceFilter) -> int:
    statement, values = for_filter(load("simulation")["count_audience"], wanted, workspace, EVERYTHING, NOW)
    [counted] = await tx.fetch(statement, shard=shard, **values)
    people: int = counted["people"]
    return people


async def test_the_database_finds_whom_the_filter_means(engine: Engine, caller: Caller) -> None:
    people = await make_people(engine, caller)
    ids = [one.id for one in people]
    chance = random.Random(19)
    every = [Where(leaf, value) for leaf, values in VALUES.items() for value in values]
    trees = [random_filter(chance, ids) for _ in range(150)]
    drivers = {type(found_by(one)) for one in trees}

    assert len(people) == 79
    assert drivers == {Where, NamedContacts, type(None)}
    for wanted in [EVERYONE, NOBODY, *every, *map(Not, every), *COMPARED, *trees]:
        meant = {one.id for one in people if matches(wanted, one, NOW)}
        assert await found_in(engine, caller, wanted) == [meant, meant], wanted


async def test_no_way_finds_contacts_of_another_workspace(engine: Engine, caller: Caller) -> None:
    people = await make_people(engine, caller)
    ways: list[AudienceFilter] = [EVERYONE]
    ways += [Where(leaf, value) for leaf, values in VALUES.items() for value in values]
    ways += [NamedContacts(tuple(one.id for one in people))]
    neighbour = Caller(Workspace(caller.workspace.tenant, "another"), "test")

    assert [await found_in(engine, neighbour, wanted) for wanted in ways] == [[set(), set()]] * len(ways)


def shapes() -> list[Statement]:
    """Every way to find contacts, with every leaf beside it."""
    leaves = [Where(leaf, value) for leaf, values in VALUES.items() for value in values]
    rest = AnyOf((*leaves, *COMPARED, Not(NamedContacts((UUID(int=1),)))))
    ways: list[AudienceFilter] = [
        EVERYONE,
        *(Where(leaf, VALUES[leaf][0]) for leaf, one in LEAVES.items() if one.finds),
    ]
    ways += [NamedContacts((UUID(int=1),))]
    return [
        for_filter(load(file)[name], both(way, rest), Workspace(), EVERYTHING, NOW)[0]
        for file, name in STATEMENTS
        for way in ways
    ]


def test_every_shape_names_its_one_shard_and_every_part_is_used() -> None:
    assert {one.name: unbound_tables(one) for one in shapes() if unbound_tables(one)} == {}
    own = [leaf for leaf, one in LEAVES.items() if not one.means and not one.asks]
    assert {leaf for leaf in own if f"{leaf}_is" not in load_parts()} == set()
    assert {leaf for leaf, one in LEAVES.items() if one.finds and f"found_by_{leaf}" not in load_parts()} == set()
    assert VALUES.keys() == LEAVES.keys()


async def test_every_shape_prepares_and_takes_its_parameters(engine: Engine) -> None:
    async with engine.kernel.db.autocommit() as tx:
        for one in shapes():
            prepared = await tx._connection.prepare(one.text)
            assert len(prepared.get_parameters()) == len(one.parameters), one.name


def test_one_shape_is_one_statement_whatever_its_values() -> None:
    pick = load("audience")["pick_contacts"]
    one, other = (
        for_filter(pick, both(Where("tag", tag), Where("status", "x")), Workspace(), EVERYTHING, NOW)
        for tag in ("a", "b'; drop table contacts")
    )

    assert one[0] is other[0]
    assert other[1]["tag"] == "b'; drop table contacts"


ADDRESSES = {
    "email": "ada@example.com",
    "phone": "+442071838750",
    "whatsapp": "+442071838751",
    "pushTokens": ["a", "b"],
}


async def test_the_database_finds_the_addresses_of_every_channel(engine: Engine, caller: Caller) -> None:
    """In the table's order, whatever else the contact has; where it has none, it is out of reach."""
    for size in range(len(ADDRESSES) + 1):
        for names in combinations(ADDRESSES, size):
            given = {name: ADDRESSES[name] for name in names}
            made, _ = await engine.contacts.create(caller, {"externalId": "-".join(names) or "none", **given})
            for channel in CONTACT_CHANNELS:
                assert await reached(engine, made.id, channel) == (addresses_of(given, channel) or None), channel


async def reached(engine: Engine, id: UUID, channel: Channel) -> list[str] | None:
    text = "select {addresses} as addresses from contacts c where c.shard = :shard and c.id = :id"
    shard, look = engine.kernel.shard_of(id), Statement("look", "", (), text).with_parts()
    async with engine.kernel.db.autocommit() as tx:
        [found] = await tx.fetch(look, shard=shard, id=id, address_fields=address_fields(channel))
        reach = await count_one(engine, tx, id, channel)
    addresses: list[str] | None = found["addresses"]
    assert (reach.matching, reach.addressed) == (1, addresses is not None)
    return addresses


async def count_one(engine: Engine, tx: Tx, id: UUID, channel: Channel) -> audience.Reach:
    shard, now = engine.kernel.shard_of(id), await engine.kernel.clock.now()
    wanted = NamedContacts((id,))
    return await audience.count_reachable(
        tx, shard=shard, workspace=Workspace(), wanted=wanted, now=now, channel=channel
    )


@pytest.mark.parametrize("channel", [Channel.SOCIAL, Channel.FUNCTION])
async def test_a_channel_without_an_address_is_an_error_and_no_phone_number(
    engine: Engine, caller: Caller, channel: Channel
) -> None:
    made, _ = await engine.contacts.create(caller, {"externalId": "ada", "phone": "+442071838750"})

    async with engine.kernel.db.autocommit() as tx:
        with pytest.raises(ValueError, match=f"nobody is reached over {channel}"):
            await count_one(engine, tx, made.id, channel)
