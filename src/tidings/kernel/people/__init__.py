"""The contacts that work is for."""
