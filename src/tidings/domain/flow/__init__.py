"""Executions, items, their ids, and every decision about them."""
