"""A record of what the world asks to be looked at again."""

from bernstein_operator.api.objects import Key


class Marked:
    """Keeps what was marked since it was last asked."""

    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self.runs: set[str] = set()
        self.profiles: set[str] = set()
        self.namespaces: list[str] = []

    def task(self, key: Key) -> None:
        """Keep a task's name."""
        self.tasks.add(key[1])

    def run(self, key: Key) -> None:
        """Keep a run's name."""
        self.runs.add(key[1])

    def profile(self, key: Key) -> None:
        """Keep a profile's name."""
        self.profiles.add(key[1])

    def freed(self, namespace: str) -> None:
        """Keep a namespace in which a slot was freed."""
        self.namespaces.append(namespace)

    def forget(self) -> None:
        """Start anew."""
        self.__init__()  # type: ignore[misc]
