"""The flow from request to answer: one file for each of its steps."""
