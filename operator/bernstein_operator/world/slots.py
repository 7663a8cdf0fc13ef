"""Which tasks hold slots, and which were given one that they haven't used yet.

A slot is held from the moment at which it is given, long before a Pod of it is seen, and until the last Pod
of its task is over. Counting it anew from all that is known of the task, at each change of any of it, is what
keeps a run under its ceiling in between.
"""

from collections.abc import Callable
from datetime import datetime

from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.decisions.admission import Candidate, role_limits
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.reserving import Till
from bernstein_operator.telemetry import metrics
from bernstein_operator.world.marks import Marks
from bernstein_operator.world.pods import PodStore
from bernstein_operator.world.roster import Roster
from bernstein_operator.world.rosters import Rosters
from bernstein_operator.world.turns import Turns


class Slots:
    """Slots of all runs; ``role_of`` says a task's role."""

    def __init__(
        self,
        marks: Marks,
        rosters: Rosters,
        pods: PodStore,
        turns: Turns,
        *,
        clock: Callable[[], datetime],
        role_of: Callable[[TaskObject], str],
    ) -> None:
        self._marks = marks
        self._rosters = rosters
        self._pods = pods
        self._turns = turns
        self._clock = clock
        self._role_of = role_of
        self._given: set[str] = set()

    def __contains__(self, uid: str) -> bool:
        """Whether a task was given a slot that it hasn't used yet."""
        return uid in self._given

    def offer(self, task: TaskObject, candidate: Candidate | None) -> None:
        """Queue a task for a slot, or take it out of the queue."""
        roster = self._rosters.of_uid(task.meta.uid)
        if not roster:
            return
        if candidate is None:
            roster.withdraw(task.meta.uid)
        elif roster.offer(candidate, now=self._clock()) and task.run_key:
            self._marks.run(task.run_key)

    def grant(self, run: RunObject | None, roster: Roster, *, free: int, till: Till) -> None:
        """Give up to ``free`` slots of a run to the tasks that are next, and shares of the money in ``till``.

        They are marked, and so are those that find out that their role is full, or the money not enough.
        """
        limits, live = role_limits(run), roster.live_by_role
        for candidate in roster.waiting.take(free=free, live_by_role=live, limits=limits, till=till):
            waited = self._clock() - roster.ready_since.get(candidate.uid, self._clock())
            metrics.SLOT_REFILL.observe(waited.total_seconds())
            self._given.add(candidate.uid)
            roster.purse.share(candidate.uid, till.given[candidate.uid])
            self.recount(candidate.uid)
            self._mark(roster, candidate.uid)
        for uid in (*roster.fill_roles(limits), *roster.fall_short(till)):
            self._mark(roster, uid)

    def release(self, task: TaskObject) -> None:
        """Take a slot back that was given and not used."""
        uid = task.meta.uid
        roster = self._rosters.of_uid(uid)
        if uid in self._given and roster:
            self._given.discard(uid)
            roster.purse.settle(uid)
            self.recount(uid)

    def release_all(self, roster: Roster) -> None:
        """Take all slots of a run back that were given and not used."""
        for task in roster.tasks.values():
            self.release(task)

    def recount_all(self, roster: Roster) -> None:
        """Count the slots that the tasks of a run hold."""
        for uid in roster.tasks:
            self.recount(uid)

    def drop(self, uid: str) -> None:
        """Forget a deleted task; its Pods hold what they hold."""
        self._given.discard(uid)
        self.recount(uid)

    def settle(self, task: TaskObject) -> None:
        """Follow what a task's stored status says of its slot."""
        uid, attempt = task.meta.uid, open_attempt(task.status)
        roster = self._rosters.of_uid(uid)
        if attempt and roster:
            self._given.discard(uid)
            roster.withdraw(uid)
            roster.purse.settle(uid)
        self._pods.forget_gone(uid, keep=attempt.pod_name if attempt else "")
        self.recount(uid)

    def recount(self, uid: str) -> int:
        """Count the slots that a task holds, and wake its run where that changed; returns the change."""
        roster = self._rosters.of_uid(uid)
        if not roster:
            return 0
        task = roster.tasks.get(uid)
        attempt = open_attempt(task.status) if task else None
        count = max(self._pods.held(uid, attempt), int(uid in self._given))
        of_pods = (one.pod.role for one in self._pods.of_task(uid))
        role = (self._role_of(task) if task else "") or next(of_pods, "")
        change = roster.hold(uid, count=count, role=role)
        self._turns.held(roster.namespace, change)
        if change and roster.run:
            self._marks.run(roster.run)
        return change

    def _mark(self, roster: Roster, uid: str) -> None:
        task = roster.tasks.get(uid)
        if task:
            self._marks.task(task.meta.key)
