"""As much of an API server as the operator's writes need: objects by path, versions, merge patches."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from bernstein_operator.control import clock
from bernstein_operator.control.controller import Controller, Marks
from bernstein_operator.control.herald import Herald
from bernstein_operator.control.holds import Holds
from bernstein_operator.control.ledger import Ledger
from bernstein_operator.control.queue import WorkQueue
from bernstein_operator.control.sync import Sync
from bernstein_operator.control.writer import Writer
from bernstein_operator.kube.recorder import Recorder
from bernstein_operator.world.world import World
from tests.unit.kube.server import Asked, Server, serving
from tests.unit.objects import Raw, merged, raw_profile

ROOT = "/apis/bernstein.run/v1alpha1/namespaces/ns"
PROFILE = f"{ROOT}/agentprofiles/default"
PODS = "/api/v1/namespaces/ns/pods"
CONFIG_MAPS = "/api/v1/namespaces/ns/configmaps"


@dataclass
class Cluster(Server):
    """Objects by path; ``refusals`` are given to creations, by their path, before any is accepted,
    and ``denials`` to whoever reads an object, by its path.

    ``holds`` and ``writer`` are the operator's own.
    """

    objects: dict[str, Raw] = field(default_factory=dict)
    refusals: dict[str, deque[tuple[int, Raw]]] = field(default_factory=dict)
    denials: dict[str, tuple[int, Raw]] = field(default_factory=dict)
    version: int = 100
    holds: Holds = field(init=False)
    writer: Writer = field(init=False)

    def refuse(
        self, path: str, status: int, message: str, *, reason: str = "Forbidden", name: str = ""
    ) -> None:
        """Prepare a refusal of a creation under ``path``, of any or of the object called ``name``."""
        answer = {"kind": "Status", "reason": reason, "message": message}
        self.refusals.setdefault(f"{path}/{name}", deque()).append((status, answer))

    def next(self, asked: Asked, /) -> tuple[int, Any, dict[str, str]]:
        """Do what is asked."""
        path = asked.path.removesuffix("/status")
        match asked.method:
            case "POST":
                return *self._create(path, asked.body), {}
            case "PATCH":
                return *self._patch(path, asked.body), {}
            case _ if path in (f"{ROOT}/agenttasks", CONFIG_MAPS):
                items = [one for where, one in self.objects.items() if where.startswith(f"{path}/")]
                return 200, {"metadata": {"resourceVersion": str(self.version)}, "items": items}, {}
            case "GET" if path in self.denials:
                return *self.denials[path], {}
            case "DELETE":
                return 200, self.objects.pop(path), {}
            case _:
                found = self.objects.get(path)
                return (200, found, {}) if found else (404, {"reason": "NotFound"}, {})

    def _patch(self, path: str, body: Raw) -> tuple[int, Raw]:
        known = self.objects[path]
        meant = body.get("metadata", {}).get("resourceVersion")
        if meant and meant != known["metadata"]["resourceVersion"]:
            return 409, {"reason": "Conflict", "message": "the object has been modified"}
        self._store(path, merged(known, body))
        return 200, self.objects[path]

    def _create(self, path: str, body: Raw) -> tuple[int, Raw]:
        name = body["metadata"]["name"]
        where = f"{path}/{name}"
        for meant in (f"{path}/", where):
            if self.refusals.get(meant):
                return self.refusals[meant].popleft()
        if where in self.objects:
            return 409, {"reason": "AlreadyExists", "message": f"{name} already exists"}
        self._store(where, merged(body, {"metadata": {"uid": f"{name}-uid", "namespace": "ns"}}))
        return 201, self.objects[where]

    def _store(self, path: str, thing: Raw) -> None:
        self.version += 1
        self.objects[path] = merged(thing, {"metadata": {"resourceVersion": str(self.version)}})

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for something to hold; give up where a person would."""
        async with asyncio.timeout(8):
            # The writes are of tasks of the operator's own, which have no event to wait for.
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    def created(self, path: str) -> list[str]:
        """Return the names of all objects that were asked for under ``path``, refused ones too."""
        return [
            one.body["metadata"]["name"] for one in self.asked if (one.method, one.path) == ("POST", path)
        ]


@asynccontextmanager
async def operating(run: Raw, *tasks: Raw, missed: Sequence[Raw] = ()) -> AsyncIterator[Cluster]:
    """Run the operator's loop on a run and its tasks; no watch ever tells it of those that it ``missed``."""
    cluster, queue, holds = Cluster(), WorkQueue(clock.monotonic), Holds(clock.monotonic)
    async with serving(cluster):
        world = World(Marks(queue, holds), clock=clock.now)
        herald = Herald(Recorder(cluster.api), instance="test")
        ledger = Ledger(cluster.api, namespaces=("ns",))
        writer = Writer(cluster.api, world, holds, herald, clock.now, "agent:test", ledger)
        sync = Sync(cluster.api, world, namespaces=("ns",))
        controller = Controller(world, queue, holds, writer, sync.nothing_missed)
        cluster.holds, cluster.writer = holds, writer
        cluster.objects[f"{ROOT}/bernsteinruns/{run['metadata']['name']}"] = run
        cluster.objects.update(
            {f"{ROOT}/agenttasks/{one['metadata']['name']}": one for one in (*tasks, *missed)}
        )
        cluster.objects[PROFILE] = raw_profile()
        world.put_profile(raw_profile())
        world.put_run(run)
        for task in tasks:
            world.put_task(task)
        await ledger.load()
        cluster.asked.clear()
        running = asyncio.create_task(controller.run())
        try:
            yield cluster
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            await controller.drain()
