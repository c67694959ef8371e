"""`tidings simulate`: the next weeks in seconds, before anything is published. Nothing leaves."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidings.cli.opened import Tenant, WorkflowReference, WorkspaceName, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir, config_from
from tidings.cli.trigger import read_data, read_json
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.domain.simulation import Scenario
    from tidings.engine import Engine
    from tidings.simulation import Subject
    from tidings.views.simulations import Simulation

app = typer.Typer(help="Run the next weeks in seconds, on a scratch database: nothing leaves.", no_args_is_help=True)

Days = Annotated[int, typer.Option(min=1, max=3_660, help="How many days to run.")]
Contacts = Annotated[
    list[str] | None,
    typer.Option(
        "--contacts",
        metavar="FILTER",
        help="Whom it would be for: all, tag=…, company=…, status=…, id=…; several are joined by 'and', ids are added.",
        show_default=False,
    ),
]
Sample = Annotated[int, typer.Option(min=1, max=100_000, help="How many of them to simulate at most.")]
Seed = Annotated[int, typer.Option(help="The same seed draws the same people.")]
Shown = Annotated[
    list[str] | None,
    typer.Option(
        "--contact",
        metavar="CONTACT",
        help="Show the messages of this contact (id or external id); may be given several times.",
        show_default=False,
    ),
]
Start = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="When it begins.  [default: now]", show_default=False),
]
Zone = Annotated[str, typer.Option("--zone", help="The time zone of the calendar's days and hours.")]


Data = Annotated[
    str | None,
    typer.Option(
        help="What it is triggered with: a JSON object or a list of them, @FILE, or @- for standard input.",
        show_default=False,
    ),
]
File = Annotated[
    Path | None, typer.Option(help="Simulate this definition (YAML or JSON), stored or not.", show_default=False)
]
Results = Annotated[str, typer.Option(help="What functions answer, by name: a JSON object or @FILE. None is called.")]
SequenceReference = Annotated[str, typer.Argument(metavar="SEQUENCE", help="The sequence's name or id.")]
CampaignReference = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="The campaign's name or id.")]
ScheduledFor = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help="When it is deployed for.  [default: --from]", show_default=False),
]
Published = Annotated[bool, typer.Option("--published", help="What is published, instead of what is being written.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that every kind of simulation has."""

    contacts: list[str] | None
    days: int
    sample: int
    seed: int
    shown: list[str] | None
    start: str | None
    zone: str

    async def scenario(self, engine: "Engine", room: Workspace) -> "Scenario":
        """What is asked, with the contacts found whose messages are to be shown."""
        from tidings.domain.simulation import Scenario
        from tidings.resources.crowd import CrowdNames, read_crowd

        contacts, messages_of = await read_crowd(
            engine.kernel, room, _audience(self.contacts), self.shown or [], CrowdNames("--contacts", "--contact")
        )
        return Scenario(
            days=self.days,
            contacts=contacts,
            sample=self.sample,
            seed=self.seed,
            messages_of=messages_of,
            start=_time(self.start, "--from"),
            time_zone=self.zone,
        )


