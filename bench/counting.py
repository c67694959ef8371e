"""Counting an audience, as a person does before a campaign is deployed: each kind of filter over all contacts.

The contacts have what a file brings: a plan, a number and a date, all of them strings. What is timed is the answer to
`count`: who matches, who has an address, and who refuses it, in every shard.
"""

import os
from collections.abc import AsyncIterator, Mapping
from statistics import median
from time import perf_counter

from bench.bench import Bench
from bench.contacts import BY, store_contacts
from bench.database import Fresh
from bench.meter import Meter
from bench.report import Result
from tidings.domain.channels import Channel
from tidings.domain.people.audience import read_audience
from tidings.domain.people.filter_expression import read_where
from tidings.resources.reach import count_audience

TIMES = 7
VARIED = """
update contacts
   set attributes = jsonb_build_object('plan', (array['Free', 'pro', 'Team'])[1 + abs(hashtext(id::text)) % 3],
                                       'seats', (abs(hashtext(id::text || 's')) % 200)::text,
                                       'ends', (date '2026-01-01' + abs(hashtext(id::text || 'e')) % 365)::text,
                                       'address', '{"city": "Paris", "zip": "75001"}'::jsonb),
       tags = case when abs(hashtext(id::text || 't')) % 10 = 0 then array['vip', 'New'] else '{}' end
"""
TAGGED = """
insert into contact_tags (shard, tenant_id, workspace_id, tag, contact_id)
select shard, tenant_id, workspace_id, lower(unnest(tags)), id from contacts
"""
FILTERS: Mapping[str, str] = {
    "everyone": "all",
    "a tag, by its index": "tag = vip",
    "a string": "plan = pro",
    "a number": "seats > 100",
    "a date": "ends before 2026-06-01",
    "one of several tags": "tags any (vip, paid)",
    "created and an address": "created after 30 days ago and has email and allows email",
    "six of them": "plan in (pro, team) and seats >= 50 and ends after 2026-03-01"
    " and not tags any (test, staff) and address.city = paris and (has email or has sms)",
}


async def measure_counting(bench: Bench) -> AsyncIterator[Result]:
    """The median of several counts by each filter, once all pages have been read."""
    count = bench.settings.people
    async with Fresh(bench.dsn) as fresh:
        bench.step(f"storing {count:,} contacts", None)
        await store_contacts(fresh, count)
        await fresh.sql.execute(VARIED)
        await fresh.sql.execute(TAGGED)
        await fresh.sql.execute("vacuum (full, analyze) contacts")
        await fresh.sql.execute("vacuum analyze contact_tags")
        for what, where in FILTERS.items():
            bench.step(f"counting by {what}", None)
            yield await _timed(bench, fresh, what, where)


async def _timed(bench: Bench, fresh: Fresh, what: str, where: str) -> Result:
    audience, problems = read_audience(read_where(where, "where"))
    if problems:
        raise AssertionError(problems)
    count, times, matching = bench.settings.people, [], 0
    meter = Meter(fresh.sql, bench.postmaster, [os.getpid()])
    before = await meter.read()
    for _ in range(TIMES):
        began = perf_counter()
        matching = (await count_audience(fresh.engine.kernel, BY.workspace, audience, Channel.EMAIL)).matching
        times.append(perf_counter() - began)
    cost = (await meter.read() - before).for_each(count * TIMES)
    note = f"{matching:,} match, {median(times) * 1000:,.0f} ms"
    return Result("counting", what, 1, count, median(times), note=note, seen={"where": where}, **cost)
