"""Carries decisions out: every write that the operator makes, each of them safe to repeat.

A status is stored before anything is done that it records, so whatever a crash interrupts is found again in
it. A write that the API server refuses because somebody else wrote first is not forced: the object is read
again and the decision made anew.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
import orjson

from bernstein_operator.api.objects import ProfileObject, RunObject, TaskObject
from bernstein_operator.api.pod import Metadata, Pod, PodCondition
from bernstein_operator.api.run import InlineTask
from bernstein_operator.api.snapshot import Refusal
from bernstein_operator.api.vocabulary import AdmittedReason
from bernstein_operator.builders.envelope import envelope
from bernstein_operator.builders.inline import inline_task
from bernstein_operator.builders.patch import status_patch, stop_patch
from bernstein_operator.builders.pod import PodPlan, envelope_config_map, pod
from bernstein_operator.control.herald import Herald
from bernstein_operator.control.holds import Holds
from bernstein_operator.control.ledger import Ledger
from bernstein_operator.decisions.deadline import bounds_of
from bernstein_operator.decisions.ledger import row_of
from bernstein_operator.decisions.plan import Action, CreatePod, DeletePod, RecordAbandonment, StopPod
from bernstein_operator.decisions.refusal import can_never_be, malformed, refusal_of, taken_back
from bernstein_operator.decisions.task import decide, decide_refused
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)
from bernstein_operator.kube.resources import CONFIG_MAPS, NODES, PODS, PROFILES, RUNS, TASKS, Resource
from bernstein_operator.world.books import adapter_of
from bernstein_operator.world.world import World


class _ConfigMap(msgspec.Struct):
    """As much of a ConfigMap as tells whose it is and what it says."""

    meta: Metadata = msgspec.field(name="metadata")
    data: dict[str, str] = {}


class _NodeStatus(msgspec.Struct, frozen=True):
    conditions: list[PodCondition] = []


class _Node(msgspec.Struct, frozen=True):
    """As much of a Node as tells whether it is well; its conditions have a Pod's form."""

    status: _NodeStatus = _NodeStatus()


LOOK_AGAIN: Final = timedelta(seconds=30)
"""So long after a node was found Ready its overdue Pods are left to it."""
_NODE: Final = msgspec.json.Decoder(_Node)
_READ_AGAIN: Final = (ConflictError, NotFoundError, UnavailableError)
"""Answers to a write, or the lack of one, after which only the API server knows what is stored: a decision
made from what was stored before it could ask for a Pod that nobody wants any more."""
_POD: Final = msgspec.json.Decoder(Pod)
_CONFIG_MAP: Final = msgspec.json.Decoder(_ConfigMap)


