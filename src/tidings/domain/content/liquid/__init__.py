"""Liquid as LiquidJS reads it, under limits."""
