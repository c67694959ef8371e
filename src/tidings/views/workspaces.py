"""What the operator sets for tenants and workspaces."""

from typing import Annotated

from tidings.views.view import Time, View, doc


class WorkspaceSettings(View, frozen=True, kw_only=True):
    """A workspace: its part of what is scarce, and the private addresses that its URLs may have."""

    tenant: Annotated[str, doc(example="acme")]
    workspace: Annotated[str, doc(example="default")]
    weight: Annotated[int, doc("Its part beside the tenant's other workspaces, from 1 to 1000.", 1)] = 1
    tenant_weight: Annotated[int, doc("The tenant's part beside other tenants, from 1 to 1000.", 1)] = 1
    private_addresses: Annotated[
        list[str],
        doc("Networks, addresses and host names that are private and may be called.", ["10.1.0.0/16"]),
    ] = []
    phone_region: Annotated[
        str | None,
        doc("The country of phone numbers that have no country's code; null for the installation's own.", "DE"),
    ] = None
    updated_at: Annotated[Time | None, doc("When somebody last set something; null while these are the defaults.")] = (
        None
    )


class TenantSettings(View, frozen=True, kw_only=True):
    """A tenant: its part of what is scarce."""

    tenant: Annotated[str, doc(example="acme")]
    weight: Annotated[int, doc("Its part beside other tenants, from 1 to 1000.", 1)] = 1
    updated_at: Time | None = None
