"""A filter on contacts means the same in Python and in PostgreSQL, whatever a contact has and whatever is asked."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidings.domain.channels import CONTACT_CHANNELS
from tidings.domain.people.audience_filter import matches
from tidings.domain.people.filter_reader import read_filter, shown_part
from tidings.storage.contact_parts import for_condition
from tidings.storage.database import Database
from tidings.storage.statements import Statement

NOW = datetime(2026, 11, 18, 12, 30, tzinfo=UTC)
ASK = Statement(
    "ask", "", (), "select {matching} as held from jsonb_populate_record(null::contacts, :contact::jsonb) as c"
)
WRITTEN = [
    *(
        "pro",
        "Pro",
        "",
        "true",
        "FALSE",
        "null",
        "Ärger",
        "ÄRGER",
        "İstanbul",
        "ΣΑΣ",
        "σας",
        "ß",
        "a.b",
        "NULL",
        '"',
        "\\",
    ),
    *("12", "012", "-3.5", "1e3", "1,000", " 7", "7.", "-0", "٣", "0.10", "9" * 16),
    *(
        "2027-01-31",
        "2027-02-30",
        "2028-02-29",
        "2027-01-31T09:00:00+02:00",
        "2027-01-31T09:00Z",
        "2027-01-31 09:00:00.5",
    ),
    *(
        "2027-01-31T24:00:00Z",
        "0999-01-01",
        "9000-01-01",
        "20270131",
        "2027-1-31",
        "2026-11-18T12:30:00Z",
        "2026-11-18",
    ),
    *(
        "2027-01-31T09:00:00-0530",
        "2027-01-31T09:00:00z",
        "2026-11-18T14:30:00.000000+02:00",
        "2027-01-31\n",
        "30 days ago",
    ),
]
NUMBERS = [0, 1, 12, -3.5, 0.1, 1e3, 2**53, 1e-7, 10**20]
texts = st.text(st.characters(max_codepoint=0x24F, exclude_characters="\x00"), max_size=4)
scalars = st.sampled_from(WRITTEN) | st.sampled_from(NUMBERS) | st.booleans() | texts
stored = st.recursive(
    scalars | st.none(),
    lambda one: (
        st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "0", "-1", "x.y"]), one, max_size=3)
    ),
    max_leaves=5,
)
times = st.sampled_from([one for one in WRITTEN if one.startswith("202")]) | st.sampled_from(
    ["30 days ago", "2 weeks from now", "now", "Today", "yesterday", "1 HOUR AGO"]
)
paths = st.sampled_from(
    [
        *("attributes.a", "attributes.b", "attributes.a.b", "attributes.a.0", "attributes.a.-1", "attributes.b.0.a"),
        *("name", "email", "company", "status", "timeZone", "locale", "externalId"),
    ]
) | st.just(["attributes", "x.y"])
ordered = st.sampled_from(["less", "lessOrEqual", "greater", "greaterOrEqual"])
timed = st.sampled_from(["before", "after"])
Strategy = st.SearchStrategy[Any]


def compared(path: Strategy, op: Strategy, value: Strategy | None = None) -> Strategy:
    return st.fixed_dictionaries({"path": path, "op": op} | ({} if value is None else {"value": value}))


def leaf(name: Strategy, value: Strategy) -> Strategy:
    return st.builds(lambda name, value: {name: value}, name, value)


def some(one: Strategy, most: int) -> Strategy:
    return st.lists(one, min_size=1, max_size=most)


def any_of(names: list[str], value: Strategy) -> Strategy:
    return st.dictionaries(st.sampled_from(names), value, min_size=1)


comparisons = st.one_of(
    compared(paths, st.sampled_from(["equals", "notEquals", "contains"]), scalars),
    compared(paths, ordered, st.sampled_from(WRITTEN) | st.sampled_from(NUMBERS) | texts | times),
    compared(paths, timed, times),
    compared(st.sampled_from(["createdAt", "updatedAt"]), ordered | timed, times),
    compared(paths, st.just("in"), some(scalars, 4)),
    compared(paths, st.sampled_from(["exists", "missing"])),
)
words = st.sampled_from(["vip", "VIP", "new", "Ärger", "NULL", 'a"b', "a,b", "{x}", "active", "Acme"])
CHANNELS = [str(one) for one in CONTACT_CHANNELS]
channels = st.sampled_from(CHANNELS)
said = st.sampled_from(["granted", "withdrawn", "unknown"])
leaves = st.one_of(
    leaf(st.sampled_from(["tag", "company", "status"]), words),
    leaf(st.just("tags"), any_of(["any", "all", "none"], some(words, 2))),
    leaf(st.sampled_from(["has", "allows"]), channels),
    leaf(st.just("consent"), any_of(CHANNELS, said)),
    leaf(st.just("attributes"), any_of(["a", "b", "x.y", "-1"], scalars | st.fixed_dictionaries({"a": scalars}))),
)
filters: st.SearchStrategy[dict[str, Any]] = st.recursive(
    comparisons | leaves,
    lambda one: leaf(st.sampled_from(["all", "any"]), some(one, 3)) | leaf(st.just("not"), one),
    max_leaves=6,
)
names = st.none() | words | texts.filter(bool)  # an empty string is stored as none
entries = st.dictionaries(channels, st.sampled_from([{"status": "granted"}, {"status": "withdrawn"}]))
contacts = st.fixed_dictionaries(
    {
        **dict.fromkeys(("name", "email", "phone", "whatsapp", "company", "time_zone", "locale"), names),
        "external_id": words,
        "status": words,
        "push_tokens": st.lists(words, max_size=1),
        "tags": st.lists(words, max_size=3),
        "attributes": st.dictionaries(st.sampled_from(["a", "b", "x.y", "-1"]), stored, max_size=3),
        "consent": entries,
        "suppressions": st.dictionaries(channels, st.just({"reason": "bounced"})),
        "created_at": st.sampled_from([NOW, datetime(2026, 10, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)]),
        "updated_at": st.just(NOW),
    }
)


@settings(max_examples=300, deadline=None, suppress_health_check=[*HealthCheck])
@given(contact=contacts, wanted=filters)
async def test_python_and_the_database_agree_about_any_contact(
    db: Database, contact: dict[str, Any], wanted: dict[str, Any]
) -> None:
    meant, problems = read_filter(wanted, "where")
    if problems:  # a time that does not exist, or a string that is none
        return
    statement, values = for_condition(ASK, meant, NOW)

    async with db.autocommit() as tx:
        row = await tx.fetch_one(statement, contact=contact, **values)

    assert row is not None
    held = matches(meant, SimpleNamespace(**contact), NOW)
    assert row["held"] is held
    again, problems = read_filter(shown_part(meant), "where")
    assert (matches(again, SimpleNamespace(**contact), NOW), problems) == (held, [])
