"""Every answer of the API, declared once: a field's name, type, description and example are in one line.

To add a field to an answer:

1. Add its line to the view: `waiting: Annotated[str | None, doc("Why no worker can go on.")] = None`.
2. Fill it in resources/: a view is made there and nowhere else, from what storage has read.
3. That is all. HTTP and `--json` encode the view, the client decodes it, and OpenAPI takes schema and example from it.

Names are camelCase in JSON; names inside what users wrote (`Json`) never change. A server sends every field, and
OpenAPI calls all of them required. Each new field has a default, which a client sees when an older server does not
send the field; a client ignores fields that only a newer server sends. Views import nothing of Tidings, so that the
client can be lifted out with them.
"""
