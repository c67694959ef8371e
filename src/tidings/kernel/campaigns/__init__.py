"""Runs: start them, plan their audience, keep their rate, roll them up."""
