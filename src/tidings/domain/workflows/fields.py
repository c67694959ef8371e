"""The fields that workflows are written with, each once: what the parser accepts, and what an editor's form shows.

definition.py takes the names, bounds, choices and defaults from here; forms.py makes JSON schemas of them. The fields
of messages are in domain/channels.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from tidings.domain.flow.graph import CALL_TIMEOUT, ON_ERROR, OnDoubt, OnFailure
from tidings.domain.flow.retry import GRAPH, STEPS, RetryPolicy
from tidings.domain.names import LONGEST_NAME
from tidings.domain.timing import LONGEST_WAIT

LIQUID, HTML, DURATION, CONDITION, JSON = "liquid", "html", "duration", "condition", "json"
TIME, TEMPLATE, SENDER, FUNCTION = "time", "template", "sender", "function"
"""What a form's field holds beyond its type: which editor it gets, and what can be completed in it."""
MOST_FIELDS = 1_000
MOST_SECONDS = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field that may be written; objects have fields of their own."""

    name: str
    about: str
    type: str = "string"
    title: str | None = None
    format: str | None = None
    longest: int | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    default: object = None
    fields: tuple["FormField", ...] = ()
    items: "FormField | None" = None
    """Of a list, what stands in it."""
    either: tuple["FormField", ...] = ()
    """The ways to write it, where there are several."""
    most: float | None = None
    """The most entries of a list."""
    same_as: str | None = None
    """The field that this is another name of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberField(FormField):
    """A number within bounds."""

    least: float
    largest: float
    type: str = "number"

    @property
    def is_whole(self) -> bool:
        """Whether it has no fraction."""
        return self.type == "integer"


def names_of(fields: Iterable[FormField]) -> tuple[str, ...]:
    """Return the names of fields, as the parser asks for them."""
    return tuple(field.name for field in fields)


ID = FormField(
    name="id",
    title="Id",
    about="Its name in the workflow: edges, templates (`vars.ID`) and the log use it.",
    longest=LONGEST_NAME,
    required=True,
)
NAME = FormField(
    name="name", about="Its name in the workflow: templates and the log use it.", longest=LONGEST_NAME, required=True
)
TYPE = FormField(name="type", about="What it does.", required=True)

DELAY_MS = NumberField(
    name="delayMs",
    title="Milliseconds",
    about="How long it waits, in milliseconds.",
    least=0,
    largest=LONGEST_WAIT.total_seconds() * 1000,
)
FOR = FormField(name="duration", about="How long it waits, such as `P3D` or `PT2H`.", format=DURATION)
UNTIL = FormField(name="until", about="Until when: a time, or one variable as `{{ appointment_at }}`.", format=TIME)
DELAY_FIELDS = (DELAY_MS, FOR, UNTIL)

ATTEMPTS = NumberField(name="attempts", about="How often it is tried in all.", type="integer", least=1, largest=100)
BASE_SECONDS = NumberField(
    name="baseSeconds", title="First wait (seconds)", about="The wait after the first failure.", least=0, largest=86_400
)
FACTOR = NumberField(name="factor", about="How much longer each wait is than the last.", least=1, largest=100)
CAP_SECONDS = NumberField(
    name="capSeconds", title="Longest wait (seconds)", about="No wait is longer.", least=0, largest=86_400 * 30
)
JITTER = NumberField(name="jitter", about="The share of a wait that chance may take off.", least=0, largest=1)
RETRY_FIELDS = (ATTEMPTS, BASE_SECONDS, FACTOR, CAP_SECONDS, JITTER)


def _retry(preset: RetryPolicy | None) -> FormField:
    default = preset and {
        ATTEMPTS.name: preset.attempts,
        BASE_SECONDS.name: preset.base.total_seconds(),
        FACTOR.name: preset.factor,
        CAP_SECONDS.name: preset.cap.total_seconds(),
        JITTER.name: preset.jitter,
    }
    about = "When and how often it is tried again; what is left out is as the workflow says, or as here."
    return FormField(name="retry", about=about, type="object", fields=RETRY_FIELDS, default=default)


RETRY, STEP_RETRY, OWN_RETRY = _retry(GRAPH), _retry(STEPS), _retry(None)

THEN = FormField(
    name="then",
    about="What happens to the execution after the last attempt.",
    choices=tuple(OnFailure),
    default=OnFailure.ABORT,
)
RETRIES = NumberField(
    name="retry", title="Retries", about="Attempts after the first.", type="integer", least=0, largest=100
)
ON_FAILURE = FormField(
    name="onFailure",
    about="What happens to the execution when it has failed; `retry` is after the last attempt as well.",
    default="retry",
    either=(
        FormField(name="", about="A word.", choices=(*OnFailure, "retry")),
        FormField(name="", about="Retries, and a word.", type="object", fields=(RETRIES, THEN)),
    ),
)


