import asyncpg
import pytest

from tidings.embedded import TemporaryServer, status


async def count(dsn: str) -> int:
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        value: int = await connection.fetchval("select count(*) from facts")
        return value
    finally:
        await connection.close()


async def test_a_temporary_server_survives_kills_and_is_gone_at_the_end() -> None:
    async with TemporaryServer() as server:
        first = server.dsn
        connection = await asyncpg.connect(first)
        await connection.execute("create table facts (id int primary key)")
        await connection.execute("insert into facts values (1)")

        await server.kill()
        with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            await connection.execute("insert into facts values (2)")
        with pytest.raises(OSError, match="onnect"):
            await count(first)
        await server.start()

        assert server.dsn == first
        assert await count(server.dsn) == 1
        await server.restart_immediate()
        assert await count(server.dsn) == 1

    assert not server.data_dir.exists()
    assert not (await status(server.data_dir)).running
