"""What decides whether an image is built again, and what its build may rest on."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.images import LOCKS, OPERATOR, ROOT, digest

BASE = "localhost/base:1"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small stand-in for the files that the operator's image is made of."""
    for name in OPERATOR.inputs:
        path = tmp_path / name / "part.py" if name == "operator" else tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def change(root: Path) -> None:
    (root / "operator" / "part.py").write_text("changed")


def add(root: Path) -> None:
    (root / "operator" / "new.py").write_text("")


def rename(root: Path) -> None:
    (root / "operator" / "part.py").rename(root / "operator" / "other.py")


def lock(root: Path) -> None:
    (root / "requirements-operator.lock").write_text("other")


def compile_(root: Path) -> None:
    (root / "operator" / "__pycache__").mkdir()
    (root / "operator" / "__pycache__" / "part.pyc").write_bytes(b"code")


def document(root: Path) -> None:
    (root / "docs.md").write_text("words")


@pytest.mark.parametrize(
    ("act", "is_new"),
    [
        pytest.param(change, True, id="a changed file"),
        pytest.param(add, True, id="an added file, be it empty"),
        pytest.param(rename, True, id="a renamed file"),
        pytest.param(lock, True, id="another dependency"),
        pytest.param(compile_, False, id="byte code"),
        pytest.param(document, False, id="a file that isn't in it"),
    ],
)
def test_a_tag_is_new_for_new_content_only(checkout: Path, act: Callable[[Path], None], is_new: bool) -> None:
    before = digest(OPERATOR, base=BASE, root=checkout)
    act(checkout)
    assert (digest(OPERATOR, base=BASE, root=checkout) != before) == is_new


def test_another_base_is_another_image(checkout: Path) -> None:
    assert digest(OPERATOR, base=BASE, root=checkout) != digest(OPERATOR, base="other", root=checkout)


@pytest.mark.parametrize("name", LOCKS)
def test_locked_packages_have_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    packages = re.findall(r"^[\w.-]+==.*?(?=^[\w.-]+==|\Z)", text, re.MULTILINE | re.DOTALL)
    assert packages
    assert all("--hash=sha256:" in package for package in packages)


def test_the_build_is_locked_to_the_build_systems_own_requirements() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"]
    assert all(f"{one} " in (ROOT / LOCKS[0]).read_text() for one in project["build-system"]["requires"])


def test_the_operators_image_has_what_it_imports_and_nothing_for_development() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / LOCKS[1]).read_text(), re.MULTILINE))

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=~!;\[ ]", one)[0].lower() for one in requirements}

    assert names(project["dependencies"]) <= locked
    assert not locked & {"pytest", "mypy", "ruff", "hypothesis", "hatchling", "uv"}
