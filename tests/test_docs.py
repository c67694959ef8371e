"""What the documents show is what the engine takes."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
import yaml

from tests.pages import DOCS, PAGES, ROOT, fences
from tidings.domain.channels import MESSAGE_CHANNELS
from tidings.domain.comparison import Op
from tidings.domain.flow.graph import NodeType
from tidings.domain.people.audience import read_audience
from tidings.domain.people.audience_filter import LEAVES, TEXT_PATHS, TIME_PATHS
from tidings.domain.people.filter_expression import read_where
from tidings.resources.rules import Rules
from tidings.resources.workflows import Workflows

REQUIREMENTS = (ROOT / "tests" / "requirements" / "README.md").read_text()
REFERENCE = DOCS / "reference"
HOW_TO = DOCS / "how-to"
RULES = [*fences(REFERENCE / "rules.md", "yaml"), *fences(HOW_TO / "react-to-events.md", "yaml")]
DEFINITION = REFERENCE / "workflow-definition.md"
TEXT = DEFINITION.read_text()
BLOCKS = [
    yaml.safe_load(block) for block in [*fences(DEFINITION, "yaml"), *fences(HOW_TO / "write-a-workflow.md", "yaml")]
]
ABOUT = {"name", "description", "active"}
NODES = [yaml.safe_load(node) for node in re.findall(r"\| `(\{id: a, type: .*?\})` \|", TEXT)]
TYPES = {*MESSAGE_CHANNELS, *NodeType}


def graph(*nodes: dict[str, Any], edges: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """These nodes one after the other, or as the edges say."""
    chain = [{"from": one["id"], "to": other["id"]} for one, other in pairwise(nodes)]
    return {"entryNodeId": nodes[0]["id"], "nodes": list(nodes), "edges": chain if edges is None else edges}


@pytest.mark.parametrize("block", [block for block in BLOCKS if "name" in block], ids=lambda block: block["name"])
def test_a_workflow_in_the_documentation_is_valid(block: dict[str, Any]) -> None:
    assert Workflows.validate({key: value for key, value in block.items() if key not in ABOUT}) == []


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if "name" not in block], ids=lambda block: type(block).__name__
)
def test_a_part_of_a_workflow_in_the_documentation_is_valid(block: Any) -> None:
    definition = graph(*block) if isinstance(block, list) else graph(*block["nodes"], edges=block["edges"])

    assert Workflows.validate(definition) == []


def test_every_type_of_node_has_an_example() -> None:
    assert {node["type"] for node in NODES} == TYPES


@pytest.mark.parametrize("node", NODES, ids=lambda node: node["type"])
def test_an_example_of_a_node_is_valid(node: dict[str, Any]) -> None:
    after = {"id": "b", "type": "delay", "delayMs": 1}
    condition = {"condition": {"path": "x", "op": "exists"}} if node["type"] == "branch" else {}

    assert Workflows.validate(graph(node, after, edges=[{"from": "a", "to": "b", **condition}])) == []


def test_every_json_in_the_documentation_can_be_read() -> None:
    blocks = [block for page in PAGES for block in fences(page, "json")]

    assert [json.loads(block) for block in blocks]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_in_the_documentation_is_valid(rule: str) -> None:
    assert Rules.validate(yaml.safe_load(rule)) == []


def test_no_example_makes_a_key_of_an_address() -> None:
    """A key is kept for ever, also when its person is erased."""
    made_of_one = re.compile(
        r"(?:idempotency_?key|--key)\b.{0,12}[\"'{ ][\w.{}-]*(?:@|e?mail\b|phone\b)", re.IGNORECASE
    )
    files = [*PAGES, *(ROOT / "examples").rglob("*.py"), *(ROOT / "src" / "tidings").rglob("*.py")]

    assert {str(one): found for one in files if (found := made_of_one.findall(one.read_text()))} == {}
    assert made_of_one.search('"idempotencyKey": "signup-ada@example.com"')
    assert made_of_one.search('idempotency_key=f"signup-{email}"')


def test_whatever_the_table_of_requirements_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", REQUIREMENTS))
    modules = set(
        re.findall(r"(?<![\w/])((?:domain|kernel|resources|storage|http|worker)/[\w/]+\.(?:py|sql))", REQUIREMENTS)
    )
    missing = {(file, test) for file, test in named if not re.search(rf"def {test}\b", _source(file))}

    assert len(named) > 150
    assert missing == set()
    assert {module for module in modules if not (ROOT / "src" / "tidings" / module).exists()} == set()


def _source(file: str) -> str:
    path = ROOT / file
    return path.read_text() if path.exists() else ""


FILTERS = REFERENCE / "filters.md"
SHOWN_FILTERS = re.findall(r"^\| `(\{.*?\})` \|", FILTERS.read_text(), re.MULTILINE)
EXPRESSIONS = [line for block in fences(FILTERS, "") for line in block.splitlines()]


@pytest.mark.parametrize("given", [json.loads(one) for one in SHOWN_FILTERS], ids=str)
def test_a_filter_in_the_documentation_is_valid(given: dict[str, Any]) -> None:
    given = {name: value for name, value in given.items() if name not in {"contactIds", "excludeContactIds"}}

    assert read_audience(given)[1] == []


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_in_the_documentation_is_valid(text: str) -> None:
    assert read_audience(read_where(text, "where"))[1] == []


def test_the_page_of_filters_has_every_leaf_operator_and_path() -> None:
    page = FILTERS.read_text()
    leaves = [name for name, leaf in LEAVES.items() if leaf.for_audiences]

    assert [name for name in leaves if not any(f'"{name}": ' in one for one in SHOWN_FILTERS)] == []
    assert [name for name in (*Op, *TEXT_PATHS, *TIME_PATHS) if f"`{name}`" not in page] == []


def test_the_condition_of_the_page_of_filters_is_valid() -> None:
    [condition] = [yaml.safe_load(block) for block in fences(FILTERS, "yaml")]
    branch, after = {"id": "a", "type": "branch"}, {"id": "b", "type": "delay", "delayMs": 1}

    assert Workflows.validate(graph(branch, after, edges=[{"from": "a", "to": "b", "condition": condition}])) == []
