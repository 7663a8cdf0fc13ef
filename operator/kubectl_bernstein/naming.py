"""Which object a person means by a word on the command line.

A task goes by two names: the object's, which kubectl shows, and the one that dependsOn uses. Both are taken
where only one task answers to the word; a guess between two would cancel the wrong one.
"""

from collections.abc import Iterator
from typing import Final, TypeVar

from bernstein_operator.api import kinds
from bernstein_operator.api.kinds import Kind
from bernstein_operator.api.names import GROUP
from bernstein_operator.api.objects import RunObject, TaskObject
from kubectl_bernstein.errors import CommandError
from kubectl_bernstein.scene import Scene

_Found = TypeVar("_Found", bound=RunObject | TaskObject)
_SHORT: Final = {kinds.RUN.kind: "run", kinds.TASK.kind: "task"}


def kind_of(found: RunObject | TaskObject) -> Kind:
    """Return the kind that an object is of."""
    return kinds.RUN if isinstance(found, RunObject) else kinds.TASK


def reference(found: RunObject | TaskObject) -> str:
    """Return what kubectl calls an object: ``agenttask/hello-check``."""
    return f"{kind_of(found).kind.lower()}/{found.meta.name}"


def find_run(scene: Scene, word: str) -> RunObject:
    """Return the run that ``word`` names (``hello``, ``bernsteinrun/hello``); CommandError if none does."""
    name = _bare(word, kinds.RUN)
    found = [run for run in scene.runs.values() if run.meta.name == name]
    if not found:
        raise CommandError(f"there is no BernsteinRun {name!r} in this namespace")
    return found[0]


def name_of_run(word: str) -> str:
    """Return the name in ``word``, whether or not there is such a run any more."""
    return _bare(word, kinds.RUN)


def find_task(scene: Scene, word: str) -> TaskObject:
    """Return the task that ``word`` names, by its object's name or by its own; CommandError else."""
    found = list(_tasks(scene, _bare(word, kinds.TASK)))
    if not found:
        raise CommandError(f"there is no AgentTask {word!r} in this namespace")
    return _only(word, found)


def find_target(scene: Scene, word: str) -> RunObject | TaskObject:
    """Return the run or task that ``word`` names; CommandError where it names none, or several."""
    if _is_of(word, kinds.RUN):
        return find_run(scene, word)
    if _is_of(word, kinds.TASK):
        return find_task(scene, word)
    runs = (run for run in scene.runs.values() if run.meta.name == word)
    found: list[RunObject | TaskObject] = [*runs, *_tasks(scene, word)]
    if not found:
        raise CommandError(f"there is no BernsteinRun or AgentTask {word!r} in this namespace")
    return _only(word, found)


def pod_of(task: TaskObject, attempt: int | None) -> str:
    """Return the Pod of an attempt's number, None for the latest; CommandError where it has none."""
    pods = {one.number: one.pod_name for one in task.status.attempts}
    if not pods:
        raise CommandError(f"{reference(task)} has had no attempt yet")
    number = attempt or max(pods)
    if number not in pods:
        raise CommandError(f"{reference(task)} has the attempts {min(pods)} to {max(pods)}, not {number}")
    return pods[number]


def _tasks(scene: Scene, name: str) -> Iterator[TaskObject]:
    """Yield the task whose object has the name, else who has it in each run."""
    exact = [task for task in scene.tasks if task.meta.name == name]
    if exact:
        yield from exact
        return
    runs = dict.fromkeys(task.run_key for task in scene.tasks if task.run_key and task.name == name)
    for run in runs:
        found = scene.owner_of(run, name)
        if found:
            yield found


def _only(word: str, found: list[_Found]) -> _Found:
    if len(found) > 1:
        raise CommandError(f"{word!r} may mean {' or '.join(reference(one) for one in found)}: say which")
    return found[0]


def _is_of(word: str, kind: Kind) -> bool:
    prefix, slash, _ = word.partition("/")
    names = (kind.kind.lower(), kind.plural, kind.short_name, f"{kind.plural}.{GROUP}", _SHORT[kind.kind])
    return bool(slash) and prefix.lower() in names


def _bare(word: str, kind: Kind) -> str:
    return word.partition("/")[2] if _is_of(word, kind) else word
