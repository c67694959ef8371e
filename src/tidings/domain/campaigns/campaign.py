"""A campaign as it is given: what is said over which channel, to whom, when and how fast; every problem with its place.

A field that is left out stays as it is, one that is null goes back to its default. Pure:
resources/campaigns.py stores what is read here, and kernel/campaigns/start_run.py starts it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from tidings.domain.channels import MESSAGE_CHANNELS, Channel
from tidings.domain.content.message import MessageContent
from tidings.domain.content.template import has_path, required_variables, walk_variables
from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.messages import quoted, unfit
from tidings.domain.names import LONGEST_NAME, problem_of_name
from tidings.domain.people.address import read_time_zone
from tidings.domain.people.audience import Audience, read_audience
from tidings.domain.people.contact_fields import TEMPLATE_FIELDS
from tidings.domain.storable import TOO_DEEP, UNSTORABLE, is_too_deep, unstorable_places
from tidings.domain.timing import parse_duration
from tidings.domain.workflows.definition import check_content
from tidings.domain.workflows.definition_reader import snake_case

CONTACT_ZONE = "contact"
"""A campaign's hour is each contact's own, unless it names a zone."""
LARGEST_DATA = 32_768
FASTEST_RATE = 1_000_000
MOST_POSTS = 100
MOST_ACCOUNTS = 100

Json = Mapping[str, Any]


class CampaignDefinition(msgspec.Struct, frozen=True):
    """Everything that a person decides about a campaign."""

    name: str
    channel: Channel
    content: Json
    audience: Audience | None  # None where whoever sends names where it goes: a post has no contacts
    data: Json = {}
    send_hour: int | None = None
    time_zone: str = CONTACT_ZONE
    rate_per_minute: int | None = None
    max_lateness: timedelta | None = None

    @property
    def message(self) -> MessageContent:
        """What each contact gets."""
        fields = self.channel.content_fields
        return MessageContent(self.channel, {name: self.content[name] for name in fields if name in self.content})

    @property
    def content_version(self) -> str | None:
        """The version that the content itself names: a script's."""
        version = self.content.get("version")
        return None if version is None else str(version)

    def posts(self) -> Iterator[tuple[str, str, Json]]:
        """Of a campaign without an audience: the id of each post, an account to post to, and what the post says."""
        for post in self.content.get("posts", ()):
            content = {name: post[name] for name in self.channel.content_fields if name in post}
            for account in post["accounts"]:
                yield post["id"], account, content


SPELLINGS: Mapping[str, str] = {
    **{name: name for name in ("name", "channel", "content", "audience", "data", "send_hour", "time_zone", "rate")},
    "max_lateness": "max_lateness",
    "sendHour": "send_hour",
    "timeZone": "time_zone",
    "timezone": "time_zone",
    "ratePerMinute": "rate",
    "rate_per_minute": "rate",
    "maxLateness": "max_lateness",
}
_READ_ONLY = frozenset(
    [
        *("id", "version", "inWords", "in_words", "segmentName", "segment_name", "notReady", "not_ready"),
        *("createdAt", "created_at", "updatedAt", "updated_at"),
    ]
)


def read_campaign(
    raw: object, before: CampaignDefinition | None = None
) -> tuple[CampaignDefinition | None, list[Problem]]:
    """A whole campaign, from what is given over what there was; None beside its problems."""
    if not isinstance(raw, Mapping):
        return None, [Problem("body", "must be an object with the fields of a campaign")]
    given, problems = _given(raw)
    found: dict[str, Any] = {} if before is None else msgspec.structs.asdict(before)
    for name, (spelled, value) in given.items():
        if name not in ("channel", "content", "audience"):
            try:
                found |= _FIELDS[name](value)
            except ValueError as error:
                problems.append(Problem(spelled, str(error)))
    channel = _channel(given, before, problems)
    if "name" not in found and "name" not in given:
        problems.append(Problem("name", "is missing: give the campaign a name"))
    if channel is None:
        return None, problems + _wrong_without_channel(given, before)
    problems += _read_content(channel, given, before, found)
    problems += _read_people(channel, given, found)
    if not {one.place.partition(".")[0] for one in problems} & {"content", "data"}:
        problems += _unknown_variables(CampaignDefinition("", channel, found["content"], None, found.get("data", {})))
    return (None, problems) if problems else (CampaignDefinition(**(found | {"channel": channel})), [])


