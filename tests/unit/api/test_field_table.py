"""A field exists only together with behaviour, and with a test that shows it acting.

``tests/field_tests.yaml`` says which test that is. Here it is held against both sides: every field of the
committed CRDs is in it, it names no field that is gone, and each test that it names exists.
"""

import ast
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.support.crd_fields import leaves

REPOSITORY: Final = Path(__file__).parents[3]
TABLE: Final[dict[str, dict[str, list[str]]]] = yaml.safe_load(
    (REPOSITORY / "tests" / "field_tests.yaml").read_text(encoding="utf-8")
)
TESTS: Final = sorted({test for tests in TABLE.values() for test in tests})


def listed() -> list[tuple[str, str]]:
    return [(kind, field) for kind, tests in TABLE.items() for fields in tests.values() for field in fields]


def functions(path: Path) -> set[str]:
    definitions = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else ()
    return {node.name for node in definitions if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_field_has_a_test() -> None:
    assert {(leaf.kind, leaf.path) for leaf in leaves()} - set(listed()) == set()


def test_every_listed_field_exists() -> None:
    assert set(listed()) - {(leaf.kind, leaf.path) for leaf in leaves()} == set()


@pytest.mark.parametrize("test", TESTS, ids=TESTS)
def test_the_named_test_exists(test: str) -> None:
    path, function = test.split("::")
    assert function.startswith("test_")
    assert function in functions(REPOSITORY / path)
