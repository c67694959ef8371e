"""A server that takes mail and the calls of vendors, and sends nothing on: for trying things, and for tests.

It answers as mailbox providers and vendors do, also with the refusals they give to a share that one chooses, and shows
what arrived. running.py starts it; docs/how-to/try-it-without-an-account.md uses it.
"""
