"""The table of deliberate breaks is never stale: `make mutants` takes minutes, this takes none."""

import ast
from collections import Counter

import pytest

from tests.mutants.breaks import ROOT, Break
from tests.mutants.filters import CHANGE_NOTHING
from tests.mutants.table import every_break

BREAKS = every_break()


@pytest.mark.parametrize("broken", BREAKS, ids=[one.name for one in BREAKS])
def test_the_text_of_a_break_occurs_once_in_its_file_and_what_replaces_it_is_another(broken: Break) -> None:
    assert broken.broken() != (ROOT / broken.path).read_text()
    if broken.path.suffix == ".py":
        ast.parse(broken.broken())


def test_a_break_is_asked_for_by_a_name_of_its_own() -> None:
    assert [name for name, times in Counter(one.name for one in BREAKS).items() if times > 1] == []


def test_the_tests_that_must_fail_are_there() -> None:
    for test in {test for one in BREAKS for test in one.tests}:
        file, _, name = test.partition("::")
        assert f"def {name}{'(' if name else 'test_'}" in (ROOT / file).read_text(), test


def test_every_comparison_of_fences_is_tried_or_said_to_change_nothing() -> None:
    names = {one.name for one in BREAKS if one.name.startswith("fence-")}

    assert len(names) >= 18
    assert not names & CHANGE_NOTHING.keys()
