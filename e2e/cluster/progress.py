"""Progress for people, on stderr only: stdout belongs to the path of the kubeconfig."""

import sys


def say(message: str) -> None:
    """One line of progress."""
    print(f"cluster: {message}", file=sys.stderr, flush=True)
