"""The loop: take a key, gather, decide, and hand what is to be written to its lane.

Deciding never waits. What is written waits in a task of its own, and its key stays busy meanwhile, so that
there is at most one write for an object at a time and a request that hangs holds up that object only.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any, Final

from bernstein_operator.api.objects import Key, ProfileObject, RunObject, TaskObject
from bernstein_operator.api.snapshot import RunSnapshot, TaskSnapshot
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES
from bernstein_operator.builders.patch import status_patch
from bernstein_operator.control import clock
from bernstein_operator.control.handing import hand_out
from bernstein_operator.control.heritage import Heritage
from bernstein_operator.control.holds import Holds
from bernstein_operator.control.lanes import Lane, Lanes, lane_of
from bernstein_operator.control.pacing import least_gap
from bernstein_operator.control.queue import Kind, WorkKey, WorkQueue
from bernstein_operator.control.writer import Writer
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.circuit import decide_profile
from bernstein_operator.decisions.plan import (
    Action,
    RecordAbandonment,
    RunDecision,
    TaskDecision,
)
from bernstein_operator.decisions.run import decide_run
from bernstein_operator.decisions.task import decide
from bernstein_operator.kube.errors import ApiError, ConflictError, NotFoundError, RefusedError
from bernstein_operator.telemetry import metrics
from bernstein_operator.world.world import World

log = logging.getLogger(__name__)

LANE_WIDTH: Final = 32
CREATE_PAUSE_SECONDS: Final = (1.0, 15.0)
"""So long refused inline tasks aren't asked for again, however often their run is looked at meanwhile."""
_YIELD_EVERY: Final = 50


class Marks:
    """Turns the world's marks into keys of the queue, unless it is still ``asleep``.

    Who stands by decides nothing, so keys would only pile up; whoever wakes looks at everything anyway.
    """

    def __init__(self, queue: WorkQueue, holds: Holds, *, asleep: bool = False) -> None:
        self._queue = queue
        self._holds = holds
        self._asleep = asleep

    def wake(
        self,
        *,
        runs: Iterable[RunObject],
        tasks: Iterable[TaskObject],
        profiles: Iterable[ProfileObject],
    ) -> None:
        """Mark everything there is, and from now on whatever changes."""
        self._asleep = False
        for profile in profiles:
            self.profile(profile.meta.key)
        for run in runs:
            self.run(run.meta.key)
        for task in tasks:
            self.task(task.meta.key)

    def task(self, key: Key) -> None:
        """Mark a task."""
        if not self._asleep:
            self._queue.add(WorkKey(Kind.TASK, *key))

    def run(self, key: Key) -> None:
        """Mark a run."""
        if not self._asleep:
            self._queue.add(WorkKey(Kind.RUN, *key))

    def profile(self, key: Key) -> None:
        """Mark a profile."""
        if not self._asleep:
            self._queue.add(WorkKey(Kind.PROFILE, *key))

    def freed(self, namespace: str) -> None:
        """Try refused Pods of a namespace again."""
        for key in self._holds.freed(namespace):
            self.task(key)


@dataclass(slots=True)
class _Work:
    """What a pass came to: writes for one lane."""

    lane: Lane
    job: Coroutine[Any, Any, None]


@dataclass(frozen=True, slots=True)
class _Pause:
    """Until when a run's inline tasks aren't asked for, and for how long that is in all."""

    until: float
    seconds: float


