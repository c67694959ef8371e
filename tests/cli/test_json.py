"""`--json` of every command: the API's words, spelling and shapes."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup

from tests.cli.conftest import Command, Ended
from tests.cli.json_keys import odd_keys
from tests.cli.test_rules import KNOWN_FALLBACK
from tests.conftest import ManualClock
from tests.databases import execute
from tidings.cli.app import app
from tidings.domain.caller import Caller
from tidings.domain.flow.failure_text import failure_id
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Accepted, Rejected, Unknown
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.views.campaigns import AudienceCount, Campaign
from tidings.views.connections import ConnectionTest, ProviderConnection, ProviderKindView
from tidings.views.contacts import Contact, ErasedAddress, Imported
from tidings.views.drafts import Drafted, ListedDraft, Publication
from tidings.views.enrollments import ChangedEnrollments, EnrolledCounts, Enrollment, StepLog, Why
from tidings.views.events import Event, Explained
from tidings.views.executions import Execution, LogLine, Replay, StartedExecution
from tidings.views.exports import ContactExport
from tidings.views.failures import Failure, FailureGroups, FailureReplay
from tidings.views.functions import FunctionAddress, FunctionHost, NewSigningSecret
from tidings.views.keys import ApiKey, CreatedKey
from tidings.views.outbox import HistoryLine, Item, ItemDetail, Resolved
from tidings.views.overview import Overview
from tidings.views.previews import Preview
from tidings.views.providers import LiveWorker, ProviderStatus
from tidings.views.rules import Rule, RuleMatrix
from tidings.views.runs import Job, JobHistoryLine, Retry, Run, StartedRun, TraceLine
from tidings.views.secrets import Resealed, SecretsStatus
from tidings.views.segments import Segment
from tidings.views.senders import NamedSender
from tidings.views.sequences import Funnel, Step
from tidings.views.sequences import Sequence as SequenceShape
from tidings.views.simulations import Simulation
from tidings.views.templates import NamedTemplate, TemplatePreview, TemplateVersion
from tidings.views.users import User, UserLink
from tidings.views.view import View
from tidings.views.workflows import Workflow, WorkflowVersion
from tidings.views.workspaces import TenantSettings, WorkspaceSettings

Like = type[View]
PRINTS_NO_DATA = {"worker", "serve", "up"}
ELSEWHERE = {"demo", "sink"}  # test_demo.py and test_sink.py play them, and look at their keys
WELCOME = """
name: welcome
entryNodeId: hello
nodes:
  - {id: hello, type: email, to: "{{ email }}", subject: Hi, body: Welcome}
  - {id: wait, type: delay, duration: PT1H}
edges: [{from: hello, to: wait}]
"""
RULE = """
trigger: quote_sent
channel: email
audience: lead
steps: [{template: {subject: Your quote, body: Here it is}}]
"""
EVENT = "trigger: quote_sent\nidempotencyKey: q-1\nlead: {email: ada@example.com}\n"
LETTER = {
    "name": "spring",
    "channel": "email",
    "content": {"subject": "Hi", "body": "Spring"},
    "audience": {"all": True, "excludeContactIds": []},
    "maxLateness": "PT12H",
}
ADA = json.dumps({"externalId": "ada", "email": "ada@example.com", "attributes": {"Company Size": 9}})
EVE = json.dumps({"externalId": "eve", "email": "eve@example.com"})
FIRST = {"dayOffset": 0, "channel": "email", "content": "Good day"}
STEP = ("--day", "3", "--channel", "email", "--content", "Good day", "--max-lateness", "PT12H")
LOST = "the connection was lost"


def leaves(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, TyperCommand]]:
    """Every command that does something, by its whole name."""
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*path, name))
    if isinstance(command, TyperCommand):
        yield " ".join(path), command


COMMANDS = dict(leaves(typer.main.get_command(app)))


@dataclass
class Tour:
    """Runs commands with `--json`, looks at every key, and remembers which commands it has seen."""

    tidings: Command
    engine: Engine
    clock: ManualClock
    seen: set[str] = field(default_factory=set)

    def __call__(self, *arguments: str, like: Like | None = None, beside: Sequence[str] = (), status: int = 0) -> Any:
        return self.check(arguments, self.tidings(*arguments, "--json"), like, beside, status)

    def check(
        self, arguments: Sequence[str], ended: Ended, like: Like | None, beside: Sequence[str], status: int = 0
    ) -> Any:
        assert ended.status == status, (arguments, ended.err)
        assert "\x1b" not in ended.out + ended.err
        answer = ended.json if ended.out.count("\n}\n") <= 1 and not ended.out.startswith('{"') else lines(ended.out)
        assert list(odd_keys(answer)) == [], arguments
        if like:
            for one in answer if isinstance(answer, list) else [answer]:
                assert same(one, like, beside), (arguments, one)
        self.seen.add(max((name for name in COMMANDS if f"{' '.join(arguments)} ".startswith(f"{name} ")), key=len))
        return answer

    def group(self, *names: str, **answers: Any) -> None:
        """Some commands that need nothing but their names."""
        for name in names:
            self(*name.split(), **answers)

    async def work(self) -> None:
        self.clock.advance(minutes=1)
        await self.engine.work_everything()

    async def deploy(self, key: str) -> str:
        """Deploy by an engine that has the provider; the command has none but the console."""
        [campaign] = self("campaigns", "list")
        caller = Caller(Workspace("default", "default"), "test")
        started = await self.engine.campaigns.deploy(caller, UUID(campaign["id"]), idempotency_key=key)
        return str(started.id)

    async def beside_a_worker(self, *arguments: str, like: Like) -> Any:
        command = asyncio.create_task(asyncio.to_thread(self.tidings, *arguments, "--json"))
        while not command.done():
            self.clock.advance(hours=1)
            await self.engine.work_everything()
            await asyncio.sleep(0.05)
        return self.check(arguments, await command, like, ())


def lines(out: str) -> list[Any]:
    return [json.loads(line) for line in out.splitlines()]


def same(answer: dict[str, Any], like: Like, beside: Sequence[str]) -> bool:
    """Whether an answer is the API's own, but for what the command adds to it."""
    own = {name: value for name, value in answer.items() if name not in beside}
    return len(own) == len(answer) - len(beside) and own == as_answered(own, like)


