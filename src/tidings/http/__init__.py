"""The HTTP API: `create_app` in app.py puts it together, one file for each resource.

A request comes through edge.py (its id, its deadline, its numbers), access.py (whose it is, what they may) and
bodies.py (what they sent); what goes wrong leaves through errors.py.
"""
