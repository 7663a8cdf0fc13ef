"""What the tree itself must hold to.

A folder called ``operator`` is harmless only as long as Python doesn't take it for the module of that name:
one ``__init__.py`` or ``conftest.py`` directly in it breaks Python itself, and the tests that would show it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"bernstein_operator", "bernstein_agent", "kubectl_bernstein"}
MAX_LINES = 400


def test_the_operator_folder_holds_only_packages() -> None:
    assert {path.name for path in (ROOT / "operator").iterdir() if path.name != "__pycache__"} == PACKAGES


def test_the_standard_operator_module_is_loaded_from_the_root() -> None:
    code = "import operator, collections; print(operator.__file__)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert str(ROOT) not in found.stdout


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "operator").rglob("*.py")),
    ids=lambda path: str(path.relative_to(ROOT / "operator")),
)
def test_a_module_is_short_and_says_why_it_exists(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_LINES
    assert not text.strip() or text.startswith(('"""', "#!"))


def test_the_lock_holds_hashes_and_no_place_to_fetch_from() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if "==" in line and not line.startswith((" ", "#"))]
    assert pins
    assert all(line.endswith("\\") for line in pins), "a pin without hashes"
    assert not [line for line in lines if "://" in line or "find-links" in line or "index-url" in line]