def as_answered(own: dict[str, Any], like: Like) -> object:
    """What the API would write of it: its fields, all of them, and no other."""
    if issubclass(like, View):
        return json.loads(msgspec.json.encode(msgspec.convert(own, like, strict=False).in_json()))
    return like.model_validate(own).model_dump(mode="json", by_alias=True)


@pytest.fixture
def tour(tidings: Command, engine: Engine, clock: ManualClock) -> Tour:
    clock.time = datetime.now(UTC) + timedelta(minutes=5)
    for name, text in (("welcome.yaml", WELCOME), ("rule.yaml", RULE), ("event.yaml", EVENT), ("p.csv", "email\nx")):
        (tidings.directory / name).write_text(text)
    return Tour(tidings, engine, clock)


async def look_at_workflows(tour: Tour, provider: FakeProvider) -> None:
    tour.group("workflows validate welcome.yaml", "workflows apply welcome.yaml")
    tour("workflows", "validate", "p.csv", status=1)
    tour.group("workflows list", "workflows deactivate welcome", "workflows activate welcome", like=Workflow)
    shown = tour("workflows", "show", "welcome", like=Workflow, beside=["versions"])
    assert same(shown["versions"][0], WorkflowVersion, ())
    tour("workflows", "preview", "welcome", "--data", '{"email": "a@example.com", "first_name": "A"}', like=Preview)
    trigger = ("trigger", "welcome", "--data", '{"email": "ann@example.com", "first_name": "Ann"}')
    ids = [tour(*trigger, like=StartedExecution)["id"] for _ in range(3)]
    for verb, id in (("pause", ids[0]), ("resume", ids[0]), ("cancel", ids[1])):
        tour("executions", verb, id, like=Execution)
    provider.answer = Rejected("no such mailbox")
    await tour.work()
    tour.group("executions list", "dead-letters list", like=Execution)
    shown = tour("executions", "show", ids[0], like=Execution, beside=["log"])
    assert same(shown["log"][0], LogLine, ())
    tour("executions", "retry", ids[0], like=Execution)
    tour.group("dead-letters replay --all --dry-run", "dead-letters replay --all", like=Replay)
    provider.answer = Accepted("m-1")
    await tour.beside_a_worker("executions", "watch", ids[2], like=Execution)
    tour("workflows", "draft", "save", "welcome.yaml", like=Drafted)
    tour.group("workflows draft list", like=ListedDraft)
    tour.group("workflows draft show welcome", like=Drafted)
    tour.group("workflows draft publish welcome", like=Publication)
    tour("workflows", "draft", "save", "welcome.yaml")
    tour("workflows", "draft", "delete", "welcome", "--yes")
    tour("workflows", "deactivate", "welcome")
    tour("workflows", "delete", "welcome", "--yes")


