"""The HTTP API: `create_app` in app.py puts it together, with one file for each resource.

A request passes edge.py (its id, deadline and metrics), access.py (its key and permission) and bodies.py (its body);
errors leave through errors.py.
"""
