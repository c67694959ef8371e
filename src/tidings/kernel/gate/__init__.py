"""May this leave now? Now, later (when), or never (why)."""
