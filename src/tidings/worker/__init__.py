"""The loop that moves what is due: looks, listens, drains."""
