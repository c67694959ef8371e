"""/v1/node-types: what an editor of workflows, campaigns, rules and sequences makes its forms of."""

from tidings.domain.workflows.forms import node_types
from tidings.http.access import DefinitionReader
from tidings.http.resource import resource_router
from tidings.views.node_types import NodeTypes

router = resource_router("Workflows")


@router.get("/v1/node-types")
async def list_node_types(_context: DefinitionReader) -> NodeTypes:
    """The form of each node type and of each channel's content as a JSON schema, and the words of Liquid.

    The parser goes by the same tables: what a form does not have is refused, and what it has is accepted.
    """
    return node_types()
