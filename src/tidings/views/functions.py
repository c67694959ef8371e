"""The addresses of functions."""

from typing import Annotated

from tidings.views.view import Time, View, doc


class FunctionAddress(View, frozen=True, kw_only=True):
    """The address of a function; its secret is never shown."""

    name: Annotated[str, doc(example="send-email")]
    url: Annotated[str, doc(example="https://example.com/functions/v1/send-email")]
    has_secret: bool
    created_at: Time
    updated_at: Time
