"""Ids as the driver returns them: a subclass of UUID that is made, hashed, compared and written several times faster.

An item's id is a key of some dozen mappings on its way out; ids of our own making must not be the slow ones among them.
"""

from uuid import UUID

from asyncpg.pgproto.pgproto import UUID as DriverUUID  # noqa: N811


def driver_uuid(bits: int) -> UUID:
    """The id that has these 128 bits."""
    return DriverUUID(bits.to_bytes(16, "big"))
