"""Whom a simulation is for: a sample that the seed decides, copied with their ids."""

import asyncpg
import pytest

from tests.simulation.conftest import HOME
from tidings.domain.caller import Caller
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.audience import Audience
from tidings.domain.people.audience_filter import Where
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.simulation.crowd import copy_crowd, draw_crowd, is_in
from tidings.testing import scratch_engine

EVERYONE = Audience(all=True)


async def make_people(engine: Engine, caller: Caller, count: int) -> None:
    people = [
        {
            "externalId": f"p{place}",
            "email": f"p{place}@example.com",
            "company": "Engines" if place % 2 else "Looms",
            "tags": ["vip"] if place % 3 == 0 else [],
            "status": "customer" if place % 5 == 0 else "lead",
            "attributes": {"place": place},
            "suppressions": {"sms": "unsubscribed"} if place == 0 else {},
        }
        for place in range(count)
    ]
    await engine.contacts.upsert_many(caller, people)


async def test_the_same_seed_draws_the_same_people_and_another_seed_others(engine: Engine, caller: Caller) -> None:
    await make_people(engine, caller, 60)

    draws = [
        [one.external_id for one in (await draw_crowd(engine, HOME, EVERYONE, Scenario(sample=10, seed=seed))).people]
        for seed in (1, 1, 2)
    ]

    assert draws[0] == draws[1]
    assert set(draws[0]) != set(draws[2])
    assert len(set(draws[0])) == 10


async def test_a_sample_says_of_how_many_it_is_one(engine: Engine, caller: Caller) -> None:
    await make_people(engine, caller, 60)

    crowd = await draw_crowd(engine, HOME, EVERYONE, Scenario(sample=10))

    assert (len(crowd.people), crowd.audience) == (10, 60)


async def test_filters_are_joined_by_and(engine: Engine, caller: Caller) -> None:
    await make_people(engine, caller, 30)

    for audience, expected in (
        (Audience(filters=(Where("company", "Engines"),)), {place for place in range(30) if place % 2}),
        (Audience(filters=(Where("tag", "vip"),)), {place for place in range(30) if place % 3 == 0}),
        (Audience(filters=(Where("company", "Looms"), Where("status", "customer"))), {0, 10, 20}),
        (Audience(filters=(Where("tag", "vip"), Where("status", "customer"))), {0, 15}),
    ):
        crowd = await draw_crowd(engine, HOME, audience, Scenario())
        assert {one.attributes["place"] for one in crowd.people} == expected
        assert crowd.audience == len(expected)


async def test_whom_an_audience_has_is_told_of_one_person_as_of_all(engine: Engine, caller: Caller) -> None:
    """Who is asked about is judged one by one, and must be in the audience if and only if the statement finds them."""
    await make_people(engine, caller, 12)
    everyone = (await draw_crowd(engine, HOME, EVERYONE, Scenario())).people
    some, other, third = (one.id for one in everyone[:3])

    now = await engine.kernel.clock.now()
    for audience in (
        *(
            EVERYONE,
            Audience(filters=(Where("company", "LOOMS"), Where("tag", "Vip"))),
            Audience(contact_ids=(some, other)),
        ),
        Audience(filters=(Where("status", "lead"),), contact_ids=(some,), exclude_contact_ids=(other, third)),
    ):
        found = {one.id for one in (await draw_crowd(engine, HOME, audience, Scenario())).people}
        assert {one.id for one in everyone if is_in(audience, one, now)} == found


async def test_named_contacts_are_added_and_excluded_ones_left_out(engine: Engine, caller: Caller) -> None:
    await make_people(engine, caller, 12)
    ids = {place: (await engine.contacts.find(HOME, f"p{place}")).id for place in (0, 1, 2, 3)}
    audience = Audience(
        filters=(Where("tag", "vip"),), contact_ids=(ids[1], ids[2]), exclude_contact_ids=(ids[0], ids[2])
    )

    crowd = await draw_crowd(engine, HOME, audience, Scenario())

    assert {one.attributes["place"] for one in crowd.people} == {1, 3, 6, 9}


async def test_whoever_is_asked_about_is_always_there(engine: Engine, caller: Caller) -> None:
    await make_people(engine, caller, 40)
    asked = (await engine.contacts.find(HOME, "p7")).id

    crowd = await draw_crowd(
        engine, HOME, Audience(filters=(Where("tag", "vip"),)), Scenario(sample=3, messages_of=(asked,))
    )

    assert len(crowd.people) == 3
    assert crowd.people[0].id == asked


async def test_another_workspace_s_people_are_not_there(engine: Engine, caller: Caller) -> None:
    await make_people(engine, caller, 3)

    with pytest.raises(InputInvalid, match="no contacts"):
        await draw_crowd(engine, Workspace("default", "elsewhere"), EVERYONE, Scenario())


async def test_a_copy_is_what_the_original_is_with_the_same_id(engine: Engine, caller: Caller, server: str) -> None:
    await make_people(engine, caller, 20)
    nameless = (await engine.contacts.create(caller, {"phone": "+442071838750", "timeZone": "Asia/Tokyo"}))[0]
    crowd = await draw_crowd(engine, HOME, EVERYONE, Scenario())

    async with scratch_engine(server=server) as scratch:
        await copy_crowd(scratch.engine, HOME, crowd.people)
        copies = {one.id: await scratch.engine.contacts.get(HOME, one.id) for one in crowd.people}
        tagged = (await scratch.engine.contacts.list(HOME, limit=50)).items

    assert nameless.id in copies
    assert len(tagged) == 21
    told = ("external_id", "email", "phone", "company", "tags", "status", "time_zone", "attributes", "suppressions")
    for one in crowd.people:
        assert [getattr(copies[one.id], name) for name in told] == [getattr(one, name) for name in told]


async def test_a_deleted_contact_is_not_drawn(
    engine: Engine, caller: Caller, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await make_people(engine, caller, 2)
    await engine.contacts.delete(caller, (await engine.contacts.find(HOME, "p0")).id)

    crowd = await draw_crowd(engine, HOME, EVERYONE, Scenario())

    assert [one.external_id for one in crowd.people] == ["p1"]
