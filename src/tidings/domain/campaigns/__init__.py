"""Campaigns as users write them, and the runs they become."""
