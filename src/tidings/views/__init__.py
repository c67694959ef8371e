"""Every answer of the API, declared once: a field's name, type, description and example stand in one line.

To add a field to an answer:

1. Add its line to the view: `waiting: Annotated[str | None, doc("Why nobody can go on.")] = None`.
2. Fill it in resources/: a view is made there and nowhere else, from what storage has read.
3. That is all. HTTP and `--json` encode the view, the client decodes it, and OpenAPI takes schema and example from it.

A name is camelCase in JSON; what users wrote (`Json`) is never renamed. A default is what a reader sees when an older
server leaves the field out, so each new field has one; a server sends every field, and OpenAPI calls all required. What
a newer server adds is ignored. Views import nothing of Tidings, so that the client can be lifted out with them.
"""
