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
from bernstein_agent.mailbox import LETTER_FILE, Mailbox

HIDDEN_PREFIXES: Final = ("BERNSTEIN_", "KUBERNETES_")
"""Variables of the operator's and Kubernetes' own."""

PROMPT_FILE: Final = "BERNSTEIN_PROMPT_FILE"
ATTEMPT: Final = "BERNSTEIN_ATTEMPT"
MODEL: Final = "BERNSTEIN_MODEL"
EFFORT: Final = "BERNSTEIN_EFFORT"

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
    }
    return {**given, **own, **_facts(payload, prompt_file)}


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
