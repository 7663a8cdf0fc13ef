"""The tasks of one run with everything that is counted about them, kept up to date as each one changes.

A decision about a run needs counts, and a decision about a task needs what its dependencies' names mean.
Both are answered here in constant time: with 10,000 tasks stored, a changed one costs what it costs with ten.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.objects import Key, RunObject, TaskObject
from bernstein_operator.api.run import BernsteinRunStatus, TaskCounts
from bernstein_operator.api.snapshot import Dependency, OutcomeWindow, RunSnapshot
from bernstein_operator.api.spending import Need
from bernstein_operator.api.vocabulary import MOVING_PHASES, AdmittedReason, TaskPhase
from bernstein_operator.decisions.admission import Candidate, Waiting
from bernstein_operator.decisions.asking import stood_since
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.ceiling import thresholds_of
from bernstein_operator.decisions.commands import RETRIABLE_PHASES
from bernstein_operator.decisions.graph import cycle_through
from bernstein_operator.decisions.naming import dependency, is_stuck, needs, owner, unmet
from bernstein_operator.decisions.plan import RunDecision
from bernstein_operator.decisions.reserving import Till
from bernstein_operator.decisions.retrying import asks_for_retry, goes_on_after_retry
from bernstein_operator.decisions.run_commands import retry_of
from bernstein_operator.world.in_use import ProfilesInUse
from bernstein_operator.world.outcomes import Outcomes
from bernstein_operator.world.purse import Purse


class Roster:
    """One run's tasks, by UID and by name."""

    def __init__(self, *, namespace: str = "") -> None:
        self.namespace = namespace
        self.tasks: dict[str, TaskObject] = {}
        self.waiting = Waiting()
        self.ready_since: dict[str, datetime] = {}
        self.run: Key | None = None
        self.run_uid = ""
        self.gone_since: datetime | None = None
        self.refused = ""
        self.first_admitted: datetime | None = None
        self.last_retried: datetime | None = None
        self.outcomes = Outcomes()
        self.ceiling: ConcurrencyStatus | None = None
        self.evaluated: datetime | None = None
        self.full_roles: dict[str, int] = {}
        self.in_use = ProfilesInUse()
        self._by_name: dict[str, dict[str, TaskObject]] = {}
        self._dependents: dict[str, set[str]] = {}
        self._phases: Counter[tuple[str, TaskPhase]] = Counter()
        self._departed: Counter[TaskPhase] = Counter()
        self._stuck: dict[str, str] = {}
        self._retriable: dict[str, str] = {}
        self._retriable_by_maker: Counter[str] = Counter()
        self._asking: dict[str, str] = {}
        self._resumed: dict[str, str] = {}
        self._held: dict[str, tuple[int, str]] = {}
        self.purse = Purse()
        self._short: dict[Need, AdmittedReason] = {}

    @property
    def phases(self) -> Counter[TaskPhase]:
        """How many tasks stand in each phase, those that were deleted too."""
        counts = Counter(self._departed)
        for (maker, phase), count in self._phases.items():
            counts[phase] += count if self.counts(maker) else 0
        return +counts

    @property
    def departed(self) -> int:
        """How many tasks count though they were deleted."""
        return self._departed.total()

    @property
    def present(self) -> int:
        """How many of the run's tasks are still there."""
        return sum(count for (maker, _), count in self._phases.items() if self.counts(maker))

    @property
    def stuck(self) -> int:
        """How many tasks are invalid and so can't move.

        A task says so in its status until it has looked again, and by then its run may have been taken for
        over. So where nothing else could move, what they say is checked against what holds now.
        """
        told = [self.tasks[uid] for uid, maker in self._stuck.items() if self.counts(maker)]
        phases = self.phases
        others = sum(phases[phase] for phase in MOVING_PHASES) - len(told)
        return len(told) if others else self._still_stuck(told)

    @property
    def retriable(self) -> int:
        """How many tasks a person's retry could give a fresh start."""
        return sum(count for maker, count in self._retriable_by_maker.items() if self.counts(maker))

    @property
    def resumed(self) -> int:
        """How many tasks go on since a person's retry gave them a fresh start."""
        return sum(self.counts(maker) for maker in self._resumed.values())

    def retrying(self, asked: datetime | None) -> int:
        """Return how many tasks have yet to answer a retry of their own, or of the run at ``asked``."""
        due = {uid for uid, maker in self._asking.items() if self.counts(maker)}
        for uid, maker in self._retriable.items() if asked else ():
            since = stood_since(self.tasks[uid].status)
            if asked and since and since <= asked and self.counts(maker):
                due.add(uid)
        return len(due)

    @property
    def live(self) -> int:
        """How many slots are held."""
        return sum(count for count, _ in self._held.values())

    @property
    def live_by_role(self) -> Counter[str]:
        """How many slots each role holds."""
        counts: Counter[str] = Counter()
        for count, role in self._held.values():
            counts[role] += count
        return counts

    def short_of(self, uid: str) -> AdmittedReason | None:
        """Return what a task waits for, where its run's budget was found to be too small for it."""
        need = self.waiting.need_of(uid)
        return self._short.get(need) if need else None

    def fall_short(self, till: Till) -> list[str]:
        """Take note of whose needs ``till`` can't meet; returns the tasks for which that is news."""
        before = self._short
        self._short = {need: answer for need in self.waiting.needs() if (answer := till.refusal(need))}
        news = {
            need for need in before.keys() | self._short.keys() if before.get(need) != self._short.get(need)
        }
        return self.waiting.in_need(news)

    def snapshot(
        self, run: RunObject, *, operator_limit: int | None, operator_room: int | None, now: datetime
    ) -> RunSnapshot:
        """Return everything that concerns the run, already counted."""
        return RunSnapshot(
            run=run,
            phases=self.phases,
            departed=self.departed,
            stuck=self.stuck,
            live=self.live,
            waiting=len(self.waiting),
            operator_limit=operator_limit,
            operator_room=operator_room,
            outcomes=self._outcomes_of(run, now=now),
            ceiling=self.ceiling,
            evaluated=self.evaluated,
            refused=self.refused,
            first_admitted=self.first_admitted,
            retriable=self.retriable,
            retrying=self.retrying(retry_of(run.status)),
            last_retried=self.last_retried,
            resumed=self.resumed,
            present=self.present,
            spend=self.purse.spend(),
            needs=self.waiting.needs(),
            all_wait=bool(self.waiting and not self.live) and self._all_wait(),
        )

    def _all_wait(self) -> bool:
        """Whether all tasks that could move wait for a slot, or for one that does."""
        moving = (one for one in self.tasks.values() if one.status.phase in MOVING_PHASES)
        counted = (one for one in moving if self.counts(one.made_by) and one.meta.uid not in self._stuck)
        return all(one.meta.uid in self.waiting or self._is_behind(one) for one in counted)

    def _is_behind(self, task: TaskObject) -> bool:
        found = (self.owner_of(name) for name in unmet(task))
        return any(one and one.status.phase in MOVING_PHASES for one in found)

    def begin(self, run: Key, uid: str) -> None:
        """Belong to the run of that UID from now on; what a former run of its name counted is forgotten."""
        self.run, self.gone_since = run, None
        if uid != self.run_uid:
            # Its tasks may have been heard of before it; under a former run of its name they tell of that.
            told_before = () if self.run_uid else tuple(self.tasks.values())
            self.run_uid, self.refused = uid, ""
            self.first_admitted = self.last_retried = None
            self.outcomes, self.ceiling, self.evaluated = Outcomes(), None, None
            self._departed.clear()
            self.purse = Purse()
            for task in told_before:
                self._remember(task)

    def conclude(self, decision: RunDecision) -> None:
        """Take note of what was decided of the run's ceiling.

        It holds from now on, not from when it is stored: a write that is put off, or fails, must not undo an
        evaluation, for the next one would come only later. A restart begins with what is stored.
        """
        self.ceiling, self.evaluated = decision.status.concurrency, decision.evaluated

    def startable(self, limits: Mapping[str, int], till: Till) -> int:
        """Return how many waiting tasks ``limits``, of agents by role, and the money of ``till`` let in."""
        live = self.live_by_role if limits else {}
        return self.waiting.startable(live_by_role=live, limits=limits, till=till)

    def fill_roles(self, limits: Mapping[str, int]) -> list[str]:
        """Find the roles that hold as many slots as they may; returns the tasks that this is news for."""
        live = self.live_by_role if limits else Counter()
        full = {role: most for role, most in limits.items() if live[role] >= most}
        changed = dict(full.items() ^ self.full_roles.items())
        self.full_roles = full
        return [uid for role in changed for uid in self.waiting.of_role(role)]

    def counts(self, maker: str) -> bool:
        """Whether a task that the run of UID ``maker`` made (empty: none did) is one of the present run's."""
        return maker in ("", self.run_uid)

    def hold(self, uid: str, *, count: int, role: str) -> int:
        """Set how many slots a task holds; returns by how many that changed."""
        before = self._held.get(uid, (0, role))[0]
        if count:
            self._held[uid] = (count, role)
        else:
            self._held.pop(uid, None)
        return count - before

    def put(self, task: TaskObject) -> bool:
        """Add or replace a task; returns whether those that depend on it have to look again."""
        before = self.tasks.get(task.meta.uid)
        self._unindex(before)
        self.tasks[task.meta.uid] = task
        self._by_name.setdefault(task.name, {})[task.meta.uid] = task
        for need in needs(task):
            self._dependents.setdefault(need, set()).add(task.meta.uid)
        self._phases[task.made_by, task.status.phase] += 1
        self.in_use.put(task)
        if is_stuck(task):
            self._stuck[task.meta.uid] = task.made_by
        if task.status.phase in RETRIABLE_PHASES and not task.cancelled:
            self._retriable[task.meta.uid] = task.made_by
            self._retriable_by_maker[task.made_by] += 1
        if asks_for_retry(task):
            self._asking[task.meta.uid] = task.made_by
        if goes_on_after_retry(task):
            self._resumed[task.meta.uid] = task.made_by
        self._remember(task)
        return before is None or _matters(before) != _matters(task)

    def _remember(self, task: TaskObject) -> None:
        if not self.counts(task.made_by):
            return
        self.outcomes.put(task)
        admitted, retried = task.status.first_admitted_time, task.status.retried_time
        if admitted:
            self.first_admitted = min(admitted, self.first_admitted or admitted)
        if retried:
            self.last_retried = max(retried, self.last_retried or retried)

    def _outcomes_of(self, run: RunObject, *, now: datetime) -> OutcomeWindow:
        if not run.spec:
            return OutcomeWindow()
        span = thresholds_of(run.spec.concurrency.adaptive).window
        own = (task for task in self.tasks.values() if self.counts(task.made_by))
        return self.outcomes.window(span, tasks=own, now=now)

    def remove(self, task: TaskObject, *, counts: bool) -> None:
        """Take a deleted task out; if it ``counts``, then as succeeded where it had, else as cancelled."""
        del self.tasks[task.meta.uid]
        self._unindex(task)
        self.withdraw(task.meta.uid)
        self.purse.drop(task.meta.uid, counts=counts)
        succeeded = task.status.phase is TaskPhase.SUCCEEDED
        self._departed[TaskPhase.SUCCEEDED if succeeded else TaskPhase.CANCELLED] += counts

    def recall(self, status: BernsteinRunStatus, *, absent: int) -> None:
        """Take over the count of tasks that were deleted while this process didn't look.

        ``absent`` is how many of the run's inline tasks were made and are no more. Where more were seen to go
        than are recorded, what was seen stands. New tasks may have taken the place of deleted ones in the
        total; who succeeded or was cancelled stays so, and is missed all the same.
        """
        self.purse.recall(status.budget)
        counts = status.tasks or TaskCounts()
        seen = self._departed
        self._departed = Counter()
        present = self.phases
        succeeded = max(0, counts.succeeded - present[TaskPhase.SUCCEEDED])
        cancelled = max(0, counts.cancelled - present[TaskPhase.CANCELLED])
        total = max(succeeded + cancelled, absent, counts.total - present.total())
        if total < seen.total():
            self._departed = seen
            return
        self._departed[TaskPhase.SUCCEEDED] = succeeded
        self._departed[TaskPhase.CANCELLED] = total - succeeded

    def offer(self, candidate: Candidate, *, now: datetime) -> bool:
        """Queue a task for a slot; returns whether it is new in the queue, or asks for something else."""
        news = self.waiting.put(candidate)
        self.ready_since.setdefault(candidate.uid, now)
        return news

    def withdraw(self, uid: str) -> None:
        """Take a task out of the queue."""
        self.waiting.remove(uid)
        self.ready_since.pop(uid, None)

    def dependents_of(self, name: str) -> Iterable[str]:
        """Return the UIDs of the tasks that depend on a name."""
        return tuple(self._dependents.get(name, ()))

    def claimants_of(self, name: str) -> Iterable[str]:
        """Return the UIDs of the tasks that have or want a name."""
        return tuple(self._by_name.get(name, ()))

    def neighbours_of(self, task: TaskObject) -> list[TaskObject]:
        """Return those that depend on a task, and those that claim its name."""
        uids = {*self.dependents_of(task.name), *self.claimants_of(task.name)} - {task.meta.uid}
        return [self.tasks[uid] for uid in uids if uid in self.tasks]

    def owner_of(self, name: str) -> TaskObject | None:
        """Return the task that a name means: the oldest that hasn't given up, else the newest."""
        return owner(self._by_name.get(name, {}).values())

    def dependencies_of(self, task: TaskObject) -> tuple[Dependency, ...]:
        """Return what each name in the task's dependsOn means now."""
        return tuple(dependency(name, self.owner_of(name)) for name in needs(task))

    def cycle_of(self, task: TaskObject) -> tuple[str, ...]:
        """Return the members of the cycle that a task is part of."""
        return cycle_through(task.name, self._unmet) if needs(task) else ()

    def _still_stuck(self, tasks: Iterable[TaskObject]) -> int:
        """Count those that are invalid, lack their name, or wait for themselves."""
        circling: set[str] = set()
        count = 0
        for task in tasks:
            astray = bool(task.invalid) or self.owner_of(task.name) is not task
            if not astray and task.name not in circling:
                # All its members at once, so that a long cycle isn't walked again for each of them.
                circling.update(self.cycle_of(task))
            count += astray or task.name in circling
        return count

    def _unmet(self, name: str) -> tuple[str, ...]:
        return unmet(self.owner_of(name))

    def _unindex(self, task: TaskObject | None) -> None:
        if not task:
            return
        uid = task.meta.uid
        named = self._by_name[task.name]
        del named[uid]
        if not named:
            del self._by_name[task.name]
        for need in needs(task):
            self._dependents[need].discard(uid)
        self._phases[task.made_by, task.status.phase] -= 1
        self.in_use.remove(task)
        self._stuck.pop(uid, None)
        if uid in self._retriable:
            self._retriable_by_maker[self._retriable.pop(uid)] -= 1
        for known in (self._asking, self._resumed):
            known.pop(uid, None)


def _matters(task: TaskObject) -> tuple[object, ...]:
    """Return what of a task its dependents' decisions rest on."""
    return task.name, task.status.phase, is_stuck(task), task.status.blocked_by, needs(task)


def concerns_run(task: TaskObject) -> tuple[object, ...]:
    """Return what of a task its run's decisions rest on, beside what its dependents' do."""
    return task.status.phase, open_attempt(task.status) is None, asks_for_retry(task)


def concerns_tasks(run: RunObject) -> tuple[object, ...]:
    """Return what of a run its tasks' decisions rest on."""
    spec = run.spec
    told = spec and (spec.suspend, spec.task_defaults, spec.repository, spec.deadline, spec.budget)
    asked = run.cancelled, run.drained, retry_of(run.status)
    reached = run.status.budget.reached if run.status.budget else ()
    return run.meta.uid, run.status.phase, asked, told, reached
