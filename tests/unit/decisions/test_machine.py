"""One task's life under whatever order of events a small model of the API server can think of.

The model stores task and run as JSON, keeps Pods, and carries decisions out exactly as asked. A Pod's life is
played at random, and the operator may be killed between any two of its writes. What must hold is checked
after every step.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bernstein_operator.api.objects import Key
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import SETTLED_PHASES
from bernstein_operator.builders.patch import status_patch
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.plan import (
    Action,
    CreatePod,
    DeletePod,
    RecordAbandonment,
    StopPod,
    TaskDecision,
)
from bernstein_operator.decisions.task import decide
from bernstein_operator.world.world import World
from tests.unit.objects import (
    T0,
    Raw,
    merged,
    pod,
    raw_profile,
    raw_run,
    raw_task,
    running,
    said,
    stamp,
    terminated,
)

TASK, RUN = ("ns", "t"), ("ns", "r")
PROFILE: Raw = {"models": [{"name": "small"}, {"name": "big"}], "memoryGrowth": {"max": "2Gi"}}
CLASSES = [
    "success",
    "business",
    "agent",
    "deadline",
    "contract",
    "transient",
    "oom",
    "capacity",
    "disruption",
    "abandoned",
    "task_budget",
    "asked",
]


class Quiet:
    """Marks that nobody acts on: the machine looks at its task whenever it likes."""

    def task(self, key: Key) -> None:
        """Leave it."""

    def run(self, key: Key) -> None:
        """Leave it."""

    def profile(self, key: Key) -> None:
        """Leave it."""

    def freed(self, namespace: str) -> None:
        """Leave it."""


class OneTask(RuleBasedStateMachine):
    """The API server, the nodes, a person, and the operator's passes."""

    spec: ClassVar[Raw] = {}

    def __init__(self) -> None:
        super().__init__()
        self.now = T0
        self.version = 1
        self.task: Raw = raw_task(
            **{"retry": {"limit": 1, "backoffSeconds": 10}, **self.spec},
            timeoutSeconds=60,
            startTimeoutSeconds=30,
        )
        self.run: Raw | None = raw_run(max_agents=2)
        self.pods: dict[str, Raw] = {}
        self.old_pods: list[Pod] = []
        self.old_tasks: list[Raw] = []
        self.stood: Raw = {}
        self.asked = 0
        self.world = self._fresh_world()

    # --- the API server -------------------------------------------------------------------------------

    def _next(self) -> int:
        self.version += 1
        return self.version

    def _fresh_world(self) -> World:
        """Return the world of an operator that has just listed everything."""
        world = World(Quiet(), clock=lambda: self.now)
        world.put_profile(raw_profile(**PROFILE))
        if self.run:
            world.put_run(self.run)
        world.put_task(self.task)
        for options in self.pods.values():
            world.seen(pod(**options))
        return world

    def _store(self, status: AgentTaskStatus) -> None:
        task = self.world.task(TASK)
        assert task
        patch = status_patch(task.meta, stored=task.status, wanted=status)
        if patch:
            self._change_task(status=merged(self.task["status"], patch["status"]))

    def _change_task(self, **parts: Raw) -> None:
        metadata = {
            **self.task["metadata"],
            **parts.pop("metadata", {}),
            "resourceVersion": str(self._next()),
        }
        self.task = {**self.task, **parts, "metadata": metadata}
        self.world.put_task(self.task)
        self.old_tasks.append(self.task)

    def _change_run(self, **options: Any) -> None:
        self.run = raw_run(version=self._next(), **options)
        self.world.put_run(self.run)

    def _change_pod(self, name: str, **changes: Any) -> None:
        self._show_pod(name, {**self.pods[name], **changes, "version": self._next()})

    def _show_pod(self, name: str, options: Raw) -> None:
        self.pods[name] = options
        self.old_pods.append(pod(**options))
        self.world.seen(pod(**options))

    def _remove_pod(self, name: str) -> None:
        self.world.gone(pod(**{**self.pods.pop(name), "version": self._next()}))

    # --- the operator ---------------------------------------------------------------------------------

    def _snapshot(self, world: World | None = None) -> TaskSnapshot:
        found = (world or self.world).task_snapshot(TASK, refusal=None)
        assert found
        return found

    def _act(self, action: Action) -> None:
        match action:
            case CreatePod():
                self._create()
            case StopPod(pod=target, stop=stop):
                if target.metadata.name in self.pods:
                    self._change_pod(target.metadata.name, stop=stop, stopped=self._seconds())
            case DeletePod(pod=target, force=force):
                if target.metadata.name in self.pods:
                    self._delete(target.metadata.name, force=force)
            case RecordAbandonment():
                raise AssertionError("here every row is written")

    def _create(self) -> None:
        assert not self._snapshot().task.cancelled, "no Pod is created after a cancel was seen"
        run = self._snapshot().run
        assert run is None or not run.cancelled, "no Pod is created after the run's cancel was seen"
        attempt = self._snapshot().task.status.attempts[-1]
        if attempt.pod_name in self.pods:
            return
        number = self._next()
        options = {"name": attempt.pod_name, "uid": f"pod-{number}", "version": number}
        self._show_pod(attempt.pod_name, {**options, "created": self._seconds(), "node": ""})

    def _delete(self, name: str, *, force: bool) -> None:
        if force or not self.pods[name]["node"]:
            self._remove_pod(name)
        elif "deleted" not in self.pods[name]:
            self._change_pod(name, deleted=self._seconds() + 10)

    def _seconds(self) -> float:
        return (self.now - T0).total_seconds()

    @rule(writes=st.sampled_from([9, 9, 9, 1, 2]))
    def operate(self, writes: int) -> None:
        """Decide, give the slot away, decide again and write; the operator is killed after so many writes."""
        self._place(self._decide())
        self.world.grant(RUN, free=max(0, 2 - self.world.roster(RUN).live))
        decision = self._decide()
        self._place(decision)
        acts = [partial(self._act, one) for one in decision.actions]
        todo: list[Callable[[], None]] = [partial(self._store, decision.status), *acts]
        for write in todo[:writes]:
            write()
        if writes < len(todo):
            self.restart()

    def _place(self, decision: TaskDecision) -> None:
        task = self._snapshot().task
        if not open_attempt(decision.status):
            self.world.slots.offer(task, decision.candidate)
        if not (open_attempt(decision.status) or decision.candidate):
            self.world.slots.release(task)

    def _decide(self) -> TaskDecision:
        return decide(self._snapshot(), now=self.now)

    @rule()
    def restart(self) -> None:
        """Kill the operator and start another."""
        self.old_pods, self.old_tasks = [], []
        self.world = self._fresh_world()

    @precondition(lambda self: self.old_tasks)
    @rule(place=st.integers(0, 99))
    def late_news_of_the_task_arrives(self, place: int) -> None:
        """A watch brings what was so some time ago."""
        self.world.put_task(self.old_tasks[place % len(self.old_tasks)])

    @precondition(lambda self: self.old_pods)
    @rule(place=st.integers(0, 99))
    def late_news_of_a_pod_arrives(self, place: int) -> None:
        """A watch brings what was so some time ago, of a Pod that this operator has seen."""
        self.world.seen(self.old_pods[place % len(self.old_pods)])

    # --- time, nodes, people --------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 5, 10, 31, 61, 130]))
    def time_passes(self, seconds: int) -> None:
        """Let time go on."""
        self.now += timedelta(seconds=seconds)

    def _alive(self, *, started: bool | None = None) -> list[str]:
        found = [
            name for name, one in self.pods.items() if one.get("phase", "Pending") in ("Pending", "Running")
        ]
        return [name for name in found if started is None or started == ("agent" in self.pods[name])]

    @precondition(lambda self: self._alive(started=False))
    @rule()
    def a_node_takes_a_pod(self) -> None:
        """A Pod is scheduled, and its image is still to be pulled."""
        self._change_pod(self._alive(started=False)[0], node="n")

    @precondition(lambda self: self._alive(started=False))
    @rule()
    def a_pod_is_scheduled_and_starts(self) -> None:
        """A node takes a Pod and starts its agent."""
        name = self._alive(started=False)[0]
        self._change_pod(name, node="n", phase="Running", agent=running(self._seconds()))

    @precondition(lambda self: self._alive(started=True))
    @rule(
        result_class=st.sampled_from(CLASSES),
        exit_code=st.sampled_from([0, 1, 70, 137]),
        speaks=st.booleans(),
    )
    def an_agent_ends(self, result_class: str, exit_code: int, speaks: bool) -> None:
        """An agent ends, with or without a word."""
        name = self._alive(started=True)[0]
        started = (
            datetime.fromisoformat(self.pods[name]["agent"]["running"]["startedAt"]) - T0
        ).total_seconds()
        message = said(name, result_class) if speaks else ""
        state = terminated(exit_code, start=started, end=self._seconds(), message=message)
        self._change_pod(name, phase="Failed" if exit_code else "Succeeded", agent=state)

    @precondition(lambda self: self._alive())
    @rule()
    def a_pod_is_evicted(self) -> None:
        """A node throws a Pod out and forgets its containers."""
        self._change_pod(self._alive()[0], phase="Failed", reason="Evicted", agent=None)

    @precondition(lambda self: self.pods)
    @rule()
    def somebody_deletes_a_pod_while_the_operator_is_away(self) -> None:
        """A Pod is deleted and nobody sees it go."""
        self._delete(next(iter(self.pods)), force=True)
        self.restart()

    @precondition(lambda self: self.pods)
    @rule()
    def somebody_deletes_a_pod(self) -> None:
        """A person or a drain deletes a Pod."""
        self._delete(next(iter(self.pods)), force=False)

    @precondition(lambda self: any("deleted" in one for one in self.pods.values()))
    @rule()
    def a_deleted_pod_is_gone(self) -> None:
        """A node lets go of a Pod that was being deleted."""
        self._remove_pod(next(name for name, one in self.pods.items() if "deleted" in one))

    @rule()
    def cancel_the_task(self) -> None:
        """A person cancels the task."""
        self._annotate("cancel", "true")

    @rule(verb=st.sampled_from(["retry", "retry", "answer", "answer", "abandon", "quarantine"]))
    def ask_for_something_else(self, verb: str) -> None:
        """A person answers, retries, abandons or puts into quarantine, each time in other words."""
        self.asked += 1
        self._annotate(verb, f"no {self.asked}")

    def _annotate(self, verb: str, value: str) -> None:
        # Nobody asks twice in one moment.
        self.now += timedelta(milliseconds=1)
        known = self.task["metadata"].get("annotations", {})
        self._change_task(metadata={"annotations": {**known, f"bernstein.run/{verb}": value}})

    @rule(
        options=st.sampled_from([{}, {"suspend": True}, {"cancel": "true"}, {"status": {"phase": "Failed"}}])
    )
    def the_run_changes(self, options: Raw) -> None:
        """The run is made, suspended, resumed, cancelled, or ends."""
        self._change_run(max_agents=2, **options)

    @precondition(lambda self: self.run)
    @rule()
    def the_run_is_deleted(self) -> None:
        """The run goes away, and the task, which only names it, stays."""
        known = self.world.run(RUN)
        self.run = None
        if known:
            self.world.drop_run(known.meta)

    # --- what must hold -------------------------------------------------------------------------------

    @invariant()
    def never_two_live_pods(self) -> None:
        """A task has one live Pod at most."""
        assert len(self._alive()) <= 1

    @invariant()
    def an_end_stays_the_end(self) -> None:
        """What is final never changes; what a person may let out of changes by a person only."""
        old, new = self.stood, self.task["status"]
        left, phase = old.get("phase", "Pending"), new.get("phase", "Pending")
        self.stood = new
        retried = new.get("retriedTime") != old.get("retriedTime")
        if left == "Quarantined":
            assert phase in ("Quarantined", "Cancelled", "Abandoned") or retried
        elif left == "Failed":
            assert phase == "Failed" or retried
        elif left == "AwaitingInput":
            answered = new.get("answer") != old.get("answer")
            assert phase not in ("Pending", "Running", "Succeeded") or retried or answered
        elif left in SETTLED_PHASES:
            assert phase == left

    @invariant()
    def no_decision_leads_where_none_may(self) -> None:
        """Whatever has happened, the rules agree with the table of phases."""
        assert self._decide().illegal == ""

    @invariant()
    def retries_are_never_exceeded(self) -> None:
        """An attempt more than the counters allow never begins."""
        status = self._snapshot().task.status
        if status.retried_time:
            return
        ended = [one for one in status.attempts if one.end_time]
        counted = status.retries + status.disruptions + status.rate_limits
        uncounted = sum(
            one.result_class in ("success", "cancelled", "contract", "abandoned", "asked", "task_budget")
            for one in ended
        )
        assert status.retries <= 2
        assert status.attempt <= counted + uncounted + 2 or status.attempt > 10

    @invariant()
    def nothing_runs_while_a_person_is_asked(self) -> None:
        """A task that waits for an answer says what it asks, and has no attempt."""
        status = self._snapshot().task.status
        if status.phase == "AwaitingInput":
            assert status.question
            assert not status.answer
            assert not open_attempt(status)

    @invariant()
    def every_write_is_one_the_api_takes(self) -> None:
        """What is stored reads back as it was meant."""
        assert self._snapshot().task.invalid == ""

    @invariant()
    def deciding_twice_changes_nothing(self) -> None:
        """Once a decision's status is stored, the same moment has no more to write."""
        decision = self._decide()
        kept = self.task, self.version, self.world, self.old_tasks
        self.old_tasks = []
        self.world = self._fresh_world()
        for one in self._snapshot_gone(kept[2]):
            self.world.gone(one)
        self._store(decision.status)
        assert self._decide().status == self._snapshot().task.status
        self.task, self.version, self.world, self.old_tasks = kept

    def _snapshot_gone(self, world: World) -> list[Pod]:
        return [one.pod for one in self._snapshot(world).sightings if one.gone]

    @invariant()
    def a_restart_changes_no_decision(self) -> None:
        """A new operator decides as the old one does, but for slots, last words and courtesies."""
        snapshot = self._snapshot()
        if snapshot.has_slot or snapshot.run_gone_since or any(one.gone for one in snapshot.sightings):
            return
        old, new = self._decide(), decide(self._snapshot(self._fresh_world()), now=self.now)
        assert _essence(new) == _essence(old)


