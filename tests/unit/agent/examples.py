"""Examples of both documents, as JSON objects that a test may change, and as values."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bernstein_agent.contract import (
    GitIdentity,
    Payload,
    Reason,
    Repository,
    Result,
    ResultClass,
    ResultSubject,
)

GOLDEN = Path(__file__).parent / "golden"
SCHEMAS = Path(__file__).parents[3] / "operator" / "bernstein_agent" / "schemas"

Change = Callable[[dict[str, Any]], object]


def document(name: str, change: Change = lambda _: None) -> dict[str, Any]:
    """Return a golden document, changed in place by ``change``."""
    fields: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    changed = copy.deepcopy(fields)
    change(changed)
    return changed


def payload(**changes: Any) -> Payload:
    """Return the work of a task, in a repository."""
    usual: dict[str, Any] = {
        "goal": "A parser",
        "title": "Build the parser",
        "prompt": "Do it.",
        "role": "backend",
        "run": "demo",
        "task": "build",
        "attempt": 1,
        "timeout_seconds": 90,
        "repository": Repository(
            url="https://git.example.com/x.git",
            ref="main",
            branch="bernstein/demo/build",
            rescue_branch="bernstein/demo/build.rescue-1",
        ),
        "adapter": "script",
        "git": GitIdentity(author_name="Agent", author_email="agent@example.com"),
    }
    return Payload(**{**usual, **changes})


def result(**changes: Any) -> Result:
    """Return a success."""
    usual: dict[str, Any] = {
        "subject": ResultSubject(id="build-3f2a91-a1", attempt=1),
        "result_class": ResultClass.SUCCESS,
        "reason": Reason.COMPLETED,
    }
    return Result(**{**usual, **changes})
