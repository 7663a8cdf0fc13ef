"""The environment that an agent's program gets.

It should see what its profile gives it and nothing of the machinery around it. The container's environment
is the profile's plus what Kubernetes and the operator add, so those two are taken out by their prefixes, and
the few facts that a program may want to know are put in.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bernstein_agent.contract import Payload
from bernstein_agent.mailbox import LETTER_FILE, NOTICES_FILE, Mailbox

HIDDEN_PREFIXES: Final = ("BERNSTEIN_", "KUBERNETES_")
"""Variables of the operator's and Kubernetes' own."""

PROMPT_FILE: Final = "BERNSTEIN_PROMPT_FILE"
ATTEMPT: Final = "BERNSTEIN_ATTEMPT"
MODEL: Final = "BERNSTEIN_MODEL"
EFFORT: Final = "BERNSTEIN_EFFORT"

TASK_BUDGETS: Final = "BERNSTEIN_ANTHROPIC_TASK_BUDGETS"
"""Variable that opts in to the beta below."""
TASK_BUDGETS_BETA: Final = "task-budgets-2026-03-13"
SWITCHED_ON: Final = frozenset({"1", "true", "yes", "on"})
_BETA_VARIABLES: Final = ("ANTHROPIC_BETA", "ANTHROPIC_BETAS")
"""The published name, and the one that the provider's program reads today."""

_DEFAULTS: Final = {"PATH": os.defpath, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108


def child_environment(
    environ: Mapping[str, str], *, payload: Payload, home: Path, prompt_file: Path, mailbox: Mailbox
) -> dict[str, str]:
    """Return what the program of ``payload`` sees, made from the container's ``environ``."""
    profile = {name: value for name, value in environ.items() if not name.startswith(HIDDEN_PREFIXES)}
    given = {**_DEFAULTS, **profile}
    own = {
        "PATH": f"{mailbox.programs}{os.pathsep}{given['PATH']}",
        "HOME": str(home),
        LETTER_FILE: str(mailbox.letter),
        NOTICES_FILE: str(mailbox.notices),
    }
    return {**given, **own, **_facts(payload, prompt_file), **_betas(environ)}


def _betas(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what opts in to the provider's own countdown, beside whatever else was opted in to."""
    if environ.get(TASK_BUDGETS, "").strip().lower() not in SWITCHED_ON:
        return {}
    return {name: _with_beta(environ.get(name, "")) for name in _BETA_VARIABLES}


def _with_beta(given: str) -> str:
    names = [name.strip() for name in given.split(",")]
    if TASK_BUDGETS_BETA in names:
        return given
    return f"{given},{TASK_BUDGETS_BETA}" if given else TASK_BUDGETS_BETA


def _facts(payload: Payload, prompt_file: Path) -> dict[str, str]:
    facts = {
        PROMPT_FILE: str(prompt_file),
        "BERNSTEIN_RUN": payload.run,
        "BERNSTEIN_TASK": payload.task,
        "BERNSTEIN_ROLE": payload.role,
        ATTEMPT: str(payload.attempt),
        MODEL: payload.model,
        EFFORT: payload.effort,
        "BERNSTEIN_BRANCH": payload.repository.branch if payload.repository else None,
    }
    return {name: value for name, value in facts.items() if value is not None}
