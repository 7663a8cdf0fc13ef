"""What was read of the cluster, put together as the operator would see it.

The operator decides from a snapshot of everything that concerns a task. The same snapshot, made here from
lists, lets its own rules answer why a task waits; nothing is guessed twice. What only the operator knows
(slots that it has granted, Pods that the API server refused) is left out and read from the conditions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import Key, ProfileObject, RunObject, TaskObject
from bernstein_operator.api.snapshot import Dependency, TaskSnapshot
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.graph import cycle_through
from bernstein_operator.decisions.naming import dependency, needs, owner, unmet


@dataclass(frozen=True)
class Scene:
    """Runs, tasks and profiles at one moment, of one namespace or of all."""

    tasks: tuple[TaskObject, ...] = ()
    runs: Mapping[Key, RunObject] = field(default_factory=dict)
    profiles: Mapping[Key, ProfileObject] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        *,
        tasks: Iterable[TaskObject] = (),
        runs: Iterable[RunObject] = (),
        profiles: Iterable[ProfileObject] = (),
    ) -> "Scene":
        """Return the scene of these objects; tasks stand by run, then by age."""
        return cls(
            tasks=tuple(sorted(tasks, key=_place)),
            runs={run.meta.key: run for run in runs},
            profiles={profile.meta.key: profile for profile in profiles},
        )

    def run_of(self, task: TaskObject) -> RunObject | None:
        """Return a task's run; what a former run of that name made is none of the present one's."""
        run = self.runs.get(task.run_key) if task.run_key else None
        return run if run and task.made_by in ("", run.meta.uid) else None

    def tasks_of(self, run: Key) -> tuple[TaskObject, ...]:
        """Return the tasks that name a run, oldest first."""
        return tuple(task for task in self.tasks if task.run_key == run)

    def within(self, run: RunObject) -> "Scene":
        """Return the scene without the tasks of other runs."""
        return replace(self, tasks=self.tasks_of(run.meta.key))

    def of_runs_named(self, name: str) -> "Scene":
        """Return the scene without the tasks of runs that are called otherwise."""
        return replace(
            self, tasks=tuple(task for task in self.tasks if task.run_key and task.run_key[1] == name)
        )

    def holders(self, run: Key) -> tuple[TaskObject, ...]:
        """Return the tasks of a run that hold a slot."""
        return tuple(task for task in self.tasks_of(run) if open_attempt(task.status))

    def owner_of(self, run: Key, name: str) -> TaskObject | None:
        """Return the task that a name means in a run."""
        return owner(self._claimants.get((run, name), ()))

    def effective(self, task: TaskObject) -> EffectiveTask | None:
        """Return a task's spec with its run's and the built-in defaults; None where it can't be read."""
        run = self.run_of(task)
        return task.effective(run.spec.task_defaults if run and run.spec else None)

    def snapshot(self, task: TaskObject) -> TaskSnapshot:
        """Return what the operator's decisions ask for, as far as it can be read."""
        effective = self.effective(task)
        profile = self.profiles.get((task.meta.namespace, effective.profile)) if effective else None
        run = task.run_key
        if run is None:
            return TaskSnapshot(task=task, run=None, profile=profile)
        namesake = self.owner_of(run, task.name)
        taken = namesake is not None and namesake.meta.uid != task.meta.uid
        return TaskSnapshot(
            task=task,
            run=self.run_of(task),
            profile=profile,
            dependencies=self.dependencies_of(task),
            cycle=self.cycle_of(run, task.name) if needs(task) else (),
            name_taken_by=namesake.meta.name if namesake and taken else "",
        )

    def dependencies_of(self, task: TaskObject) -> tuple[Dependency, ...]:
        """Return what each name in a task's dependsOn means now."""
        run = task.run_key
        return tuple(dependency(name, self.owner_of(run, name)) for name in needs(task)) if run else ()

    def cycle_of(self, run: Key, name: str) -> tuple[str, ...]:
        """Return the members of the cycle that a name of a run is part of, empty for most."""
        return cycle_through(name, lambda need: unmet(self.owner_of(run, need)))

    @cached_property
    def _claimants(self) -> Mapping[tuple[Key, str], list[TaskObject]]:
        found: dict[tuple[Key, str], list[TaskObject]] = {}
        for task in self.tasks:
            if task.run_key:
                found.setdefault((task.run_key, task.name), []).append(task)
        return found


def _place(task: TaskObject) -> tuple[Key, str, str]:
    created = task.meta.creation_timestamp
    run = task.run_key or (task.meta.namespace, "")
    return run, created.isoformat() if created else "", task.meta.name
