"""Which Tidings this is, in the one place that says so.

`.dev0` is what the next release is called until it is made; CONTRIBUTING.md says how.
"""

__version__ = "0.1.0.dev0"
