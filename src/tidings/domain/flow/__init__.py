"""What moves: ids, executions, items, and every decision about them."""
