"""Contacts, their addresses, and audiences made of them."""
