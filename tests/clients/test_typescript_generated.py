"""The TypeScript client's types and methods are those of the API as it is now."""

from pathlib import Path

import pytest

from tools import typescript

SOURCES = typescript.SOURCES


@pytest.mark.parametrize("name", ["schema.ts", "resources.ts"])
def test_the_client_s_types_and_methods_are_those_of_the_api(name: str, tmp_path: Path) -> None:
    made = {path.name: path.read_text() for path in typescript.write(tmp_path)}

    same = made[name] == (SOURCES / name).read_text()

    assert same, (
        f"the API has changed: run `make typescript`, and look at the difference of {name} before you commit it"
    )
