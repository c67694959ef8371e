"""An event: something that happened, the people it is about, and what templates are to know of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from uuid import UUID

from tidings.domain.errors import EventInvalid, Problem
from tidings.domain.json_text import spelled_twice
from tidings.domain.messages import did_you_mean
from tidings.domain.people.contact import LoadedContact
from tidings.domain.people.recipients import (
    CONTACT_ID,
    PERSON_FIELDS,
    EventPerson,
    attach_contact,
    named_contact,
    problem_of_contact,
    read_person,
)
from tidings.domain.rules.key import check_trigger
from tidings.domain.storable import TOO_DEEP, UNSTORABLE, is_storable, is_too_deep, unstorable_places
from tidings.domain.workflows.definition_reader import Raw, snake_case
from tidings.views.rules import RuleAudience

LONGEST_KEY = 500
MOST_PROBLEMS = 100
LONGEST_TOLD = 100
_FIELDS = ("trigger", "idempotencyKey", *RuleAudience, "variables")
_NAMES = {name: name for name in _FIELDS} | {snake_case(name): name for name in _FIELDS}
_TAKEN = frozenset({*RuleAudience, "trigger"})
"""What templates see beside the variables, which therefore no variable can be called."""


@dataclass(frozen=True)
class IncomingEvent:
    """What happened; without a key each event is its own."""

    trigger: str
    idempotency_key: str | None = None
    people: Mapping[RuleAudience, EventPerson] = field(default_factory=dict)
    variables: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def data(self) -> Mapping[str, object]:
        """What templates see: the variables at the top, and the people and the trigger by their names."""
        return {**self.variables, **self.seen_people, "trigger": self.trigger}

    @property
    def seen_people(self) -> Mapping[str, object]:
        """The people by their names, with what is known of those who are contacts."""
        return {str(who): dict(person.data) for who, person in self.people.items()}

    @property
    def stored(self) -> dict[str, object]:
        """The event as its row has it; `read_stored` takes it back."""
        people = {str(who): dict(person.given) for who, person in self.people.items()}
        return {**people, "variables": dict(self.variables)}

    @property
    def contacts(self) -> list[tuple[RuleAudience, UUID]]:
        """The people who are contacts."""
        return [(who, person.contact_id) for who, person in self.people.items() if person.contact_id]

    @property
    def named_contacts(self) -> Mapping[RuleAudience, str]:
        """What names the contacts among the people: an id or an external id."""
        return {who: named for who, person in self.people.items() if (named := named_contact(person.given))}

    def with_contacts(self, ids: Mapping[RuleAudience, UUID]) -> "IncomingEvent":
        """The same event, whose people name their contacts by id, whatever named them before."""
        known = {
            who: read_person({**_without_contact(self.people[who].given), CONTACT_ID: str(id)})
            for who, id in ids.items()
        }
        return replace(self, people={**self.people, **known})

    def attach_contacts(self, contacts: Mapping[UUID, LoadedContact]) -> "IncomingEvent":
        """The same event, whose people are known as the contacts they are."""
        known = {who: attach_contact(self.people[who], contacts[id]) for who, id in self.contacts if id in contacts}
        return replace(self, people={**self.people, **known})


def _without_contact(given: Raw) -> Raw:
    return {name: value for name, value in given.items() if name not in (CONTACT_ID, snake_case(CONTACT_ID))}


def read_event(raw: object) -> IncomingEvent:
    """An event as it was sent, or EventInvalid with everything that is wrong with it.

    An address that is no address is refused only where a step would write to it (routing.py): a number that no step
    calls must not keep an e-mail from going out.
    """
    if not isinstance(raw, Mapping):
        raise EventInvalid([Problem("", "an event is an object with a trigger")])
    given = {_NAMES[name]: value for name, value in raw.items() if name in _NAMES}
    problems = [
        Problem(str(name)[:LONGEST_TOLD], f"is not a field; use {', '.join(_FIELDS)}{did_you_mean(str(name), _FIELDS)}")
        for name in raw
        if name not in _NAMES
    ]
    problems += spelled_twice(raw, _FIELDS)
    problems += _wrong_in(given)
    if not problems:
        problems = _unstorable(given)
    if problems:
        raise EventInvalid(problems[:MOST_PROBLEMS])
    return _event(str(given["trigger"]), given.get("idempotencyKey"), given)


def read_stored(trigger: str, key: str, stored: Raw) -> IncomingEvent:
    """An event as its row has it; whatever is odd in it was let in by the SQL function, and is read as not there."""
    sound = {name: value for name, value in stored.items() if isinstance(value, Mapping)}
    return _event(trigger, key, sound)


def differences(first: IncomingEvent, second: IncomingEvent) -> list[str]:
    """The places where a second event of the same key says something else: names and no values."""
    one, other = first.stored, second.stored
    return sorted(
        f"{part}.{name}"
        for part in {*one, *other}
        for ours, theirs in [(_object(one.get(part)), _object(other.get(part)))]
        for name in {*ours, *theirs}
        if ours.get(name) != theirs.get(name)
    )


def _object(value: object) -> Raw:
    return value if isinstance(value, Mapping) else {}


def _event(trigger: str, key: object, given: Raw) -> IncomingEvent:
    people = {who: read_person(one) for who in RuleAudience if isinstance(one := given.get(who), Mapping)}
    variables = given.get("variables")
    return IncomingEvent(
        trigger, None if key is None else str(key), people, variables if isinstance(variables, Mapping) else {}
    )


def _wrong_in(given: Raw) -> list[Problem]:
    problems: list[Problem] = []
    try:
        check_trigger(given.get("trigger"))
    except ValueError as error:
        problems.append(Problem("trigger", str(error)))
    key = given.get("idempotencyKey")
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and is_storable(key)):
        problems.append(Problem("idempotencyKey", f"use a string of 1 to {LONGEST_KEY} characters, none of them NUL"))
    for name in (*RuleAudience, "variables"):
        if given.get(name) is not None and not isinstance(given[name], Mapping):
            problems.append(Problem(name, "is not an object"))
    for who in RuleAudience:
        if isinstance(person := given.get(who), Mapping):
            problems += _wrong_person(who, person)
    variables = given.get("variables")
    if isinstance(variables, Mapping):
        problems += [
            Problem(f"variables.{name}", f"{name} is given beside the variables; use another name")
            for name in variables
            if name in _TAKEN
        ]
    return problems


def _wrong_person(who: RuleAudience, person: Raw) -> Iterator[Problem]:
    if wrong := problem_of_contact(person):
        yield Problem(f"{who}.{CONTACT_ID}", wrong)
    for one in spelled_twice(person, PERSON_FIELDS):
        yield Problem(f"{who}.{one.place}", one.message)


def _unstorable(given: Raw) -> list[Problem]:
    if is_too_deep(given):
        return [Problem("", f"the event {TOO_DEEP}")]
    return [Problem(place, UNSTORABLE) for place in unstorable_places(given)]
