"""From claim to release: one module for each step."""
