"""`kubectl bernstein` as a user has it: the real kubectl, which finds the installed plugin on the PATH."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPTS = Path(sys.executable).parent
"""Where the distribution's console scripts were installed beside this Python."""


@dataclass(frozen=True)
class Answer:
    """What a command has said."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Plugin:
    """``kubectl bernstein`` in one namespace; ``home`` keeps its caches apart from the user's own."""

    kubectl: Path
    kubeconfig: Path
    namespace: str
    home: Path

    def ask(self, *arguments: str) -> Answer:
        """Run ``kubectl bernstein ARGUMENTS`` in the namespace and return all that it says."""
        return self.kubectl_says("bernstein", *arguments, "--namespace", self.namespace)

    def __call__(self, *arguments: str) -> str:
        """Return what it prints; AssertionError if it fails."""
        answer = self.ask(*arguments)
        assert answer.code == 0, f"kubectl bernstein {' '.join(arguments)}: {answer}"
        return answer.out

    def json(self, *arguments: str) -> Any:
        """Return what it prints for programs."""
        return json.loads(self(*arguments, "--output", "json"))

    def refusal(self, *arguments: str) -> str:
        """Return the one line that it fails with; AssertionError if it fails in any other way."""
        answer = self.ask(*arguments)
        lines = answer.err.splitlines()
        assert (answer.code, answer.out, len(lines)) == (1, "", 1), answer
        return lines[0]

    def kubectl_says(self, *arguments: str) -> Answer:
        """Run kubectl itself, with the plugin on its PATH."""
        done = subprocess.run(
            [str(self.kubectl), *arguments],
            env={
                "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(self.home),
                "KUBECONFIG": str(self.kubeconfig),
                # The checkout under test may be another one than the installed.
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)
