"""Whether a task waits, over others, for itself.

A cycle can't ever start, so its members are told so by name instead of waiting for good; everything else in
the run goes on and the run still ends.
"""

from collections import deque
from collections.abc import Callable, Iterable


def cycle_through(name: str, needs: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """Return the members of the shortest cycle that ``name`` is part of, each before what it needs.

    ``needs`` gives what a task still waits for. The member with the first name in order comes first, so that
    all members tell the cycle in the same words. Empty where there is none. Visits each task once and
    doesn't recurse.
    """
    reached_from: dict[str, str] = {}
    queue = deque([name])
    while queue:
        current = queue.popleft()
        for need in needs(current):
            if need == name:
                return _rotated(_path(name, current, reached_from))
            if need not in reached_from:
                reached_from[need] = current
                queue.append(need)
    return ()


def _path(start: str, end: str, reached_from: dict[str, str]) -> list[str]:
    path = [end]
    while path[-1] != start:
        path.append(reached_from[path[-1]])
    return path[::-1]


def _rotated(path: list[str]) -> tuple[str, ...]:
    first = path.index(min(path))
    return (*path[first:], *path[:first])