async def look_at_contacts(tour: Tour, _: FakeProvider) -> None:
    tour("contacts", "create", "--data", ADA, like=Contact, beside=["change"])
    tour("contacts", "create", "--data", EVE)
    tour("contacts", "update", "ada", "--data", '{"tags": ["vip"]}', like=Contact)
    tour.group("contacts list", "contacts show ada", like=Contact)
    tour("contacts", "import", "p.csv", like=Imported, status=1)
    tour("contacts", "story", "ada")
    tour("contacts", "export", "ada", like=ContactExport)
    tour("contacts", "delete", "eve", "--yes")
    tour("contacts", "erase", "--address", "eve@example.com", "--yes", like=ErasedAddress)
    tour("segments", "create", "--data", '{"name": "us", "audience": {"tag": "vip"}}', like=Segment)
    tour("segments", "update", "us", "--data", '{"audience": {"excludeContactIds": [], "all": true}}', like=Segment)
    tour("segments", "list", like=Segment)
    tour("segments", "show", "us", like=Segment, beside=["matching"])
    tour("segments", "delete", "us", "--yes")


async def look_at_campaigns(tour: Tour, provider: FakeProvider) -> None:
    tour("contacts", "create", "--data", ADA)
    tour("contacts", "create", "--data", EVE)
    tour("campaigns", "create", "--data", json.dumps(LETTER), like=Campaign)
    tour("campaigns", "update", "spring", "--data", '{"rate": 600}', like=Campaign)
    tour.group("campaigns list", "campaigns show spring", like=Campaign)
    tour("campaigns", "count", "spring", like=AudienceCount)
    tour("campaigns", "preview", "spring", like=Preview)
    held = tour("campaigns", "test", "spring", "me@example.com", like=StartedRun)["id"]
    for verb in ("pause", "resume", "cancel"):
        tour("runs", verb, held, like=Run)
    tour("runs", "cancel", tour("campaigns", "deploy", "spring", like=StartedRun)["id"])
    provider.answer = Unknown(LOST)
    doubtful = await tour.deploy("doubtful")
    for _ in range(3):  # it is planned, sent, and looked after
        await tour.work()
    first, second = tour("outbox", "in-doubt", like=Item)
    tour("outbox", "list", like=Item)
    tour("outbox", "show", first["id"], like=ItemDetail)
    tour("outbox", "resolve", first["id"], "--sent", "--note", "asked", like=ItemDetail)
    tour("runs", "resolve", doubtful, "--failed", "--note", "asked", "--item", second["id"], like=Resolved)
    await tour.work()
    look_at_a_run(tour, doubtful)
    provider.answer = Accepted("m-1")
    await tour.beside_a_worker("runs", "watch", await tour.deploy("watched"), like=Run)
    tour("campaigns", "delete", "spring", "--yes")


def look_at_a_run(tour: Tour, id: str) -> None:
    shown = tour("runs", "show", id, like=Run, beside=["firstJobs", "history"])
    assert same(shown["firstJobs"][0], Job, ())
    assert same(shown["history"][0], HistoryLine, ())
    tour("runs", "list", like=Run)
    tour("runs", "history", id, like=JobHistoryLine)
    tour("runs", "export", id, like=TraceLine)
    tour.group(f"runs retry {id} --dry-run", f"runs retry {id}", like=Retry)


async def look_at_sequences(tour: Tour, _: FakeProvider) -> None:
    tour("contacts", "create", "--data", ADA)
    tour("sequences", "create", "drip", like=SequenceShape)
    step = tour("sequences", "steps", "add", "drip", *STEP, like=Step)
    tour("sequences", "steps", "change", "drip", step["id"], "--day", "0", like=Step)
    tour("sequences", "steps", "list", "drip", like=Step)
    tour("sequences", "preview", "drip", "--contact", "ada", like=Preview)
    tour("sequences", "funnel", "drip", like=Funnel)
    tour("sequences", "update", "drip", "--data", '{"allowReentry": true}', like=SequenceShape)
    verbs = ("publish", "pause", "resume", "show")
    tour.group(*(f"sequences {verb} drip" for verb in verbs), "sequences list", like=SequenceShape)
    tour.group("sequences enroll drip --all --dry-run", "sequences enroll drip --all", like=EnrolledCounts)
    await tour.work()
    [enrollment] = tour("enrollments", "list", "--sequence", "drip", like=Enrollment)
    tour("enrollments", "pause", "--sequence", "drip", "--all", like=ChangedEnrollments)
    tour("enrollments", "resume", "--sequence", "drip", "--all", like=ChangedEnrollments)
    shown = tour("enrollments", "show", enrollment["id"], like=Enrollment, beside=["logs"])
    assert all(same(one, StepLog, ()) for one in shown["logs"])
    tour("enrollments", "why", "drip", "ada", like=Why)
    tour("enrollments", "cancel", "--sequence", "drip", "--all", "--yes", like=ChangedEnrollments)
    tour("sequences", "steps", "delete", "drip", step["id"])
    tour("sequences", "delete", "drip", "--yes")


