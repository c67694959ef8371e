"""One file per provider: one call in, one Outcome out."""
