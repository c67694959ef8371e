"""One file for each vendor: how its request is written, and what each of its documented answers means."""