@app.command()
def workflow(
    workflow: WorkflowReference,
    data: Data = None,
    file: File = None,
    results: Results = "{}",
    contacts: Contacts = None,
    days: Days = 90,
    sample: Sample = 1_000,
    seed: Seed = 0,
    contact: Shown = None,
    start: Start = None,
    zone: Zone = "UTC",
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a workflow: what it sends when, once triggered with data, for contacts, or both."""
    from tidings.simulation.workflow import SimulatedWorkflow

    asked = Asked(contacts, days, sample, seed, contact, start, zone)
    more = {"data": _read_many(data), "results": read_data(results, "--results")}
    given = _definition_in(file, workflow) if file else None

    async def find(engine: "Engine", room: Workspace) -> "Subject":
        if given is not None:
            return SimulatedWorkflow.of(*given)
        return await SimulatedWorkflow.find(engine, room, reference(workflow))

    _print(_run(Workspace(tenant, workspace), asked, find, database_url, data_dir, **more), as_json=as_json)


@app.command()
def sequence(
    sequence: SequenceReference,
    published: Published = False,
    contacts: Contacts = None,
    days: Days = 90,
    sample: Sample = 1_000,
    seed: Seed = 0,
    contact: Shown = None,
    start: Start = None,
    zone: Zone = "UTC",
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a sequence for contacts enrolled now: its draft, before it is published."""
    from tidings.simulation.sequence import SimulatedSequence

    async def find(engine: "Engine", room: Workspace) -> "Subject":
        return await SimulatedSequence.find(engine, room, reference(sequence), published=published)

    asked = Asked(contacts, days, sample, seed, contact, start, zone)
    _print(_run(Workspace(tenant, workspace), asked, find, database_url, data_dir), as_json=as_json)


@app.command()
def campaign(
    campaign: CampaignReference,
    at: ScheduledFor = None,
    contacts: Contacts = None,
    days: Days = 90,
    sample: Sample = 1_000,
    seed: Seed = 0,
    contact: Shown = None,
    start: Start = None,
    zone: Zone = "UTC",
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a campaign as if it were deployed: to its own audience, unless --contacts names another."""
    from tidings.simulation.campaign import SimulatedCampaign

    async def find(engine: "Engine", room: Workspace) -> "Subject":
        return await SimulatedCampaign.find(engine, room, reference(campaign))

    asked, more = Asked(contacts, days, sample, seed, contact, start, zone), {"scheduled_for": _time(at, "--at")}
    _print(_run(Workspace(tenant, workspace), asked, find, database_url, data_dir, **more), as_json=as_json)


def _run(
    room: Workspace,
    asked: Asked,
    find: "Callable[[Engine, Workspace], Awaitable[Subject]]",
    database_url: str | None,
    data_dir: Path | None,
    **more: object,
) -> "Simulation":
    from msgspec.structs import replace

    from tidings.simulation import simulate
    from tidings.simulation.simulate import Stage

    stage = Stage(pg_bin=config_from(database_url=database_url, data_dir=data_dir).pg_bin)

    async def work(engine: "Engine") -> "Simulation":
        scenario = replace(await asked.scenario(engine, room), **more)
        return await simulate(engine, room, await find(engine, room), scenario, stage)

    return on_database(database_url, data_dir, work)


def _print(found: "Simulation", *, as_json: bool) -> None:
    from tidings.cli.calendar import print_simulated
    from tidings.cli.output import print_json

    if as_json:
        print_json(found)
    else:
        print_simulated(found)


def _audience(filters: list[str] | None) -> dict[str, Any] | None:
    """`all`, `tag=vip`, `id=…`: an audience as the API reads it."""
    if not filters:
        return None
    given: dict[str, Any] = {}
    for one in filters:
        name, sign, value = one.partition("=")
        if one == "all":
            given["all"] = True
        elif name in {"id", "exclude"} and sign:
            given.setdefault({"id": "contactIds", "exclude": "excludeContactIds"}[name], []).append(value)
        elif name in {"tag", "company", "status"} and sign and name not in given:
            given[name] = value
        else:
            raise InputInvalid(
                f"--contacts {one!r}: write all, tag=…, company=…, status=…, id=… or exclude=…, each filter once"
            )
    return given


def _read_many(text: str | None) -> tuple[Mapping[str, object], ...]:
    if text is None:
        return ()
    found = read_json(text, "--data")
    every = found if isinstance(found, list) else [found]
    if not every or not all(isinstance(one, dict) for one in every):
        raise InputInvalid("--data must be a JSON object, or a list of them")
    return tuple(every)


def _definition_in(file: Path, name: str) -> tuple[str, Mapping[str, object]]:
    """The workflow of this name in a file, or its only one."""
    from tidings.cli.definition_files import FilesInvalid, read_definitions

    documents, problems = read_definitions([file])
    if problems:
        raise FilesInvalid(problems)
    found = [one for one in documents if one.name == name] or (documents if len(documents) == 1 else [])
    if not found:
        raise InputInvalid(f"{file} has no workflow {name!r}; it has {', '.join(str(one.name) for one in documents)}")
    return name, found[0].definition


def _time(text: str | None, option: str) -> datetime | None:
    from tidings.domain.timing import parse_time

    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise InputInvalid(f"{option} {error}") from error