@dataclass(frozen=True, slots=True)
class Writer:
    """The one who writes; ``clock`` gives the present moment."""

    api: KubeApi
    world: World
    holds: Holds
    herald: Herald
    clock: Callable[[], datetime]
    agent_image: str
    ledger: Ledger
    report_url: str = ""

    async def store_task(self, task: TaskObject, patch: dict[str, Any], *, urgent: bool = False) -> None:
        """Store a task's status.

        Raises:
            ConflictError: somebody else wrote first; the world has what they wrote.
            ApiError: it could not be stored.
        """
        meta = task.meta
        try:
            answer = await self.api.patch(
                TASKS, meta.namespace, meta.name, patch, subresource="status", urgent=urgent
            )
        except _READ_AGAIN:
            await self.refresh_task(task)
            raise
        stored = self.world.put_task(orjson.loads(answer))
        self.herald.task_seen(stored, role=self.world.role_of(stored), adapter=adapter_of(stored, self.world))

    async def store_run(self, run: RunObject, patch: dict[str, Any]) -> None:
        """Store a run's status; raises as ``store_task`` does."""
        meta = run.meta
        try:
            answer = await self.api.patch(RUNS, meta.namespace, meta.name, patch, subresource="status")
        except _READ_AGAIN:
            await self._refresh(RUNS, run.meta.namespace, run.meta.name, self.world.put_run)
            raise
        self.herald.run_seen(self.world.put_run(orjson.loads(answer)))

    async def store_profile(self, profile: ProfileObject, patch: dict[str, Any]) -> None:
        """Store a profile's status; raises as ``store_task`` does."""
        meta = profile.meta
        try:
            answer = await self.api.patch(PROFILES, meta.namespace, meta.name, patch, subresource="status")
        except _READ_AGAIN:
            if not await self._refresh(PROFILES, meta.namespace, meta.name, self.world.put_profile):
                self.world.drop_profile(meta)
            raise
        self.herald.profile_seen(self.world.put_profile(orjson.loads(answer)))

    async def refresh_task(self, task: TaskObject) -> None:
        """Read a task again; one that is gone leaves the world."""
        meta = task.meta
        if not await self._refresh(TASKS, meta.namespace, meta.name, self.world.put_task):
            self.world.drop_task(meta)

    async def act(self, task: TaskObject, action: Action) -> None:
        """Carry one action out."""
        match action:
            case CreatePod():
                await self._create_pod(task)
            case StopPod(pod=target, stop=stop):
                await self._stop_pod(target, stop)
            case DeletePod(pod=target, force=force):
                await self._delete_pod(target, force=force)
            case RecordAbandonment():
                await self._record(task)

    async def create_tasks(
        self, run: RunObject, entries: tuple[InlineTask, ...]
    ) -> tuple[tuple[str, ...], ApiError | None]:
        """Make inline tasks; returns the names of those that are there now, and what kept others from it.

        A refusal is about one task and is told in the run's status; any other trouble ends the pass. Those
        that were made have to be remembered in either case: one that is deleted isn't made again.
        """
        roster = self.world.roster(run.meta.key)
        made: list[str] = []
        failure: ApiError | None = None
        roster.refused = ""
        for entry in entries:
            try:
                await self._create_task(run, entry)
            except RefusedError as error:
                roster.refused = f"{entry.name}: {error.message}"
                failure = RefusedError(status=error.status, reason=error.reason, message=roster.refused)
            except ApiError as error:
                return tuple(made), error
            else:
                made.append(entry.name)
        return tuple(made), failure

    async def clear(self, run: RunObject, *, whole: bool) -> None:
        """Delete the tasks of a run that has ended, and with ``whole`` the run; their Pods go with them.

        A run that isn't as it was decided on is left: somebody may have asked it for a retry.
        """
        await self._refresh(RUNS, run.meta.namespace, run.meta.name, self.world.put_run)
        known = self.world.run(run.meta.key)
        if not known or known.meta.version != run.meta.version:
            return
        roster = self.world.roster(run.meta.key)
        for task in [one for one in roster.tasks.values() if roster.counts(one.made_by)]:
            await self._delete(TASKS, task.meta)
            self.world.drop_task(task.meta)
        if whole:
            await self._delete(RUNS, run.meta)

    async def _delete(self, resource: Resource, meta: Metadata) -> None:
        with suppress(NotFoundError, ConflictError):
            # ConflictError: another object has the name by now, so this one is gone.
            await self.api.delete(resource, meta.namespace, meta.name, uid=meta.uid)

    # --- Pods -----------------------------------------------------------------------------------------

    async def _create_pod(self, task: TaskObject) -> None:
        plan = self._plan(task)
        if not plan:
            await self._roll_back(task, None)
            return
        meta = task.meta
        try:
            if plan.needs_config_map and not await self._create_envelope(plan):
                await self._name_taken(task, f"A ConfigMap {plan.attempt.pod_name!r}")
                return
            if self._called_off(task):
                return
            answer = await self.api.create(PODS, meta.namespace, pod(plan))
        except AlreadyExistsError:
            answer = await self.api.get(PODS, meta.namespace, plan.attempt.pod_name)
        except (RefusedError, NotFoundError) as error:
            await self._refused(task, error)
            return
        found = _POD.decode(answer)
        if found.task_uid != meta.uid:
            await self._name_taken(task, f"A Pod {plan.attempt.pod_name!r}")
            return
        self.holds.accepted(meta.key)
        self.world.seen(found)

    def _called_off(self, task: TaskObject) -> bool:
        """Whether a cancel was seen since the decision; that has marked the task, so it is decided anew."""
        known, run = self.world.task(task.meta.key), self.world.run_of(task)
        return bool((known and known.cancelled) or (run and run.cancelled))

    def _plan(self, task: TaskObject) -> PodPlan | None:
        """Return what the Pod is made of; None where the task became unreadable or lost run or profile."""
        run, effective = self.world.run_of(task), self.world.effective_of(task)
        if task.invalid or not (run and run.spec and effective and task.status.attempts):
            return None
        profile = self.world.profile((task.meta.namespace, effective.profile))
        if not (profile and profile.spec):
            return None
        return PodPlan(
            task=task,
            effective=effective,
            attempt=task.status.attempts[-1],
            bounds=bounds_of(task.status, effective, run),
            profile=profile.spec,
            envelope=envelope(
                task, effective, run=run, profile=profile.spec, report_url=self.report_url
            ).to_json(),
            agent_image=self.agent_image,
            reports=bool(self.report_url),
        )

    async def _create_envelope(self, plan: PodPlan) -> bool:
        """Make the ConfigMap; returns False where one that isn't the task's is in the way.

        One that was made before a crash says the same. One that was left when the Pod was refused is of
        another time and perhaps of another spec: the next Pod must not read it.
        """
        namespace, wanted = plan.task.meta.namespace, envelope_config_map(plan)
        try:
            await self.api.create(CONFIG_MAPS, namespace, wanted)
        except AlreadyExistsError:
            found = await self._read_config_map(namespace, plan.attempt.pod_name)
        else:
            return True
        if found and found.meta.controller_uid("AgentTask") != plan.task.meta.uid:
            return False
        if found and found.data == wanted["data"]:
            return True
        if found:
            with suppress(NotFoundError):
                await self.api.delete(CONFIG_MAPS, namespace, found.meta.name, uid=found.meta.uid)
        return await self._create_envelope(plan)

    async def _read_config_map(self, namespace: str, name: str) -> _ConfigMap | None:
        try:
            return _CONFIG_MAP.decode(await self.api.get(CONFIG_MAPS, namespace, name))
        except NotFoundError:
            return None

    async def _name_taken(self, task: TaskObject, what: str) -> None:
        text = f"{what} that is not this task's is in the way."
        await self._take_back(task, Refusal(AdmittedReason.POD_NAME_CONFLICT, text))

    async def _refused(self, task: TaskObject, error: ApiError) -> None:
        if can_never_be(error.status):
            await self._fail(task, error)
            return
        refusal = refusal_of(error.message)
        if not refusal:
            raise UnavailableError(status=error.status, reason=error.reason, message=error.message)
        await self._take_back(task, refusal)

    async def _take_back(self, task: TaskObject, refusal: Refusal) -> None:
        self.holds.refused(task.meta.key, task.meta.uid, refusal)
        await self._roll_back(task, refusal)

    async def _roll_back(self, task: TaskObject, refusal: Refusal | None) -> None:
        """Store that the attempt was never begun, with what the task waits for now."""
        snapshot = self.world.task_snapshot(task.meta.key, refusal=refusal)
        if not snapshot or snapshot.task.meta.uid != task.meta.uid:
            return
        status = decide(taken_back(snapshot), now=self.clock()).status
        patch = status_patch(snapshot.task.meta, stored=snapshot.task.status, wanted=status)
        if patch:
            await self.store_task(snapshot.task, patch)

    async def _fail(self, task: TaskObject, error: ApiError) -> None:
        snapshot = self.world.task_snapshot(task.meta.key, refusal=None)
        if not snapshot:
            return
        outcome = malformed(error.message, now=self.clock())
        status = decide_refused(snapshot, outcome, now=self.clock())
        patch = status_patch(snapshot.task.meta, stored=snapshot.task.status, wanted=status)
        if patch:
            await self.store_task(snapshot.task, patch)

    async def _stop_pod(self, target: Pod, stop: str) -> None:
        meta = target.metadata
        patch = stop_patch(target, stop=stop, now=self.clock())
        try:
            answer = await self.api.patch(PODS, meta.namespace, meta.name, patch, urgent=True)
        except NotFoundError:
            self.world.gone(target)
        else:
            self.world.seen(_POD.decode(answer))

    async def _delete_pod(self, target: Pod, *, force: bool) -> None:
        meta = target.metadata
        if force and await self._node_is_ready(target.spec.node_name):
            # It may be alive: a Pod that is removed by force goes on there, unseen.
            self.world.leave_to_node(target, until=self.clock() + LOOK_AGAIN)
            return
        # Unforced, the API server removes a Pod without a node at once; only it knows whether it has one now.
        grace = 0 if force else None
        try:
            answer = await self.api.delete(PODS, meta.namespace, meta.name, uid=meta.uid, grace_seconds=grace)
        except (NotFoundError, ConflictError):
            # ConflictError: another Pod has the name by now, so this one is gone.
            self.world.gone(target)
        else:
            self.world.seen(_POD.decode(answer))

    # --- the ledger -----------------------------------------------------------------------------------

    async def _record(self, task: TaskObject) -> None:
        role, adapter = self.world.role_of(task), adapter_of(task, self.world)
        await self.ledger.record(row_of(task, self.world.run_of(task), role=role, adapter=adapter))

    async def _node_is_ready(self, name: str) -> bool:
        """Whether a node can see to its Pods' ends; one that may not be read counts as one that can't."""
        if not name:
            return False
        try:
            node = _NODE.decode(await self.api.get(NODES, "", name))
        except (NotFoundError, RefusedError):
            return False
        return any((one.type, one.status) == ("Ready", "True") for one in node.status.conditions)

    # --- tasks ----------------------------------------------------------------------------------------

    async def _create_task(self, run: RunObject, entry: InlineTask) -> None:
        body = inline_task(run, entry)
        name = body["metadata"]["name"]
        known = self.world.task((run.meta.namespace, name))
        if known and known.made_by == run.meta.uid:
            # Made before a crash that kept it from being remembered.
            return
        try:
            answer = await self.api.create(TASKS, run.meta.namespace, body)
        except AlreadyExistsError:
            answer = await self.api.get(TASKS, run.meta.namespace, name)
            if TaskObject.parse(orjson.loads(answer)).made_by != run.meta.uid:
                text = f"an AgentTask {name!r} that is not this run's is in the way"
                raise RefusedError(status=409, reason="AlreadyExists", message=text) from None
        self.world.put_task(orjson.loads(answer))

    async def _refresh(
        self, resource: Resource, namespace: str, name: str, put: Callable[[dict[str, Any]], object]
    ) -> bool:
        try:
            put(orjson.loads(await self.api.get(resource, namespace, name)))
        except NotFoundError:
            return False
        return True
