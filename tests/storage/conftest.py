"""Databases that nobody has migrated."""

import os
import secrets
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.databases import OWNER_URL, with_database
from tidings import embedded
from tidings.storage.database import Database


@pytest.fixture
async def empty_dsn(server: str) -> AsyncIterator[str]:
    """The address of a database with nothing in it."""
    name = f"e_{secrets.token_hex(6)}"
    admin = await asyncpg.connect(server)
    await admin.execute(f"create database {name} owner {embedded.OWNER}")
    yield with_database(os.environ[OWNER_URL], name)
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()


@pytest.fixture
async def empty(empty_dsn: str) -> AsyncIterator[Database]:
    db = await Database.open(empty_dsn)
    yield db
    await db.close()