class Controller:
    """Works on keys until cancelled."""

    def __init__(
        self,
        world: World,
        queue: WorkQueue,
        holds: Holds,
        writer: Writer,
        nothing_missed: Callable[[Key], Awaitable[bool]],
    ) -> None:
        self._world = world
        self._queue = queue
        self._holds = holds
        self._writer = writer
        self._nothing_missed = nothing_missed
        self._lanes = Lanes(queue.add, width=LANE_WIDTH)
        self._jobs: set[asyncio.Task[None]] = set()
        self._run_written: dict[Key, float] = {}
        self._pauses: dict[Key, _Pause] = {}
        self._illegal: dict[WorkKey, str] = {}
        self._heritage = Heritage()
        self.beat = clock.monotonic()

    async def run(self) -> None:
        """Take keys one after the other; what they need written goes on beside."""
        self.beat = clock.monotonic()
        for passes in count(1):
            key = await self._queue.get()
            self.beat = clock.monotonic()
            self._pass(key)
            if passes % _YIELD_EVERY == 0:
                await asyncio.sleep(0)

    async def drain(self) -> None:
        """Wait for the writes that are under way."""
        if self._jobs:
            await asyncio.wait(self._jobs)

    def _pass(self, key: WorkKey) -> None:
        try:
            work = self._work_on(key)
        except Exception:
            # A fault in a rule must not stop the other objects; this one is tried again.
            log.exception("decision failed", extra=_fields(key))
            metrics.RECONCILES.labels(key.kind, "error").inc()
            self._queue.retry(key)
            self._queue.done(key)
            return
        if work is None:
            self._queue.succeeded(key)
            self._queue.done(key)
        elif self._lanes.enter(work.lane, key):
            self._start(key, work)
        else:
            work.job.close()
            self._queue.done(key)

    def _work_on(self, key: WorkKey) -> _Work | None:
        match key.kind:
            case Kind.TASK:
                return self._task_work(key)
            case Kind.RUN:
                return self._run_work(key)
            case Kind.PROFILE:
                return self._profile_work(key)

    def _start(self, key: WorkKey, work: _Work) -> None:
        job = asyncio.create_task(self._carry_out(key, work))
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)

    async def _carry_out(self, key: WorkKey, work: _Work) -> None:
        try:
            with metrics.RECONCILE_SECONDS.labels(key.kind).time():
                await work.job
            self._queue.succeeded(key)
            metrics.RECONCILES.labels(key.kind, "success").inc()
        except (ConflictError, NotFoundError):
            # The world has been told of what is there instead; decide again.
            metrics.RECONCILES.labels(key.kind, "requeue").inc()
            self._queue.retry(key)
        except ApiError as error:
            log.warning("write failed", extra={**_fields(key), "error": str(error)})
            metrics.RECONCILES.labels(key.kind, "error").inc()
            self._queue.retry(key)
        except Exception:
            log.exception("write failed", extra=_fields(key))
            metrics.RECONCILES.labels(key.kind, "error").inc()
            self._queue.retry(key)
        finally:
            self._lanes.leave(work.lane)
            self._queue.done(key)

    # --- tasks ----------------------------------------------------------------------------------------

    def _task_work(self, key: WorkKey) -> _Work | None:
        name = (key.namespace, key.name)
        known = self._world.task(name)
        refusal = self._holds.refusal(known.meta.uid) if known else None
        snapshot = self._world.task_snapshot(name, refusal=refusal)
        if not snapshot:
            self._holds.forget(name)
            self._illegal.pop(key, None)
            self._heritage.forget(name)
            self._writer.herald.task_gone(name)
            self._queue.schedule(key, None)
            return None
        self._writer.tell(snapshot.task)
        snapshot = self._writer.ledger.books.complete(snapshot)
        snapshot = replace(snapshot, inherited=self._heritage.inherited(snapshot.task))
        now = clock.now()
        decision = decide(snapshot, now=now)
        self._heritage.decided(name, decision.status)
        self._protest(key, decision.illegal)
        self._place(snapshot, decision)
        self._queue.schedule(key, _seconds_until(decision.wake, now, self._own_wait(snapshot)))
        task = snapshot.task
        patch = status_patch(task.meta, stored=task.status, wanted=decision.status)
        if not patch and not decision.actions:
            return None
        lane = lane_of(decision.actions)
        return _Work(lane, self._apply(task, patch, decision.actions, urgent=lane is Lane.CONTROL))

    def _protest(self, key: WorkKey, illegal: str) -> None:
        """Log once that a task was to move as none may; it is looked at again and again meanwhile."""
        if not illegal:
            self._illegal.pop(key, None)
        elif self._illegal.get(key) != illegal:
            self._illegal[key] = illegal
            log.error("illegal move", extra={**_fields(key), "move": illegal})

    def _own_wait(self, snapshot: TaskSnapshot) -> float | None:
        return self._holds.task_wait(snapshot.task.meta.uid) or None

    def _place(self, snapshot: TaskSnapshot, decision: TaskDecision) -> None:
        """Queue the task for a slot if it waits for one, and take back one that it doesn't use."""
        task, candidate = snapshot.task, decision.candidate
        uid = task.meta.uid
        if candidate and self._holds.task_wait(uid):
            candidate = None
        if candidate:
            candidate = replace(candidate, turn=self._holds.turns(uid))
        if snapshot.has_slot and not open_attempt(decision.status):
            self._world.slots.release(task)
        self._world.slots.offer(task, candidate)

    async def _apply(
        self, task: TaskObject, patch: dict[str, Any] | None, actions: tuple[Action, ...], *, urgent: bool
    ) -> None:
        if patch:
            await self._writer.store_task(task, patch, urgent=urgent)
        stored = self._world.task(task.meta.key)
        if not stored or stored.meta.uid != task.meta.uid:
            return
        tried = self._writer.ledger.books.tried(task.meta.uid)
        try:
            for action in actions:
                await self._writer.act(stored, action)
        finally:
            if RecordAbandonment() in actions:
                self._recorded(stored, first=not tried)

    def _recorded(self, task: TaskObject, *, first: bool) -> None:
        """Have the run tell of a row that was tried; at the first time its task and the dependents go on."""
        run = task.run_key
        if not run:
            return
        self._queue.add(WorkKey(Kind.RUN, *run))
        roster = self._world.roster(run)
        followers = (task.meta.uid, *roster.dependents_of(task.name)) if first else ()
        for one in (roster.tasks[uid] for uid in followers if uid in roster.tasks):
            self._queue.add(WorkKey(Kind.TASK, *one.meta.key))

    # --- runs -----------------------------------------------------------------------------------------

    def _run_work(self, key: WorkKey) -> _Work | None:
        name = (key.namespace, key.name)
        snapshot = self._world.run_snapshot(name)
        if not snapshot:
            self._run_written.pop(name, None)
            self._pauses.pop(name, None)
            self._writer.herald.run_gone(name, now=clock.now())
            self._queue.schedule(key, None)
            return None
        self._writer.herald.run_seen(snapshot.run)
        ledger = self._writer.ledger.books.state(snapshot.run, self._world.roster(name).tasks)
        load = self._world.nodes.load(snapshot.run, self._world.roster(name))
        snapshot = replace(snapshot, ledger=ledger, load=load)
        decision = decide_run(snapshot, now=clock.now())
        self._world.roster(name).conclude(decision)
        pause = self._pause_of(name) if decision.create else None
        if pause:
            decision = replace(decision, create=())
        ask_again = hand_out(self._world, self._holds, name, free=decision.free, funds=decision.funds)
        work, due = self._run_write(snapshot, decision)
        wake = _seconds_until(decision.wake, clock.now(), None)
        waits = (one for one in (ask_again, due, pause, wake) if one is not None)
        self._queue.schedule(key, min(waits, default=None))
        return work

    def _run_write(self, snapshot: RunSnapshot, decision: RunDecision) -> tuple[_Work | None, float | None]:
        """Return the write that is due now, or in how many seconds it will be."""
        run = snapshot.run
        if decision.clear:
            return _Work(Lane.STATUS, self._write_run(run, decision)), None
        if not decision.create and not status_patch(run.meta, stored=run.status, wanted=decision.status):
            return None, None
        since = clock.monotonic() - self._run_written.get(run.meta.key, float("-inf"))
        left = least_gap(run.status, decision.status) - since
        if left > 0 and not (decision.create or decision.urgent):
            return None, left
        lane = Lane.START if decision.create else Lane.STATUS
        return _Work(lane, self._write_run(run, decision)), None

    async def _write_run(self, run: RunObject, decision: RunDecision) -> None:
        ends = decision.status.phase in ENDED_RUN_PHASES and run.status.phase not in ENDED_RUN_PHASES
        if (ends or decision.clear) and not await self._nothing_missed(run.meta.key):
            # What was missed has marked the run if it matters; what can't be taken back is decided anew.
            self._queue.add(WorkKey(Kind.RUN, *run.meta.key))
            return
        if decision.clear:
            await self._writer.clear(run, whole=decision.whole)
            return
        made, failure = (
            await self._writer.create_tasks(run, decision.create) if decision.create else ((), None)
        )
        created = (*run.status.created_tasks, *made)
        status = decision.status.model_copy(update={"created_tasks": created})
        patch = status_patch(run.meta, stored=run.status, wanted=status)
        if patch:
            await self._writer.store_run(run, patch)
        self._run_written[run.meta.key] = clock.monotonic()
        if decision.create:
            self._pause(run.meta.key, refused=isinstance(failure, RefusedError))
        if failure:
            raise failure

    def _pause_of(self, run: Key) -> float | None:
        """Return for how many seconds a run's inline tasks aren't to be asked for, None where they may be."""
        pause = self._pauses.get(run)
        left = pause.until - clock.monotonic() if pause else 0.0
        return left if left > 0 else None

    def _pause(self, run: Key, *, refused: bool) -> None:
        """Wait longer after each refusal; once nothing was refused, no more."""
        before = self._pauses.pop(run, None)
        if refused:
            least, most = CREATE_PAUSE_SECONDS
            seconds = min(most, before.seconds * 2) if before else least
            self._pauses[run] = _Pause(clock.monotonic() + seconds, seconds)

    # --- profiles -------------------------------------------------------------------------------------

    def _profile_work(self, key: WorkKey) -> _Work | None:
        name = (key.namespace, key.name)
        snapshot = self._world.profile_snapshot(name)
        if not snapshot:
            self._writer.herald.profile_gone(name)
            self._queue.schedule(key, None)
            return None
        profile = snapshot.profile
        self._writer.herald.profile_seen(profile)
        now = clock.now()
        decision = decide_profile(snapshot, now=now)
        self._world.profiles.decide(name, decision.status)
        self._queue.schedule(key, _seconds_until(decision.wake, now, None))
        patch = status_patch(profile.meta, stored=profile.status, wanted=decision.status)
        return _Work(Lane.STATUS, self._writer.store_profile(profile, patch)) if patch else None


def _seconds_until(wake: datetime | None, now: datetime, other: float | None) -> float | None:
    waits = [(wake - now).total_seconds()] if wake else []
    return min([*waits, *([other] if other is not None else [])], default=None)


def _fields(key: WorkKey) -> dict[str, str]:
    return {"kind": key.kind, "namespace": key.namespace, "object": key.name}
