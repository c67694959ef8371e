"""The addresses of functions, and what signs the calls to them."""

from typing import Annotated

from tidings.views.view import Time, View, doc


class FunctionAddress(View, frozen=True, kw_only=True):
    """The address of a function; its secret is never shown."""

    name: Annotated[str, doc(example="send-email")]
    url: Annotated[str, doc(example="https://example.com/functions/v1/send-email")]
    has_secret: bool
    created_at: Time
    updated_at: Time
    rests_until: Annotated[
        Time | None, doc("Until when its host is left alone, because it does not answer; null when it is called.")
    ] = None


class SigningSecret(View, frozen=True, kw_only=True):
    """That a workspace's calls are signed; the secret itself is shown only when it is made."""

    created_at: Time
    previous_until: Annotated[
        Time | None, doc("Until when calls are also signed with the secret before; null when only one is valid.")
    ] = None


class NewSigningSecret(SigningSecret, frozen=True, kw_only=True):
    """A new signing secret, which is shown only this once."""

    secret: Annotated[str, doc(example="whsec_…")]


class FunctionHost(View, frozen=True, kw_only=True):
    """A host of the workspace's functions that did not answer: calls to it wait while it rests, and one tries then."""

    host: Annotated[str, doc("Its name and port.", "functions.example.com:443")]
    since: Annotated[Time, doc("When it was first left alone.")]
    rests_until: Annotated[Time | None, doc("Until when nothing is called there; null while a call tries it.")] = None
    failures: Annotated[int, doc("How often it was left alone since then; its rests grow.", 1)] = 1
    reason: Annotated[str, doc(example="no answer before the deadline (after the request was sent)")] = ""
