"""Say a JSON schema as a type of TypeScript."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Described = Mapping[str, Any]
WIDTH = 110
SIMPLE = {"integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
FORMATS = {"uuid": "Id", "date-time": "Time"}
_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def type_of(schema: Described, depth: int = 0) -> str:
    """Return the type; an object with fields stands on several lines, indented by its depth."""
    match schema:
        case {"$ref": str(where)}:
            return where.rsplit("/", 1)[-1]
        case {"enum": list(values)}:
            return " | ".join(json.dumps(value) for value in values)
        case {"anyOf": list(kinds)} | {"oneOf": list(kinds)}:
            return _union([type_of(kind, depth) for kind in kinds])
        case {"type": list(kinds)}:
            return _union([type_of({**schema, "type": kind}, depth) for kind in kinds])
        case {"type": str(kind)}:
            return _type_of_kind(kind, schema, depth)
        case _:
            return "unknown"


def _type_of_kind(kind: str, schema: Described, depth: int) -> str:
    match kind:
        case "array":
            return _list(type_of(schema.get("items", {}), depth))
        case "object":
            return _object(schema, depth)
        case "string":
            return FORMATS.get(schema.get("format", ""), "string")
        case _:
            return json.dumps(schema["const"]) if "const" in schema else SIMPLE[kind]


def _union(kinds: Sequence[str]) -> str:
    return " | ".join(dict.fromkeys(kinds))


def _list(kind: str) -> str:
    return f"({kind})[]" if " | " in kind and not kind.startswith("{") else f"{kind}[]"


def _object(schema: Described, depth: int) -> str:
    fields = schema.get("properties")
    if not fields:
        return _record(schema, depth)
    required = schema.get("required", ())
    lines = [_field(name, field, name in required, depth + 1) for name, field in fields.items()]
    if schema.get("additionalProperties") is True:
        lines.append(f"{'  ' * (depth + 1)}[name: string]: unknown;\n")
    return f"{{\n{''.join(lines)}{'  ' * depth}}}"


def _record(schema: Described, depth: int) -> str:
    values = schema.get("additionalProperties", True)
    kind = "unknown" if isinstance(values, bool) else type_of(values, depth)
    names = type_of(schema.get("propertyNames", {}))
    if " | " not in names:
        return f"Record<string, {kind}>"
    return f"Partial<Record<{names}, {kind}>>"


def _field(name: str, schema: Described, is_required: bool, depth: int) -> str:
    key = name if _PLAIN.fullmatch(name) else json.dumps(name)
    mark = "" if is_required else "?"
    return f"{comment(schema.get('description', ''), depth)}{'  ' * depth}{key}{mark}: {type_of(schema, depth)};\n"


def comment(text: str, depth: int = 0) -> str:
    """Return words as a comment before what they describe, or nothing."""
    indent = "  " * depth
    lines = list(_wrapped(" ".join(text.split()).replace("*/", "*\\/"), WIDTH - len(indent)))
    match lines:
        case []:
            return ""
        case [line]:
            return f"{indent}/** {line} */\n"
        case _:
            return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


def _wrapped(text: str, width: int) -> Iterator[str]:
    while len(text) > width:
        end = text.rfind(" ", 0, width)
        yield text[:end]
        text = text[end + 1 :]
    if text:
        yield text


def camel(words: Sequence[str]) -> str:
    """Return words as one name: `jobHistory`."""
    first, *others = words
    return first + "".join(word.capitalize() for word in others)
