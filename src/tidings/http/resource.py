"""The router of one resource: its operations under one tag, each called by the name of its function."""

from fastapi import APIRouter
from fastapi.routing import APIRoute


def resource_router(tag: str) -> APIRouter:
    """A router whose operations are described under a tag."""
    return APIRouter(tags=[tag], generate_unique_id_function=_operation_id)


def _operation_id(route: APIRoute) -> str:
    return route.name
