"""The views as OpenAPI describes them: a component for each, with an example made from its fields' examples."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from msgspec.json import schema_components

from tidings.views.view import View

Described = dict[str, Any]
WHERE = "#/components/schemas/"
_ENVELOPE = re.compile(r"^[A-Z][a-z]+_(\w+)_$")
_EXAMPLES = {"string": "…", "integer": 1, "number": 1, "boolean": False}


def name_of(view: Any) -> str:
    """Return the name of a view's component: `Execution`; a list is named after its items, `ExecutionList`."""
    inner = get_args(view)
    name: str = f"{inner[0].__name__}List" if inner else view.__name__
    return name


def reference(view: Any) -> Described:
    """Return a reference to a view's component."""
    return {"$ref": f"{WHERE}{name_of(view)}"}


def describe_views(views: Iterable[type[View]]) -> Described:
    """Return the components of these views and of every view inside them, by name."""
    _, found = schema_components(views, ref_template=WHERE + "{name}")
    schemas = {_ENVELOPE.sub(r"\1List", name): schema for name, schema in found.items()}
    if len(schemas) < len(found):
        raise TypeError("the same view is in a Page and in an Everything: one name would mean two things")
    for name, schema in schemas.items():
        schema["title"] = name
        if "enum" in schema:
            schema["type"] = "string"
        for field in schema.get("properties", {}).values():
            # A default is for readers of an older server's answer; this one sends every field.
            field.pop("default", None)
        if "properties" in schema:
            schema["required"] = [*schema["properties"]]
    for schema in schemas.values():
        if "properties" in schema:
            schema["examples"] = [example_of(schema, schemas)]
    return schemas


def example_of(schema: Mapping[str, Any], schemas: Mapping[str, Described]) -> Any:  # noqa: PLR0911 – one for each kind
    """Return a value that a schema allows: its own example, or one made of its parts; null where that is allowed."""
    match schema:
        case {"examples": [first, *_]}:
            return first
        case {"$ref": str(where)}:
            return example_of(schemas[where.removeprefix(WHERE)], schemas)
        case {"properties": dict(fields)}:
            return {name: example_of(field, schemas) for name, field in fields.items()}
        case {"enum": [first, *_]}:
            return first
        case {"type": "array", "items": dict(inner)}:
            return [example_of(inner, schemas)]
        case {"type": "object"}:
            return {}
        case {"type": str(kind)}:
            return _EXAMPLES[kind]
        case _:
            return None
