"""The errors that a caller must know of.

    TidingsError
    ├── InputInvalid            the caller must fix what was given
    │   ├── ProblemsFound         several things at once, each with its place
    │   │   ├── FieldsInvalid       fields or parameters, of whatever they are
    │   │   ├── DefinitionInvalid   a workflow
    │   │   ├── TriggersInvalid     many triggers
    │   │   ├── ContactsInvalid     contacts
    │   │   ├── EnrollmentInvalid   whom to enroll, pause, resume or cancel
    │   │   ├── EventInvalid        an event
    │   │   │   └── TriggerUnknown    whose trigger nothing knows
    │   │   ├── CampaignInvalid     a campaign, a segment or a deploy
    │   │   └── ScenarioInvalid     what a simulation is asked
    │   ├── TemplateInvalid       a Liquid template that does not parse
    │   ├── DataMissing           a trigger's data, with every name that its workflow needs and it lacks
    │   └── ConfigInvalid         a setting
    ├── NotFound                no such thing, or not yours
    ├── Conflict                it exists, but its state forbids this
    │   ├── DraftOutdated         a version was published since the draft was begun
    │   └── ChannelNotReady       no provider is set up for a channel that it needs
    ├── ExtraMissing            what it needs was not installed with Tidings
    ├── SimulationUnavailable   no simulation can run here
    ├── RendererUnavailable     the process that renders templates cannot be started here
    └── StorageUnavailable      PostgreSQL cannot be reached or used
        ├── StorageUnsafe         it answers, but would lose what it acknowledged
        ├── SchemaMismatch        its tables are older or newer than this code
        └── EmbeddedServerFailed  the server that comes with the package cannot run here

Expected results (rejected, retry later, lease lost) are values, not exceptions. Each class has a stable `code`; a
message says what, which, and what to do. The edges own the tables that turn a class into a status or an exit code.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


class TidingsError(Exception):
    """The root of everything raised on purpose."""

    code: ClassVar[str] = "error"


class InputInvalid(TidingsError):
    """A value that the caller must change."""

    code = "input_invalid"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a definition, and where."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class ProblemsFound(InputInvalid):
    """Several things that the caller must change, each with its place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class FieldsInvalid(ProblemsFound):
    """Fields or parameters that cannot be used."""


class DefinitionInvalid(ProblemsFound):
    """A workflow that cannot be stored, with every problem in it."""

    code = "definition_invalid"


class TemplateInvalid(InputInvalid):
    """A Liquid template that does not parse, with line and column."""

    code = "template_invalid"

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class DataMissing(InputInvalid):
    """Data that lacks what its workflow needs: fields it names as required, and variables of its templates."""

    code = "data_missing"

    def __init__(self, required: Iterable[str] = (), variables: Iterable[str] = ()) -> None:
        self.required = tuple(sorted(required))
        self.variables = tuple(sorted(variables))
        parts = [f"Missing required fields: {', '.join(self.required)}"] if self.required else []
        if self.variables:
            parts.append(
                f"Missing template variables: {', '.join(self.variables)}. "
                "These placeholders exist in workflow steps but were not provided in data."
            )
        if "contact" in self.variables:
            parts.append("Name a contact (contactId), or give `contact` in data")
        super().__init__(". ".join([*(one.removesuffix(".") for one in parts[:-1]), *parts[-1:]]))


class TriggersInvalid(ProblemsFound):
    """Triggers of one call that cannot be started, with every problem in them; none of the call was started."""

    code = "triggers_invalid"


class ContactsInvalid(ProblemsFound):
    """Contacts of one call that cannot be stored, with every problem in them; none of the call was stored."""

    code = "contacts_invalid"


class EventInvalid(ProblemsFound):
    """An event that cannot be taken, with every problem in it; nothing of it was stored."""

    code = "event_invalid"


class TriggerUnknown(EventInvalid):
    """An event that no rule and no fallback knows, sent by a caller that expected an effect."""


class EnrollmentInvalid(ProblemsFound):
    """Something that cannot be asked of enrollments, with every problem in it; nobody was enrolled or stopped."""

    code = "enrollment_invalid"


class ScenarioInvalid(ProblemsFound):
    """A simulation that cannot be run, with every problem in what is asked."""

    code = "scenario_invalid"


class CampaignInvalid(ProblemsFound):
    """A campaign, segment or deploy that cannot be stored, with every problem in it."""

    code = "campaign_invalid"


class ConfigInvalid(InputInvalid):
    """A setting that cannot be used."""

    code = "config_invalid"


class NotFound(TidingsError):
    """No such thing in this workspace."""

    code = "not_found"


class Conflict(TidingsError):
    """The thing exists, but its state forbids what was asked."""

    code = "conflict"


class DraftOutdated(Conflict):
    """A draft whose base is not the newest version any more, with both definitions."""

    code = "draft_outdated"

    def __init__(
        self, message: str, *, version: int, published: Mapping[str, object], draft: Mapping[str, object]
    ) -> None:
        super().__init__(message)
        self.version, self.published, self.draft = version, published, draft


class ChannelNotReady(Conflict):
    """What was asked needs channels that no provider is set up for; nothing was started."""

    code = "channel_not_ready"

    def __init__(self, channels: Iterable[str]) -> None:
        self.channels = tuple(channels)
        own = "with TIDINGS_SMTP_URL" if "email" in self.channels else "with an --app that routes a provider to it"
        super().__init__(
            f"no provider is set up for {', '.join(self.channels)}: add one with `tidings connections add`, start a "
            f"worker {own}, or with --print to print messages instead of sending them; `tidings providers list` shows "
            "what is set up"
        )


class ExtraMissing(TidingsError):
    """What it needs is installed on request, and was not."""

    code = "extra_missing"


class SimulationUnavailable(TidingsError):
    """No simulation can run here, or not now."""

    code = "simulation_unavailable"


class RendererUnavailable(TidingsError):
    """The process that renders templates cannot be started here."""

    code = "renderer_unavailable"


class StorageUnavailable(TidingsError):
    """PostgreSQL cannot be reached or used."""

    code = "storage_unavailable"


class StorageUnsafe(StorageUnavailable):
    """PostgreSQL is set up so that it may lose what it acknowledged."""

    code = "storage_unsafe"


class SchemaMismatch(StorageUnavailable):
    """The tables in the database are older or newer than this code."""

    code = "schema_mismatch"


class EmbeddedServerFailed(StorageUnavailable):
    """The PostgreSQL that comes with the package cannot run here."""

    code = "embedded_server_failed"
