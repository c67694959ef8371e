"""`tidings simulate`: the next weeks in seconds, before anything is published. Nothing leaves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from tidings.cli.command import command
from tidings.cli.given import Json, read_data, read_json, with_where
from tidings.cli.opened import InWorkspace
from tidings.cli.options import Read, Sequence, Where, named
from tidings.domain.errors import InputInvalid

if TYPE_CHECKING:
    from tidings.domain.simulation import Scenario
    from tidings.simulation import Subject
    from tidings.views.simulations import Simulation

app = typer.Typer()


def _audience(filters: list[str]) -> dict[str, Any]:
    """Return an audience as the API reads it, from `all`, `tag=vip` or `id=…`."""
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


def _read_many(text: str) -> tuple[Mapping[str, object], ...]:
    found = read_json(text, "--data")
    every = found if isinstance(found, list) else [found]
    if not every or not all(isinstance(one, dict) for one in every):
        raise InputInvalid("--data must be a JSON object, or a list of them")
    return tuple(every)


def _definition_in(file: Path, name: str) -> tuple[str, Mapping[str, object]]:
    """Return the workflow of this name in a file, or its only one."""
    from tidings.cli.definition_files import FilesInvalid, read_definitions

    documents, problems = read_definitions([file])
    if problems:
        raise FilesInvalid(problems)
    found = [one for one in documents if one.name == name] or (documents if len(documents) == 1 else [])
    if not found:
        raise InputInvalid(f"{file} has no workflow {name!r}; it has {', '.join(str(one.name) for one in documents)}")
    return name, found[0].definition


def _time(text: str, option: str) -> datetime:
    from tidings.domain.timing import parse_time

    try:
        return parse_time(text)
    except ValueError as error:
        raise InputInvalid(f"{option} {error}") from error


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that every kind of simulation has."""

    contacts: Annotated[
        dict[str, Any] | None,
        typer.Option(
            "--contacts",
            metavar="FILTER",
            help=(
                "Whom it would be for: all, tag=…, company=…, status=…, id=…; "
                "several are joined by 'and', ids are added."
            ),
            show_default=False,
        ),
        Read(_audience, typed=list[str]),
    ] = None
    where: Where = None
    days: Annotated[int, typer.Option(min=1, max=3_660, help="How many days to run.")] = 90
    sample: Annotated[int, typer.Option(min=1, max=100_000, help="How many of them to simulate at most.")] = 1_000
    seed: Annotated[int, typer.Option(help="The same seed draws the same people.")] = 0
    contact: Annotated[
        list[str] | None,
        typer.Option(
            "--contact",
            metavar="CONTACT",
            help="Show the messages of this contact (id or external id); may be given several times.",
            show_default=False,
        ),
    ] = None
    start: Annotated[
        datetime | None,
        typer.Option("--from", metavar="TIME", help="When it begins.  [default: now]", show_default=False),
        Read(partial(_time, option="--from")),
    ] = None
    zone: Annotated[str, typer.Option("--zone", help="The time zone of the calendar's days and hours.")] = "UTC"

    async def scenario(self, at: InWorkspace, **more: object) -> "Scenario":
        """Return the scenario, with the contacts found whose messages are to be shown."""
        from msgspec.structs import replace

        from tidings.domain.simulation import Scenario
        from tidings.resources.crowd import CrowdNames, read_crowd

        names = CrowdNames("--contacts", "--contact")
        given = None if self.contacts is None and self.where is None else with_where(self.contacts or {}, self.where)
        contacts, messages_of = await read_crowd(at.engine.kernel, at.workspace, given, self.contact or [], names)
        asked = Scenario(
            days=self.days,
            contacts=contacts,
            sample=self.sample,
            seed=self.seed,
            messages_of=messages_of,
            start=self.start,
            time_zone=self.zone,
        )
        return replace(asked, **more)


async def _simulate(at: InWorkspace, subject: "Subject", scenario: "Scenario") -> "Simulation":
    from tidings.simulation import simulate
    from tidings.simulation.simulate import SimulationStage

    return await simulate(at.engine, at.workspace, subject, scenario, SimulationStage(pg_bin=at.config.pg_bin))


def _print(found: "Simulation") -> None:
    from tidings.cli.calendar import print_simulated

    print_simulated(found)


@dataclass(slots=True)
class SimulationInput:
    """A workflow of this name: as it is stored, or as a file has it."""

    workflow: Annotated[str, typer.Argument(metavar="WORKFLOW", help="The workflow's name or id.")]
    data: Annotated[
        tuple[Json, ...] | None,
        typer.Option(
            help="What it is triggered with: a JSON object or a list of them, @FILE, or @- for standard input.",
            show_default=False,
        ),
        Read(_read_many),
    ] = None
    file: Annotated[
        Path | None, typer.Option(help="Simulate this definition (YAML or JSON), stored or not.", show_default=False)
    ] = None

    written: tuple[str, Json] | None = field(init=False)

    def __post_init__(self) -> None:
        self.written = _definition_in(self.file, self.workflow) if self.file else None


@command(app, shows=_print)
async def workflow(
    at: InWorkspace,
    given: SimulationInput,
    results: Annotated[
        Json,
        typer.Option(help="What functions answer, by name: a JSON object or @FILE. None is called."),
        Read(partial(read_data, flag="--results"), default="{}"),
    ],
    asked: Asked,
) -> "Simulation":
    """Simulate a workflow: what it sends when, once triggered with data, for contacts, or both."""
    from tidings.simulation.workflow import SimulatedWorkflow

    scenario = await asked.scenario(at, data=given.data or (), results=results)
    if given.written is not None:
        return await _simulate(at, SimulatedWorkflow.of(*given.written), scenario)
    found = await SimulatedWorkflow.find(at.engine, at.workspace, named(given.workflow))
    return await _simulate(at, found, scenario)


@command(app, shows=_print)
async def sequence(
    at: InWorkspace,
    sequence: Sequence,
    *,
    published: Annotated[
        bool, typer.Option("--published", help="What is published, instead of what is being written.")
    ] = False,
    asked: Asked,
) -> "Simulation":
    """Simulate a sequence for contacts enrolled now: its draft, before it is published."""
    from tidings.simulation.sequence import SimulatedSequence

    scenario = await asked.scenario(at)
    found = await SimulatedSequence.find(at.engine, at.workspace, sequence, published=published)
    return await _simulate(at, found, scenario)


@command(app, shows=_print)
async def campaign(
    at: InWorkspace,
    campaign: Annotated[UUID | str, typer.Argument(metavar="CAMPAIGN", help="The campaign's name or id."), Read(named)],
    *,
    begin: Annotated[
        datetime | None,
        typer.Option("--at", metavar="TIME", help="When it is deployed for.  [default: --from]", show_default=False),
        Read(partial(_time, option="--at")),
    ] = None,
    asked: Asked,
) -> "Simulation":
    """Simulate a campaign as if it were deployed: to its own audience, unless --contacts names another."""
    from tidings.simulation.campaign import SimulatedCampaign

    scenario = await asked.scenario(at, scheduled_for=begin)
    found = await SimulatedCampaign.find(at.engine, at.workspace, campaign)
    return await _simulate(at, found, scenario)
