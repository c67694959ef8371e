"""Sequences as users write them, and when their steps are due."""
