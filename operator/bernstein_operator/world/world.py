"""All objects the operator knows, and who has to look again when one of them changes.

Level-triggered: a change only marks keys, and the decision is made later from whatever is there by then. An
object of an older version never replaces a newer one, so own writes, watches and lists may arrive in any
order.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.names import inline_task_name
from bernstein_operator.api.objects import Key, ProfileObject, RunObject, TaskObject
from bernstein_operator.api.pod import Metadata, Pod
from bernstein_operator.api.snapshot import ProfileSnapshot, Refusal, RunSnapshot, TaskSnapshot
from bernstein_operator.api.spending import NO_SETTINGS, OperatorBudget
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import SETTLED_PHASES
from bernstein_operator.decisions.admission import role_limits
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.ceiling import has_room
from bernstein_operator.decisions.closing import closed
from bernstein_operator.decisions.course import Course, Question
from bernstein_operator.decisions.reserving import UNLIMITED_FUNDS, Till
from bernstein_operator.world.accounting import Accounting
from bernstein_operator.world.config import Configs
from bernstein_operator.world.graves import Graves
from bernstein_operator.world.marks import Marks
from bernstein_operator.world.meter import Meter
from bernstein_operator.world.nodes import Nodes
from bernstein_operator.world.pods import PodStore
from bernstein_operator.world.profiles import Profiles, retried
from bernstein_operator.world.roster import Roster, concerns_run, concerns_tasks
from bernstein_operator.world.rosters import Rosters
from bernstein_operator.world.slots import Slots
from bernstein_operator.world.turns import UNLIMITED, Limits, Turns


class World:
    """The operator's picture of the cluster. One event loop only; nothing in here waits."""

    def __init__(
        self,
        marks: Marks,
        *,
        clock: Callable[[], datetime],
        limits: Limits = UNLIMITED,
        budget: OperatorBudget = NO_SETTINGS,
    ) -> None:
        self._marks = marks
        self._clock = clock
        self._operator_limit = limits.per_run
        self._budget = budget
        self._tasks: dict[Key, TaskObject] = {}
        self._runs: dict[Key, RunObject] = {}
        self._rosters = Rosters()
        self.profiles = Profiles(marks, task_of=self._rosters.task)
        self.configs = Configs(marks)
        self.nodes = Nodes(self.profiles.objects)
        self._pods = PodStore()
        self.meter = Meter(marks, self._pods, task_of=self._rosters.task, clock=clock)
        self._accounting = Accounting(self.meter, effective_of=self.effective_of, status_of=self._foreseen)
        self._graves = Graves()
        self.turns = Turns(marks, limits)
        self.slots = Slots(marks, self._rosters, self._pods, self.turns, clock=clock, role_of=self.role_of)

    # --- what is there --------------------------------------------------------------------------------

    @property
    def runs(self) -> Iterable[RunObject]:
        """All runs."""
        return self._runs.values()

    @property
    def tasks(self) -> Iterable[TaskObject]:
        """All tasks."""
        return self._tasks.values()

    @property
    def live(self) -> int:
        """How many slots are held in all."""
        return sum(roster.live for roster in self._rosters)

    def run(self, key: Key) -> RunObject | None:
        """Return a run."""
        return self._runs.get(key)

    def task(self, key: Key) -> TaskObject | None:
        """Return a task."""
        return self._tasks.get(key)

    def profile(self, key: Key) -> ProfileObject | None:
        """Return a profile."""
        return self.profiles.current(key)

    def roster(self, run: Key) -> Roster:
        """Return a run's tasks; an empty roster where it has none."""
        return self._rosters.look_up(run)

    def run_of(self, task: TaskObject) -> RunObject | None:
        """Return a task's run; what a former run of that name made is none of the present one's."""
        run = self._runs.get(task.run_key) if task.run_key else None
        return run if run and task.made_by in ("", run.meta.uid) else None

    def effective_of(self, task: TaskObject) -> EffectiveTask | None:
        """Return a task's spec with all defaults; None where it can't be read."""
        run = self.run_of(task)
        return task.effective(run.spec.task_defaults if run and run.spec else None)

    def role_of(self, task: TaskObject) -> str:
        """Return a task's role, its own or its run's; empty where its spec can't be read."""
        effective = self.effective_of(task)
        return effective.role if effective else ""

    def versions(self, kind: str) -> dict[Key, int]:
        """Return the version that is known of each object of a kind of ours."""
        stores: Mapping[str, Mapping[Key, Any]] = {
            "AgentTask": self._tasks,
            "BernsteinRun": self._runs,
            "AgentProfile": self.profiles.objects,
        }
        return {key: one.meta.version for key, one in stores[kind].items()}

    def task_snapshot(self, key: Key, *, refusal: Refusal | None) -> TaskSnapshot | None:
        """Return everything that concerns a task, None where there is no such task."""
        task = self._tasks.get(key)
        if not task:
            return None
        roster = self._rosters.of(task)
        owner = roster.owner_of(task.name)
        taken = bool(owner and owner.meta.uid != task.meta.uid)
        return TaskSnapshot(
            task=task,
            run=self.run_of(task),
            profile=self._profile_of(task),
            sightings=self._pods.of_task(task.meta.uid),
            dependencies=roster.dependencies_of(task),
            cycle=roster.cycle_of(task),
            name_taken_by=owner.meta.name if owner and taken else "",
            has_slot=task.meta.uid in self.slots,
            ready_since=roster.ready_since.get(task.meta.uid),
            refusal=refusal,
            run_gone_since=roster.gone_since,
            reading=self.meter.reading(task.meta.uid),
            share=roster.purse.share_of(task.meta.uid),
            short=roster.short_of(task.meta.uid),
            operator_budget=self._budget,
            role_limit=roster.full_roles.get(self.role_of(task)),
        )

    def run_snapshot(self, key: Key) -> RunSnapshot | None:
        """Return everything that concerns a run, None where there is no such run."""
        run, roster, room = self._runs.get(key), self.roster(key), self.turns.room(key[0])
        if not run:
            return None
        self._accounting.refresh(roster)
        limit, now = self._operator_limit, self._clock()
        counted = roster.snapshot(run, operator_limit=limit, operator_room=room, now=now)
        return replace(counted, config=self.configs.of(run), operator_budget=self._budget)

    def profile_snapshot(self, key: Key) -> ProfileSnapshot | None:
        """Return everything that concerns a profile, None where there is no such profile."""
        return self.profiles.snapshot(key, may_start=self._may_start, now=self._clock())

    # --- our own kinds --------------------------------------------------------------------------------

    def put_task(self, raw: Mapping[str, Any]) -> TaskObject:
        """Take note of an AgentTask as it is, unless that is old news; returns what was read."""
        task = TaskObject.parse(raw)
        known = self._tasks.get(task.meta.key)
        if not self._graves.too_late(task.meta, known.meta if known else None):
            self._take_in(task, known)
        return task

    def _take_in(self, task: TaskObject, known: TaskObject | None) -> None:
        if known and known.meta.uid != task.meta.uid:
            self.drop_task(known.meta)
        self._tasks[task.meta.key] = task
        roster = self._rosters.place(task)
        roster.run = task.run_key
        before = roster.tasks.get(task.meta.uid)
        news = roster.put(task)
        self._learn(task)
        self.slots.settle(task)
        self.meter.settle(task)
        self._accounting.put(roster, task)
        self._marks.task(task.meta.key)
        if task.run_key and (not before or concerns_run(before) != concerns_run(task) or news):
            self._marks.run(task.run_key)
        if news:
            self._mark(roster.neighbours_of(task))
            if before and before.name != task.name:
                self._mark(roster.neighbours_of(before))

    def drop_task(self, meta: Metadata) -> None:
        """Take note that an AgentTask is gone."""
        self._graves.add(meta)
        known = self._tasks.get(meta.key)
        if not known or known.meta.uid != meta.uid:
            return
        roster = self._rosters.of(known)
        # What it has reported since its run was last looked at is spent too.
        self._accounting.put(roster, known)
        del self._tasks[meta.key]
        self.profiles.forget(known)
        self.meter.forget(meta.uid)
        roster.remove(known, counts=self.run_of(known) is not None)
        self.slots.drop(meta.uid)
        # Whoever keeps anything about it learns by its key that it is gone.
        self._marks.task(meta.key)
        self._mark(roster.neighbours_of(known))
        if known.run_key:
            self._marks.run(known.run_key)
        self._tidy(meta.uid)

    def put_run(self, raw: Mapping[str, Any]) -> RunObject:
        """Take note of a BernsteinRun as it is; returns what was read."""
        run = RunObject.parse(raw)
        key = run.meta.key
        known = self._runs.get(key)
        if self._graves.too_late(run.meta, known.meta if known else None):
            return run
        self._runs[key] = run
        roster = self._rosters.of_run(key)
        if roster.run_uid != run.meta.uid:
            # What was given to them was a former run's.
            self.slots.release_all(roster)
        roster.begin(key, run.meta.uid)
        self._marks.run(key)
        if not known or concerns_tasks(known) != concerns_tasks(run):
            self._mark(roster.tasks.values())
            self._accounting.renew(roster)
            # Roles, too, may come from the run.
            self.slots.recount_all(roster)
        if known and retried(known.status.requests) != retried(run.status.requests):
            for task in self.roster(key).tasks.values():
                self._learn(task)
        return run

    def drop_run(self, meta: Metadata) -> None:
        """Take note that a BernsteinRun is gone."""
        self._graves.add(meta)
        known = self._runs.get(meta.key)
        if not known or known.meta.uid != meta.uid:
            return
        del self._runs[meta.key]
        self.turns.forget(meta.key)
        roster = self._rosters.of_run(meta.key)
        roster.gone_since = self._clock()
        self._marks.run(meta.key)
        self._mark(self.roster(meta.key).tasks.values())
        self._rosters.end(meta.key, runs=self._runs)

    def put_profile(self, raw: Mapping[str, Any]) -> ProfileObject:
        """Take note of an AgentProfile as it is; returns what was read."""
        profile = ProfileObject.parse(raw)
        known = self.profiles.current(profile.meta.key)
        if not self._graves.too_late(profile.meta, known.meta if known else None):
            self.profiles.put(profile)
            self._mark_users(profile.meta)
        return profile

    def drop_profile(self, meta: Metadata) -> None:
        """Take note that an AgentProfile is gone."""
        self._graves.add(meta)
        known = self.profiles.current(meta.key)
        if known and known.meta.uid == meta.uid:
            self.profiles.drop(meta.key)
            self._mark_users(meta)

    def recall_departed(self) -> None:
        """After complete lists: find the tasks and runs that were deleted while nobody here looked."""
        for key, run in self._runs.items():
            made = (inline_task_name(run=run.meta.name, task=name) for name in run.status.created_tasks)
            absent = sum((run.meta.namespace, name) not in self._tasks for name in made)
            self._rosters.of_run(key).recall(run.status, absent=absent)
        for roster in self._rosters:
            # The grace of agents begins whose run was deleted meanwhile.
            if roster.run and roster.run not in self._runs and not roster.gone_since:
                roster.gone_since = self._clock()
                self._mark(self.roster(roster.run).tasks.values())

    # --- Pods and slots -------------------------------------------------------------------------------

    def seen(self, pod: Pod) -> None:
        """Take note of an agent's Pod as it is."""
        task_uid = self._pods.task_of(pod)
        if task_uid and self._pods.put(pod):
            self._pod_changed(pod, task_uid)

    def gone(self, pod: Pod) -> None:
        """Take note of a Pod's end."""
        task_uid = self._pods.task_of(pod)
        if task_uid and self._pods.bury(pod):
            self._pod_changed(pod, task_uid)

    def leave_to_node(self, pod: Pod, *, until: datetime) -> None:
        """Leave a Pod that should have ended to its node for a while; that is told where its task waits."""
        task_uid = self._pods.task_of(pod)
        if self._pods.leave(pod, until=until):
            self._pod_changed(pod, task_uid)

    def pods_missing_from(self, listed: Iterable[Pod], *, version: int) -> list[Pod]:
        """Return the Pods that a complete list of that version should hold and doesn't."""
        return self._pods.missing_from(listed, version=version)

    def startable(self, run: Key, till: Till | None = None) -> int:
        """Return how many tasks of a run wait for a slot, and for no room in their role nor money."""
        limits = role_limits(self._runs.get(run))
        return self.roster(run).startable(limits, till or Till(UNLIMITED_FUNDS))

    def grant(self, run: Key, *, free: int, till: Till | None = None) -> None:
        """Give up to ``free`` slots of a run, with shares of its money, to the tasks that are next."""
        self.slots.grant(self._runs.get(run), self.roster(run), free=free, till=till or Till(UNLIMITED_FUNDS))

    # --- inside ---------------------------------------------------------------------------------------

    def _profile_of(self, task: TaskObject) -> ProfileObject | None:
        effective = self.effective_of(task)
        return self.profiles.current((task.meta.namespace, effective.profile)) if effective else None

    def _may_start(self, task: TaskObject) -> bool:
        """Whether a task's run would let it start now."""
        if task.meta.uid in self.slots:
            return True
        run, roster = self.run_of(task), self._rosters.of(task)
        config = self.configs.of(run) if run else None
        free = has_room(
            run, config, live=roster.live, kept=roster.ceiling, operator_limit=self._operator_limit
        )
        return free and self.turns.room(task.meta.namespace) != 0

    def _learn(self, task: TaskObject) -> None:
        """Take note of what a task says of its profile."""
        status, effective = self._foreseen(task), self.effective_of(task)
        self.profiles.learn(task, status, effective, run=self.run_of(task), now=self._clock())

    def _foreseen(self, task: TaskObject) -> AgentTaskStatus:
        """Return a task's status with what its Pod's end is about to make it say.

        By the time that it is stored, another task has the Pod's slot.
        """
        status, effective = task.status, self.effective_of(task)
        attempt = open_attempt(status)
        if not (attempt and effective and self._pods.has_ended(task.meta.uid, attempt.pod_name)):
            return status
        snapshot = self.task_snapshot(task.meta.key, refusal=None)
        if not snapshot:
            return status
        return closed(Course(status), Question(snapshot, effective, self._clock())).status

    def _pod_changed(self, pod: Pod, uid: str) -> None:
        # A Pod outlives its task while it ends, and still holds a slot of its run.
        roster = self._rosters.place_pod(pod, uid)
        task = roster.tasks.get(uid)
        if task:
            self._learn(task)
            self._accounting.put(roster, task)
        if self.slots.recount(uid) < 0:
            # Only a Pod's end makes room for another one; an attempt that was taken back doesn't.
            self._marks.freed(pod.metadata.namespace)
        if task:
            self._marks.task(task.meta.key)
        else:
            self._tidy(uid)

    def _tidy(self, uid: str) -> None:
        """Forget a deleted task once the last of its Pods is gone too."""
        self._pods.forget_gone(uid, keep="")
        if not self._pods.of_task(uid):
            self._rosters.leave(uid, runs=self._runs)

    def _mark(self, tasks: Iterable[TaskObject]) -> None:
        for task in tasks:
            self._marks.task(task.meta.key)

    def _mark_users(self, profile: Metadata) -> None:
        neighbours = (one for one in self._tasks.values() if one.meta.namespace == profile.namespace)
        moving = (
            (one, self.effective_of(one)) for one in neighbours if one.status.phase not in SETTLED_PHASES
        )
        self._mark(task for task, has in moving if has and has.profile == profile.name)
