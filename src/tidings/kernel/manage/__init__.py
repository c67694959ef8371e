"""What people decide and inspect."""
