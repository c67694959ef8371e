"""Hypothesis without a deadline: a busy machine is no counter-example."""

from hypothesis import settings

settings.register_profile("tidings", deadline=None)
settings.load_profile("tidings")
