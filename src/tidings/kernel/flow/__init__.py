"""From claim to release: one module for each arrow."""
