"""What a view declares once is what HTTP answers, OpenAPI describes and the client reads."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated
from uuid import UUID

import httpx2
import msgspec
import pytest
from fastapi import FastAPI
from starlette.responses import Response

from tests.http.conftest import Person, start
from tidings.domain.flow.item import Channel
from tidings.engine import Engine
from tidings.http.answers import answer
from tidings.http.resource import resource_router
from tidings.http.view_schemas import describe_views, name_of
from tidings.views.campaigns import Campaign
from tidings.views.events import Event
from tidings.views.executions import Execution, LogLine
from tidings.views.outbox import ItemDetail
from tidings.views.pages import Everything, Page
from tidings.views.rules import Rule
from tidings.views.runs import Run
from tidings.views.view import ChannelName, Json, View, doc


class Wheel(View, frozen=True, kw_only=True):
    """A wheel."""

    spoke_count: int = 0


class Cart(View, frozen=True, kw_only=True):
    """A cart."""

    made_by: Annotated[str, doc("Whose work it is.", "Ada")]
    wheels: Sequence[Wheel] = ()
    load: Annotated[Json, doc(example={"hay_bales": 2})]
    sold_to: str | None = None


ADAS = Cart(made_by="Ada", wheels=[Wheel(spoke_count=8)], load={"hay_bales": 2})
AS_JSON = {"madeBy": "Ada", "wheels": [{"spokeCount": 8}], "load": {"hay_bales": 2}, "soldTo": None}


async def test_an_operation_answers_the_view_it_declares_or_a_response_of_its_own() -> None:
    router = resource_router("Carts")

    @router.get("/carts/{id}")
    async def get_cart(id: int) -> Cart | Response:
        return ADAS if id == 1 else answer(ADAS, 202, {"X-Cart": "2"})

    @router.post("/carts", status_code=201)
    async def make_cart() -> Page[Cart]:
        return Page([ADAS], "next")

    app = FastAPI()
    app.router.routes += router.routes
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://x") as http:
        plain, own, made = await http.get("/carts/1"), await http.get("/carts/2"), await http.post("/carts")

    assert (plain.status_code, plain.json()) == (200, AS_JSON)
    assert (own.status_code, own.headers["x-cart"], own.json()) == (202, "2", AS_JSON)
    assert (made.status_code, made.json()) == (201, {"data": [AS_JSON], "nextCursor": "next"})
    answers = app.openapi()["paths"]["/carts"]["post"]["responses"]
    assert answers["201"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/CartList"}


def test_a_component_has_every_field_required_and_an_example_of_its_parts() -> None:
    described = describe_views([Page[Cart], Cart])

    cart = described["Cart"]
    assert described.keys() == {"Cart", "CartList", "Wheel"}
    assert cart["required"] == ["madeBy", "wheels", "load", "soldTo"]
    assert cart["properties"]["madeBy"]["description"] == "Whose work it is."
    assert "default" not in json.dumps(cart)
    [example] = cart["examples"]
    assert example == {"madeBy": "Ada", "wheels": [{"spokeCount": 1}], "load": {"hay_bales": 2}, "soldTo": None}
    assert msgspec.convert(example, Cart).wheels == [Wheel(spoke_count=1)]


@pytest.mark.parametrize(
    ("view", "name"),
    [(Execution, "Execution"), (Page[Execution], "ExecutionList"), (Everything[LogLine], "LogLineList")],
)
def test_a_list_is_called_after_what_is_in_it(name: str, view: object) -> None:
    assert name_of(view) == name


def test_a_view_in_two_kinds_of_list_is_refused() -> None:
    with pytest.raises(TypeError, match="one name would mean two things"):
        describe_views([Page[Cart], Everything[Cart]])


def test_every_example_of_the_api_s_views_is_one(app: FastAPI) -> None:
    schemas = app.openapi()["components"]["schemas"]

    described = [view for view in every_view() if view.__name__ in schemas]
    for view in described:
        [example] = schemas[view.__name__]["examples"]
        assert json.loads(msgspec.json.encode(msgspec.convert(example, view))) == example, view.__name__
    assert {Execution, LogLine, Run, ItemDetail, Campaign, Rule, Event} <= {*described}


def every_view(above: type[View] = View) -> Iterator[type[View]]:
    """Each view of the API, whatever it extends."""
    for view in above.__subclasses__():
        if view.__module__.startswith("tidings.views."):
            yield view
        yield from every_view(view)


async def test_an_answer_has_every_field_that_is_described(
    app: FastAPI, engine: Engine, admin: Person, workflow: UUID
) -> None:
    answered = (await admin.get(f"/v1/executions/{await start(engine)}")).json()

    assert [*answered] == app.openapi()["components"]["schemas"]["Execution"]["required"]


def test_a_channel_in_an_answer_is_described_as_one_of_those_there_are(app: FastAPI) -> None:
    schemas = app.openapi()["components"]["schemas"]

    assert schemas["Run"]["properties"]["channel"]["$ref"] == "#/components/schemas/Channel"
    assert schemas["Channel"]["enum"] == [*Channel]
    assert msgspec.json.decode(b'{"channel": "pigeon"}', type=Told).channel == "pigeon"  # of a newer server


class Told(View, frozen=True, kw_only=True):
    """What names a channel."""

    channel: ChannelName
