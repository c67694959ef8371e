"""What templates print is what LiquidJS prints: facts from the real one, and the differences that we want.

`liquidjs/table.json` holds (template, result) under the names of filters and tags; `liquidjs/make_table.mjs` made it.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tidings.domain.content.template import RenderFailed, check, render
from tidings.domain.errors import TemplateInvalid

TABLE: Mapping[str, Any] = json.loads((Path(__file__).parent / "liquidjs" / "table.json").read_text())
FACTS: Mapping[str, list[tuple[str, object]]] = TABLE["facts"]
NOW = datetime.fromisoformat(TABLE["now"])
DOCS = (Path(__file__).parents[2] / "docs" / "reference" / "templates.md").read_text()

# What docs/reference/templates.md says of each difference, and the facts it concerns.
DIFFERENCES: Mapping[str, set[str]] = {
    "A missing variable fails": {
        "{{ nobody }}",
        "{{ user.nobody }}",
        "{{ nobody.name }}",
        "{{ nobody | upcase }}",
    },
    "Dividing by 0 fails": {"{{ n | divided_by: 0 }}", "{{ n | modulo: 0 }}"},
    "A wrong number of arguments is refused": {"{{ name | upcase: 1 }}", "{{ name | plus }}"},
    "Whole numbers stay exact": {
        "{{ big | times: big }}",
        "{{ 100000000000 | times: 10000000000 }}",
        "{{ 9007199254740993 }}",
    },
    "A date keeps its own zone": {"{{ '2026-05-06T07:08:09+02:00' | date: '%H:%M %z' }}"},
    "A time of day is today's": {"{{ '12:30' | date: '%H' }}"},
    "A day that does not exist is no date": {"{{ '2026-02-30' | date: '%Y-%m-%d' }}"},
    "More codes of `date`": {f"{{{{ when | date: '%{code}' }}}}" for code in "FDTRrGV"},
    "A character is never cut in half": {"{{ emoji | split: '' | first }}"},
    "`else` runs when `limit` leaves nothing": {
        "{% for x in numbers limit:0 %}{{ x }}{% else %}none{% endfor %}|",
        "{% for x in numbers limit:nothing %}{{ x }}{% else %}none{% endfor %}",
    },
    "`url_decode` takes what is not encoded": {"{{ '50%' | url_decode }}"},
}
ALLOWED = {template for templates in DIFFERENCES.values() for template in templates}


@pytest.fixture(params=["UTC", "Asia/Kolkata", "America/St_Johns"])
def machine_zone(request: pytest.FixtureRequest) -> Iterator[str]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


def printed(template: str) -> str | RenderFailed:
    """What a template that may be published prints."""
    try:
        check(template, html=False)
    except TemplateInvalid as error:
        return RenderFailed(str(error))
    return render(template, TABLE["data"], html=False, now=NOW)


def agrees(template: str, result: object) -> bool:
    """Whether both print the same, or both fail."""
    ours = printed(template)
    return isinstance(result, dict) if isinstance(ours, RenderFailed) else ours == result


@pytest.mark.parametrize("group", FACTS)
def test_templates_print_what_liquidjs_prints(group: str) -> None:
    different = {template for template, result in FACTS[group] if not agrees(template, result)}

    assert different == {template for template, _ in FACTS[group]} & ALLOWED


def test_the_table_is_large_and_nearly_all_of_it_agrees() -> None:
    templates = [template for facts in FACTS.values() for template, _ in facts]

    assert len(templates) == len(set(templates)) > 1_000
    assert set(templates) >= ALLOWED
    assert len(ALLOWED) < 0.03 * len(templates)


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_every_difference_is_documented(difference: str) -> None:
    assert f"| {difference} |" in DOCS


@pytest.mark.parametrize("group", ["date", "date format", "date_to_string"])
def test_dates_do_not_depend_on_the_zone_of_the_machine(group: str, machine_zone: str) -> None:
    different = {template for template, result in FACTS[group] if not agrees(template, result)}

    assert machine_zone
    assert different <= ALLOWED
