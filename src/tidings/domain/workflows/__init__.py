"""Workflows as users write them."""