async def look_at_rules_and_events(tour: Tour, _: FakeProvider) -> None:
    rule = "quote_sent/email/lead"
    tour.group("rules validate rule.yaml", "rules apply rule.yaml")
    tour.group("rules list", f"rules show {rule}", f"rules disable {rule}", f"rules enable {rule}", like=Rule)
    tour("rules", "preview", rule, like=Preview)
    tour("rules", "matrix", like=RuleMatrix)
    tour("events", "explain", "event.yaml", like=Explained)
    sent = tour("events", "send", "event.yaml", like=Event)
    tour.group("events list", f"events show {sent['id']}", f"events cancel {sent['id']}", like=Event)
    tour("rules", "delete", rule, "--yes")


async def look_at_simulations(tour: Tour, _: FakeProvider) -> None:
    tour("contacts", "create", "--data", ADA)
    tour("workflows", "apply", "welcome.yaml")
    tour("campaigns", "create", "--data", json.dumps(LETTER))
    tour("sequences", "create", "drip", "--data", json.dumps({"steps": [FIRST]}))
    tour("simulate", "workflow", "welcome", "--data", '{"email": "a@example.com"}', "--days", "1", like=Simulation)
    tour("simulate", "campaign", "spring", "--days", "1", like=Simulation)
    tour("simulate", "sequence", "drip", "--days", "1", like=Simulation)


SILENT_HOST = """
    insert into tidings.provider_pauses (provider, paused_until, reason, since, times, rested_at)
    values ('function:default/default/f.example:443', '2100-01-01', 'no answer', '2026-01-01', 1, '2026-01-01')
"""


async def look_at_parts_of_messages(tour: Tour, _: FakeProvider) -> None:
    tour("senders", "add", "us", "--email", "us@example.com", like=NamedSender)
    tour("senders", "list", like=NamedSender)
    tour("senders", "show", "us", like=NamedSender)
    tour("senders", "remove", "us", "--yes")
    (tour.tidings.directory / "footer.html").write_text("by {{ company }}")
    tour("templates", "apply", "footer.html")
    tour("templates", "list", like=NamedTemplate)
    tour("templates", "show", "footer", like=NamedTemplate)
    tour("templates", "versions", "footer", like=TemplateVersion)
    tour("templates", "preview", "footer", like=TemplatePreview)
    tour("templates", "remove", "footer", "--yes")


async def look_at_what_happens(tour: Tour, provider: FakeProvider) -> None:
    tour("overview", like=Overview)
    provider.script = {"ada@example.com": [Rejected("no mailbox")]}
    tour("workflows", "apply", "welcome.yaml")
    tour("trigger", "welcome", "--data", '{"email": "ada@example.com"}')
    await tour.work()
    tour("failures", "list", like=FailureGroups)
    group = str(failure_id("no mailbox"))
    tour("failures", "show", group, like=Failure)
    tour("failures", "replay", group, "--dry-run", like=FailureReplay)