def _on_doubt(default: OnDoubt) -> FormField:
    about = "What the execution does while nobody knows whether it was done: go on, or wait for a person."
    return FormField(name="onDoubt", about=about, choices=tuple(OnDoubt), default=default)


SEND_DOUBT, CALL_DOUBT = _on_doubt(OnDoubt.CONTINUE), _on_doubt(OnDoubt.HOLD)
TO = FormField(
    name="to",
    about="Whom it is for: an address, or a template such as `{{ email }}`; one or several.",
    either=(
        FormField(name="", about="One.", format=LIQUID),
        FormField(
            name="", about="Several.", type="array", items=FormField(name="", about="One of them.", format=LIQUID)
        ),
    ),
)
SEND_FIELDS = (RETRY, ON_FAILURE, SEND_DOUBT)
"""What a node that sends has beside its recipients and the fields of its channel."""

CALLED = FormField(
    name="function",
    about="The function of the workspace that is called.",
    format=FUNCTION,
    longest=LONGEST_NAME,
    required=True,
)
ACTION = FormField(name="action", about="What it is told to do.", longest=LONGEST_NAME, default="call")
PAYLOAD = FormField(name="payload", about="What it gets: each string in it is a template.", type="object", format=JSON)
PAYLOAD_TEMPLATE = FormField(
    name="payloadTemplate",
    about="What it gets: each string in it is a template.",
    type="object",
    format=JSON,
)
SAME_PAYLOAD = FormField(
    name="payloadTemplate", about="Another name of payload.", type="object", format=JSON, same_as="payload"
)
CALL_SECONDS = NumberField(
    name="timeoutSeconds",
    title="Timeout (seconds)",
    about="How long a call may take; else as long as the workflow's `visibilityTimeout`.",
    least=0.1,
    largest=MOST_SECONDS,
    default=CALL_TIMEOUT.total_seconds(),
)


def _idempotent(default: bool) -> FormField:
    about = "Whether it may be called again when nobody knows what became of a call."
    return FormField(name="idempotent", about=about, type="boolean", default=default)


IDEMPOTENT, STEP_IDEMPOTENT = _idempotent(False), _idempotent(True)
FUNCTION_FIELDS = (CALLED, ACTION, PAYLOAD, SAME_PAYLOAD, IDEMPOTENT, CALL_SECONDS, RETRY, ON_FAILURE, CALL_DOUBT)
STEP_FIELDS = (NAME, CALLED, ACTION, PAYLOAD_TEMPLATE, ON_FAILURE, STEP_IDEMPOTENT, CALL_SECONDS, STEP_RETRY)
REPORT_FIELDS = (TYPE, CALLED, ACTION, PAYLOAD, SAME_PAYLOAD, STEP_IDEMPOTENT, CALL_SECONDS, RETRY)
"""A function that is called when an execution fails."""

REQUIRED_FIELDS = FormField(
    name="requiredFields",
    about="What the data of every trigger must have.",
    type="array",
    most=MOST_FIELDS,
    items=FormField(name="", about="A name."),
)
EXECUTION_SECONDS = NumberField(
    name="timeoutSeconds",
    title="Timeout (seconds)",
    about="How long an execution may take in all.",
    least=1,
    largest=LONGEST_WAIT.total_seconds(),
)
STEPS_TIMEOUT = timedelta(seconds=300)
"""How long an execution of steps may take, unless they say so."""
VISIBILITY_SECONDS = NumberField(
    name="visibilityTimeout",
    title="Longest call (seconds)",
    about="The longest that a call may take, and when the step of a worker that died comes back.",
    least=1,
    largest=MOST_SECONDS,
)
MAX_RETRIES = NumberField(
    name="maxRetries", about="Attempts of each node after the first.", type="integer", least=0, largest=100
)
REPORT = FormField(name=ON_ERROR, about="What is called or sent when an execution fails: a function, or one message.")
OPTIONS = (REQUIRED_FIELDS, EXECUTION_SECONDS, VISIBILITY_SECONDS, MAX_RETRIES, OWN_RETRY, REPORT)

EDGE_ID = FormField(name="id", title="Id", about="A name for it; nothing depends on it.")
FROM = FormField(name="from", about="The node it leads away from.", required=True)
TOWARDS = FormField(name="to", about="The node it leads to.", required=True)
WHEN = FormField(
    name="condition",
    about="When it is taken, out of a branch; the one without a condition is taken when no other is.",
    type="object",
    format=CONDITION,
)
EDGE_FIELDS = (EDGE_ID, FROM, TOWARDS, WHEN)
