"""A run's dependency graph as trees: what each task waits for stands above it.

A graph isn't a tree, and a task drawn under each of its dependencies would fill a screen with repeats. So
each stands once, under the first name of its dependsOn, and names the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.decisions.naming import needs
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.views.tasks import reason
from kubectl_bernstein.views.view import Forest, Node, View


def tree_view(scene: Scene, run: RunObject) -> View:
    """Return the graph of ``run``."""
    tasks = _by_name(scene, run)
    parents = {name: next(iter(needs(task)), None) for name, task in tasks.items()}
    strangers = dict.fromkeys(need for task in tasks.values() for need in needs(task) if need not in tasks)
    nodes = [
        *(Node(name, (name, _absence(name, tasks.values()))) for name in strangers),
        *(Node(name, _cells(task, parents[name]), parents[name]) for name, task in tasks.items()),
    ]
    data = {
        "namespace": run.meta.namespace,
        "run": run.meta.name,
        "phase": run.status.phase,
        "tasks": [_data(name, task) for name, task in tasks.items()],
    }
    return View(data, Forest(f"{run.meta.name}  {run.status.phase}", tuple(_cut_circles(nodes))))


def _by_name(scene: Scene, run: RunObject) -> dict[str, TaskObject]:
    names = dict.fromkeys(task.name for task in scene.tasks_of(run.meta.key))
    owners = ((name, scene.owner_of(run.meta.key, name)) for name in names)
    return {name: task for name, task in owners if task}


def _cells(task: TaskObject, parent: str | None) -> tuple[str, ...]:
    others = ", ".join(name for name in needs(task) if name != parent)
    told = (task.name, task.status.phase, reason(task), f"(after {others}, too)" if others else "")
    return tuple(cell for cell in dict.fromkeys(told) if cell)


def _absence(name: str, tasks: Iterable[TaskObject]) -> str:
    """Say why no task of the run has the name, from what those that depend on it remember."""
    remembered = [one for task in tasks for one in task.status.dependencies if one.name == name and one.uid]
    if any(one.succeeded for one in remembered):
        return "deleted, after it succeeded"
    return "deleted, before it succeeded" if remembered else "no task of the run has this name"


def _data(name: str, task: TaskObject) -> dict[str, Any]:
    return {
        "name": name,
        "task": task.meta.name,
        "phase": task.status.phase,
        "reason": reason(task) or None,
        "dependsOn": list(needs(task)),
    }


def _cut_circles(nodes: Sequence[Node]) -> Iterable[Node]:
    """Make a root of one member of each circle: without one nothing of it could be drawn."""
    parents = {node.name: node.parent for node in nodes}
    for node in nodes:
        if _leads_back(node.name, parents):
            parents[node.name] = None
    return (Node(node.name, node.cells, parents[node.name]) for node in nodes)


def _leads_back(name: str, parents: Mapping[str, str | None]) -> bool:
    """Whether the way up from ``name`` comes to it again."""
    seen: set[str] = set()
    above = parents[name]
    while above is not None and above not in seen:
        if above == name:
            return True
        seen.add(above)
        above = parents[above]
    return False
