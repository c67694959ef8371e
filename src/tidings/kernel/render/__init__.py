"""Templates, rendered in a child process."""
