"""The templates that campaigns render: checked when a campaign is written, the newest versions wherever it is tried.

Reached from campaigns.py. A run keeps the versions it was deployed with; kernel/campaigns/start_run.py takes them.
"""

from msgspec.structs import replace

from tidings.domain.campaigns.campaign import CampaignDefinition, read_campaign
from tidings.domain.errors import CampaignInvalid
from tidings.domain.flow.ids import Workspace
from tidings.kernel.kernel import Kernel
from tidings.kernel.templates import link_templates
from tidings.storage.campaigns import FoundCampaign


async def check_linked(kernel: Kernel, workspace: Workspace, campaign: CampaignDefinition) -> None:
    """Raise CampaignInvalid for what is wrong with a campaign once all that it renders is in its place."""
    given = {"channel": campaign.channel, "content": campaign.content}
    linked = await link_templates(kernel, workspace, given)
    _, problems = read_campaign(linked.given, campaign) if linked.frozen else (None, [])
    if problems := [*linked.problems, *problems]:
        raise CampaignInvalid(problems)


async def link_campaign(kernel: Kernel, workspace: Workspace, found: FoundCampaign) -> FoundCampaign:
    """Return a campaign with the newest versions of all that it renders in its content."""
    linked = await link_templates(kernel, workspace, {"content": found.content}, is_stored=True)
    return replace(found, **linked.read(lambda given: given))
