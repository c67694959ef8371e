"""The worker process: a loop that moves what is due, listens for more, and drains."""
