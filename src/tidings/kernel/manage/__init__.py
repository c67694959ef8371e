"""What people decide and look at."""