def at_hour(base: datetime, hour: int, zone: str) -> datetime:
    """The first time at or after `base` when a clock in the zone shows this hour.

    Where clocks are put forward over it, that is the moment they are; where they are put back, the first of the two.
    """
    place = ZoneInfo(zone)
    day = base.astimezone(place).date()
    found = _moment(day, hour, place)
    return found if found >= base else _moment(day + timedelta(days=1), hour, place)


def spread(ordinal: int, shard: int, shards: int, rate_per_minute: int) -> timedelta:
    """When a run of this rate calls for its nth item (0 is the first) of one shard, in whole seconds.

    The shards take the places of the run in turn, so none has to know how far the others are.
    """
    return timedelta(seconds=(ordinal * shards + shard) * 60 // rate_per_minute)


def _moment(day: date, hour: int, place: ZoneInfo) -> datetime:
    wall = datetime.combine(day, time(hour), place)
    earlier, later = sorted(wall.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    if earlier.astimezone(place).replace(tzinfo=None) == wall.replace(tzinfo=None):
        return earlier
    # No clock shows this hour that day: the moment when they are put forward lies between the two readings.
    before = earlier.astimezone(place).utcoffset()
    while later - earlier > timedelta(seconds=1):
        middle = earlier + (later - earlier) / 2
        if middle.astimezone(place).utcoffset() == before:
            earlier = middle
        else:
            later = middle
    return later.replace(microsecond=0)


def _given(raw: Mapping[object, object]) -> tuple[dict[str, tuple[str, object]], list[Problem]]:
    given: dict[str, tuple[str, object]] = {}
    problems = []
    for spelled, value in raw.items():
        name = SPELLINGS.get(str(spelled))
        if name is None:
            if spelled not in _READ_ONLY:
                known = ", ".join(
                    one for one in SPELLINGS if "_" not in one and one not in ("timezone", "ratePerMinute")
                )
                problems.append(Problem(str(spelled)[:100], f"is not a field of a campaign: use {known}"))
        elif name in given:
            problems.append(Problem(str(spelled), f"is given twice, the other time as {given[name][0]}"))
        else:
            given[name] = (str(spelled), value)
    return given, problems


def _channel(
    given: Mapping[str, tuple[str, object]], before: CampaignDefinition | None, problems: list[Problem]
) -> Channel | None:
    value = given["channel"][1] if "channel" in given else before.channel if before else None
    if value not in [*MESSAGE_CHANNELS]:
        problems.append(
            Problem("channel", f"{unfit(value, 'is not a channel')}: use one of {', '.join(MESSAGE_CHANNELS)}")
        )
        return None
    channel = Channel(str(value))
    if before and channel is not before.channel and "content" not in given:
        problems.append(Problem("content", f"is for {before.channel}; give the content for {channel} with the channel"))
    return channel


def _wrong_without_channel(given: Mapping[str, tuple[str, object]], before: CampaignDefinition | None) -> list[Problem]:
    """What else is wrong, as far as it can be told without the channel."""
    problems = [] if before or "content" in given else [Problem("content", "is missing: say what the message says")]
    audience = given["audience"][1] if "audience" in given else None
    if audience is not None:
        return problems + read_audience(audience)[1]
    if before is None:
        problems.append(Problem("audience", "is missing: say whom it is for; only social campaigns have none"))
    return problems


def _read_content(
    channel: Channel, given: Mapping[str, tuple[str, object]], before: CampaignDefinition | None, found: dict[str, Any]
) -> list[Problem]:
    if "content" not in given:
        return [] if before else [Problem("content", f"is missing: {channel.traits.wanted}")]
    content = given["content"][1]
    if not isinstance(content, Mapping):
        return [Problem("content", f"{quoted(content)} is not an object: {channel.traits.wanted}")]
    problems = [Problem(f"content.{place}", UNSTORABLE) for place in unstorable_places(content)]
    if not channel.reaches_contacts:
        found["content"], wrong = _posts(channel, content)
        return problems + wrong
    known = (*channel.content_fields, *(["version"] if channel.traits.has_version else []))
    problems += _unknown_fields(content, known, "content", f"the content for {channel}")
    version = content.get("version")
    if version is not None and (not isinstance(version, str | int) or not 1 <= len(str(version)) <= LONGEST_NAME):
        problems.append(Problem("content.version", "must be the script's version, such as 3 or 2026-03"))
    try:
        found["content"] = {**check_content(channel, content), **({} if version is None else {"version": str(version)})}
    except DefinitionInvalid as error:
        problems += error.problems
    return problems


def _read_people(channel: Channel, given: Mapping[str, tuple[str, object]], found: dict[str, Any]) -> list[Problem]:
    if not channel.reaches_contacts:
        found["audience"] = None
        told = "audience" in given and given["audience"][1] is not None
        return [Problem("audience", "a post has no audience; name its accounts in the post")] if told else []
    if "audience" not in given and isinstance(found.get("audience"), Audience):
        return []
    if "audience" not in given or given["audience"][1] is None:
        return [Problem("audience", "is missing: say whom it is for; for everyone {all: true}")]
    found["audience"], problems = read_audience(given["audience"][1])
    return problems


def _unknown_fields(given: Mapping[object, object], known: Sequence[str], place: str, what: str) -> list[Problem]:
    spelled = {*known, *map(snake_case, known)}
    return [
        Problem(f"{place}.{name}", f"is not part of {what}: use {', '.join(sorted(known))}")
        for name in given
        if name not in spelled
    ]


def _posts(channel: Channel, content: Mapping[object, object]) -> tuple[Json, list[Problem]]:
    posts = content.get("posts")
    problems = [
        Problem(f"content.{name}", f"is not part of a {channel} campaign: use posts")
        for name in content
        if name != "posts"
    ]
    if not isinstance(posts, Sequence) or isinstance(posts, str) or not 1 <= len(posts) <= MOST_POSTS:
        return {}, [*problems, Problem("content.posts", f"must be a list of 1 to {MOST_POSTS} posts")]
    read = []
    for number, post in enumerate(posts, start=1):
        one, wrong = _post(channel, post, number, f"content.posts[{number - 1}]")
        read.append(one)
        problems += wrong
    ids = [one["id"] for one in read if isinstance(one.get("id"), str)]
    if len(set(ids)) < len(ids):
        problems.append(Problem("content.posts", "have an id twice: give each its own, or none"))
    return {"posts": read}, problems


def _post(channel: Channel, post: object, number: int, place: str) -> tuple[Json, list[Problem]]:
    if not isinstance(post, Mapping):
        return {}, [Problem(place, "must be an object with a body and the accounts to post to")]
    problems = _unknown_fields(post, ("id", *channel.content_fields, "accounts"), place, "a post")
    id, accounts = post.get("id", str(number)), post.get("accounts")
    if wrong := problem_of_name(id):
        problems.append(Problem(f"{place}.id", wrong))
    if not isinstance(accounts, Sequence) or isinstance(accounts, str) or not 1 <= len(accounts) <= MOST_ACCOUNTS:
        problems.append(Problem(f"{place}.accounts", f"must be a list of 1 to {MOST_ACCOUNTS} accounts"))
    else:
        found = [(at, problem_of_name(one)) for at, one in enumerate(accounts)]
        problems += [Problem(f"{place}.accounts[{at}]", wrong) for at, wrong in found if wrong]
    try:
        content = check_content(channel, {name: one for name, one in post.items() if name not in ("id", "accounts")})
    except DefinitionInvalid as error:
        return {}, problems + [Problem(one.place.replace("content", place, 1), one.message) for one in error.problems]
    return {"id": id, **content, "accounts": [] if problems else list(dict.fromkeys(accounts or ()))}, problems


def _unknown_variables(campaign: CampaignDefinition) -> list[Problem]:
    """Variables that every message would print and that nothing provides: a slip that a million people would see."""
    sources = {f"content.{name}": source for name, source in campaign.message.templates.items()}
    for at, post in enumerate(campaign.content.get("posts", ())):
        message = MessageContent(
            campaign.channel, {name: one for name, one in post.items() if name not in ("id", "accounts")}
        )
        sources |= {f"content.posts[{at}].{name}": source for name, source in message.templates.items()}
    return [
        Problem(place, f"prints {{{{ {path} }}}}, which nothing provides: {_given_by(campaign, path)}")
        for place, source in sources.items()
        for path in sorted(required_variables(source) | {one.name for one in walk_variables(source)})
        if not _is_given(campaign, path)
    ]


def _is_given(campaign: CampaignDefinition, path: str) -> bool:
    root, _, rest = path.partition(".")
    if root == "contact" and campaign.channel.reaches_contacts:
        return not rest or rest.partition(".")[0] in TEMPLATE_FIELDS
    if root == "campaign":
        return rest in ("", "id", "name")
    return has_path(campaign.data, path)


def _given_by(campaign: CampaignDefinition, path: str) -> str:
    if path.startswith("contact.") and campaign.channel.reaches_contacts:
        return f"a contact has {', '.join(sorted(TEMPLATE_FIELDS))}, and what is your own under contact.attributes"
    return "name what is about the person as contact.…, put what is the same for all into data, or add a default"


def _name(value: object) -> Json:
    if wrong := problem_of_name(value):
        raise ValueError(wrong)
    return {"name": str(value).strip()}


def _data(value: object) -> Json:
    if value is None:
        return {"data": {}}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("must be an object")
    if taken := sorted({"contact", "campaign"} & value.keys()):
        raise ValueError(f"has {' and '.join(taken)}, which templates see already; use another name")
    if is_too_deep(value):
        raise ValueError(TOO_DEEP)
    if wrong := next(unstorable_places(value), None):
        raise ValueError(f"{wrong} {UNSTORABLE}")
    if len(msgspec.json.encode(value)) > LARGEST_DATA:
        raise ValueError(f"is larger than {LARGEST_DATA:,} bytes")
    return {"data": value}


def _send_hour(value: object) -> Json:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 23):
        raise ValueError("must be an hour from 0 to 23, or null to send at once")
    return {"send_hour": value}


def _time_zone(value: object) -> Json:
    if value in (None, CONTACT_ZONE):
        return {"time_zone": CONTACT_ZONE}
    if not isinstance(value, str):
        raise ValueError("must be the name of a time zone, or contact")  # noqa: TRY004 – told like the rest
    return {"time_zone": read_time_zone(value)}


def _rate(value: object) -> Json:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= FASTEST_RATE):
        raise ValueError(f"must be messages a minute, from 1 to {FASTEST_RATE:,}, or null for as fast as it goes")
    return {"rate_per_minute": value}


def _max_lateness(value: object) -> Json:
    if value is None:
        return {"max_lateness": None}
    span = parse_duration(value, or_seconds=True)
    if not span:
        raise ValueError(f"{quoted(value)} is not a duration: write how late it may be, such as PT2H")
    return {"max_lateness": span}


_FIELDS: Mapping[str, Callable[[object], Json]] = {
    "name": _name,
    "data": _data,
    "send_hour": _send_hour,
    "time_zone": _time_zone,
    "rate": _rate,
    "max_lateness": _max_lateness,
}
