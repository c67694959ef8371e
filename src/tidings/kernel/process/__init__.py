"""What one process holds and remembers; nothing of it matters after a crash."""