async def look_at_the_rest(tour: Tour, _: FakeProvider) -> None:
    tour("providers", "unroute", "sms")
    await execute(tour.tidings.settings["DATABASE_URL"], KNOWN_FALLBACK)
    tour("providers", "forget", "fallback:quote_sent/email/agent")
    tour.group("db migrate", "db status", "db url", "db row-security off", "db reset --yes")
    tour("db", "stop", "--data-dir", str(tour.tidings.directory / "data"))
    made = tour("keys", "create", "app", "--role", "systemAdmin", like=CreatedKey)
    tour("keys", "list", like=ApiKey)
    tour("keys", "revoke", made["id"])
    sender = ("--set", "host=smtp.example.com", "--set", "from=you@example.com")
    tour("connections", "kinds", like=ProviderKindView)
    tour("connections", "add", "own", "smtp", *sender, "--limits", '{"perMinute": 9}', like=ProviderConnection)
    tour("connections", "list", like=ProviderConnection)
    tour("connections", "show", "own", like=ProviderConnection)
    tour("connections", "update", "own", "--weight", "2", like=ProviderConnection)
    unsent = ("connections", "test", "own", "--to", "ada@example.com", "--wait-seconds", "0")
    tour(*unsent, like=ConnectionTest, status=1)
    tour("connections", "disable", "own", like=ProviderConnection)
    tour("connections", "enable", "own", like=ProviderConnection)
    tour("connections", "reset", "own", like=ProviderConnection)
    tour("connections", "remove", "own", "--yes")
    tour("functions", "set", "send", "https://example.com/f", like=FunctionAddress)
    tour("functions", "list", like=FunctionAddress)
    await execute(tour.tidings.settings["DATABASE_URL"], SILENT_HOST)
    tour("functions", "hosts", like=FunctionHost)
    tour("functions", "reset", "f.example:443")
    tour("functions", "delete", "send")
    tour(
        "workspaces",
        "set",
        "--weight",
        "5",
        "--allow-private",
        "10.0.0.0/8",
        "--phone-region",
        "DE",
        like=WorkspaceSettings,
    )
    tour("workspaces", "show", like=WorkspaceSettings)
    tour("workspaces", "list", like=WorkspaceSettings)
    tour("tenants", "set", "acme", "--weight", "5", like=TenantSettings)
    tour("tenants", "list", like=TenantSettings)
    tour("providers", "list", like=ProviderStatus)
    tour("workers", "list", like=LiveWorker)
    tour.tidings.settings["TIDINGS_SECRET_KEY"] = "A" * 43 + "="
    tour("functions", "sign", like=NewSigningSecret)
    tour("db", "forget-secrets", "--yes")
    tour("secrets", "status", like=SecretsStatus)
    tour("secrets", "rotate", like=Resealed)
    tour.seen.add("secrets prune")  # for the embedded server's own keys: tests/security/test_rotation.py
    tour("verify")


async def look_at_people(tour: Tour, provider: FakeProvider) -> None:
    tour("users", "invite", "ada@example.com", "--name", "Ada", "--role", "reader", like=UserLink)
    tour("users", "list", like=User)
    for what in ("show", "update", "disable", "enable"):
        tour("users", what, "ada@example.com", like=User)
    tour("users", "link", "ada@example.com", like=UserLink)
    tour("users", "sign-out", "ada@example.com")
    tour("users", "remove", "ada@example.com", "--yes")


SUBJECTS: Mapping[str, tuple[Callable[[Tour, FakeProvider], Awaitable[None]], frozenset[str]]] = {
    "workflows": (look_at_workflows, frozenset(["workflows", "trigger", "executions", "dead-letters"])),
    "campaigns": (look_at_campaigns, frozenset(["campaigns", "runs", "outbox"])),
    "sequences": (look_at_sequences, frozenset(["sequences", "enrollments"])),
    "contacts": (look_at_contacts, frozenset(["contacts", "segments"])),
    "rules": (look_at_rules_and_events, frozenset(["rules", "events"])),
    "simulations": (look_at_simulations, frozenset(["simulate"])),
    "parts of messages": (look_at_parts_of_messages, frozenset(["senders", "templates"])),
    "people": (look_at_people, frozenset(["users"])),
    "what happens": (look_at_what_happens, frozenset(["overview", "failures"])),
    "administration": (
        look_at_the_rest,
        frozenset(
            [
                "connections",
                "db",
                "keys",
                "functions",
                "workspaces",
                "tenants",
                "providers",
                "secrets",
                "workers",
                "verify",
            ]
        ),
    ),
}


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_every_answer_is_the_api_s_own_in_camel_case(tour: Tour, provider: FakeProvider, subject: str) -> None:
    look, groups = SUBJECTS[subject]

    await look(tour, provider)

    assert tour.seen >= {name for name in COMMANDS if name.split()[0] in groups}


def test_no_command_escapes_the_look_at_its_answer() -> None:
    looked_at = frozenset().union(*(groups for _, groups in SUBJECTS.values()))

    assert {name for name, command in COMMANDS.items() if not takes_json(command)} == PRINTS_NO_DATA
    assert {name.split()[0] for name in COMMANDS} - looked_at == PRINTS_NO_DATA | ELSEWHERE


def takes_json(command: TyperCommand) -> bool:
    return any("--json" in parameter.opts for parameter in command.params)
