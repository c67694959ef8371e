"""Tidings: a durable engine for messages to people, on PostgreSQL."""

__version__ = "0.1.0"
