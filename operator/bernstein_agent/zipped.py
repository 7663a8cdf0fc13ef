"""Where this program itself is: inside a zipapp, or in a directory of packages.

The init container hands it on, and the scripted agent is started from it, so it has to find itself in both.
"""

import sys
from pathlib import Path
from typing import Final

import bernstein_agent

ARCHIVE_NAME: Final = "bernstein-agent.pyz"


def archive() -> Path | None:
    """Return the zipapp that this program runs from, None where it runs from a directory."""
    root = Path(bernstein_agent.__file__).parents[1]
    return root if root.is_file() else None


def own_command() -> tuple[str, ...]:
    """Return program and arguments that start this program again; a verb is still to be added.

    Neither the environment nor the current directory, both of which are the agent's, can get between.
    """
    found = archive()
    return (sys.executable, "-I", str(found)) if found else (sys.executable, "-P", "-m", "bernstein_agent")