def _essence(decision: TaskDecision) -> tuple[object, ...]:
    return decision.status.model_copy(update={"conditions": ()}), decision.actions, decision.candidate


class OneTaskThatActsOutside(OneTask):
    """The same for a task whose work can't be done twice, and which is given up rather than failed."""

    spec: ClassVar[Raw] = {
        "effects": "external",
        "retry": {"limit": 1, "backoffSeconds": 10, "onExhausted": "Abandon"},
    }

    @invariant()
    def nothing_follows_an_attempt_that_may_have_acted(self) -> None:
        """Without a person's word no attempt follows one whose effects are unknown."""
        status = self._snapshot().task.status
        cut_short = ("deadline", "disruption", "oom")
        assert not [one for one in status.attempts if one.start_time and one.result_class in cut_short]
        if any(one.result_class == "unknown" for one in status.attempts) and not status.retried_time:
            assert status.phase in ("Quarantined", "Cancelled", "Abandoned")


class OneTaskWithADeadline(OneTask):
    """The same for a task that has to be done by a moment, which is granted again."""

    spec: ClassVar[Raw] = {"deadline": stamp(100), "deadlineWarningSeconds": 20}

    @invariant()
    def no_limit_is_told_twice(self) -> None:
        """Each limit of an attempt is warned of once, before it is over."""
        deadline = self._snapshot().task.status.deadline
        warned = deadline.warned if deadline else ()
        told = [(one.attempt, one.limit) for one in warned]
        assert len(told) == len(set(told))
        assert all(timedelta() < one.at - one.time <= timedelta(seconds=20) for one in warned)

    @invariant()
    def nothing_begins_too_late(self) -> None:
        """No attempt is decided on once the deadline that holds has passed."""
        decision = self._decide()
        begun = decision.status.attempt > self._snapshot().task.status.attempt
        holds = decision.status.deadline.effective if decision.status.deadline else None
        assert not (begun and holds and self.now >= holds)


class OneTaskThatAsks(OneTask):
    """The same for a task that asks rather than fails, and doesn't wait long for its answer."""

    spec: ClassVar[Raw] = {
        "retry": {"limit": 1, "backoffSeconds": 10, "onExhausted": "AwaitInput"},
        "budget": {"usd": "1.00", "mode": "hard-stop-on-zero"},
        "inputTimeoutSeconds": 60,
    }

    @invariant()
    def retries_are_never_exceeded(self) -> None:
        """An answer gives as many retries as at first, never more at once."""
        assert self._snapshot().task.status.retries <= 2

    @invariant()
    def nobody_is_asked_for_longer_than_said(self) -> None:
        """A question that nobody has answered in time is none any more once the task was looked at."""
        decided = self._decide().status
        if decided.phase == "AwaitingInput" and decided.question:
            assert self.now < decided.question.deadline


TestOneTask = OneTask.TestCase
TestOneTask.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestOneTaskWithADeadline = OneTaskWithADeadline.TestCase
TestOneTaskWithADeadline.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
TestOneTaskThatActsOutside = OneTaskThatActsOutside.TestCase
TestOneTaskThatActsOutside.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
TestOneTaskThatAsks = OneTaskThatAsks.TestCase
TestOneTaskThatAsks.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
