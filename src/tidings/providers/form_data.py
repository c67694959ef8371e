"""A request body of fields and files (multipart/form-data, RFC 7578), for vendors that take no JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # as browsers do (WHATWG)


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file under the name of its field."""

    name: str
    filename: str
    content_type: str
    content: bytes = field(repr=False)


def form_data(seed: bytes, fields: Sequence[tuple[str, str]], files: Sequence[FormFile] = ()) -> tuple[str, bytes]:
    """The content type and the body; the same for the same parts, with a boundary that occurs in none of them."""
    contents = [value.encode() for _, value in fields] + [one.content for one in files]
    boundary = sha256(seed).hexdigest()
    while any(boundary.encode() in content for content in contents):
        boundary = sha256(boundary.encode()).hexdigest()
    heads = [f'name="{_escaped(name)}"\r\n' for name, _ in fields]
    heads += [
        f'name="{_escaped(one.name)}"; filename="{_escaped(one.filename)}"\r\nContent-Type: {one.content_type}\r\n'
        for one in files
    ]
    parts = [
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n".encode() + content + b"\r\n"
        for head, content in zip(heads, contents, strict=True)
    ]
    return f"multipart/form-data; boundary={boundary}", b"".join(parts) + f"--{boundary}--\r\n".encode()


def _escaped(name: str) -> str:
    return name.translate(_ESCAPES)
