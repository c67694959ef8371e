"""What is wrong with a request."""

from typing import Annotated

from tidings.views.view import Json, View, doc


class ProblemPlace(View, frozen=True, kw_only=True):
    """One thing that is wrong, and where."""

    place: Annotated[str, doc(example="edges[0].to")] = ""
    message: Annotated[str, doc(example="there is no node 'nugde'")] = ""

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.place}: {self.message}" if self.place else self.message


class ProblemDetails(View, frozen=True, kw_only=True):
    """What is wrong with a request (RFC 9457)."""

    type: Annotated[str, doc(example="urn:tidings:problem:definition_invalid")] = ""
    title: Annotated[str, doc(example="Something given is wrong")] = ""
    status: Annotated[int, doc(example=422)] = 0
    code: Annotated[str, doc("A stable code that programs may rely on.", "definition_invalid")] = ""
    detail: Annotated[str, doc(example="edges[0].to: there is no node 'nugde'")] = ""
    errors: list[ProblemPlace] = []
    request_id: Annotated[str | None, doc(example="9f2c4e1ab03d77aa")] = None


class OutdatedDraft(ProblemDetails, frozen=True, kw_only=True):
    """A draft that was begun from a version which is not the newest any more."""

    version: Annotated[int, doc("The newest version.", 4)]
    published: Annotated[Json, doc("What it says.")]
    draft: Annotated[Json, doc("What the draft says.")]
