"""Wiring, nothing else: who knows whom, and what starts and stops in which order."""

import argparse
import asyncio
import logging
import os
import platform
import sys
from collections.abc import Coroutine
from typing import Any, Final, NoReturn
from uuid import uuid4

import kopf
from kubernetes.aio.config import ConfigException

from bernstein_operator import __version__
from bernstein_operator.api.names import COMPONENT_AGENT, LABEL_COMPONENT, MANAGED_BY
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.control import clock
from bernstein_operator.control.badge import Badge
from bernstein_operator.control.configs import ConfigReader
from bernstein_operator.control.controller import Controller, Marks
from bernstein_operator.control.herald import Herald
from bernstein_operator.control.holds import Holds
from bernstein_operator.control.ledger import Ledger
from bernstein_operator.control.queue import WorkQueue
from bernstein_operator.control.reporting import Reports
from bernstein_operator.control.signals import Signals
from bernstein_operator.control.sync import Sync
from bernstein_operator.control.watcher import PodWatcher
from bernstein_operator.control.writer import Writer
from bernstein_operator.decisions.amounts import limit
from bernstein_operator.handlers.ear import listen
from bernstein_operator.handlers.http import HttpServer
from bernstein_operator.handlers.reports import ReportServer
from bernstein_operator.handlers.shell import attach
from bernstein_operator.kube.api import KubeApi, unfenced
from bernstein_operator.kube.connection import Connection, connect, own_namespace
from bernstein_operator.kube.gate import Gate
from bernstein_operator.kube.informer import PodInformer
from bernstein_operator.kube.lease import (
    LEASE_TIMEOUTS,
    LOOK_SECONDS,
    Election,
    Identity,
    Tenure,
    Unopposed,
)
from bernstein_operator.kube.load_source import LoadQuery
from bernstein_operator.kube.recorder import Recorder, sent_events
from bernstein_operator.kube.tokens import Tokens
from bernstein_operator.settings import Settings, from_environment, switch
from bernstein_operator.telemetry import logs, metrics
from bernstein_operator.telemetry.run_series import run_series
from bernstein_operator.world.turns import Limits
from bernstein_operator.world.world import World

log = logging.getLogger(__name__)

AGENT_PODS: Final = f"app.kubernetes.io/managed-by={MANAGED_BY},{LABEL_COMPONENT}={COMPONENT_AGENT}"
USER_AGENT: Final = f"bernstein-operator/{__version__}"
STUCK_AFTER_SECONDS: Final = 120.0
DRAIN_SECONDS: Final = 10.0
LOAD_QUERY_SECONDS: Final = 5.0


class Operator:
    """All parts of the operator, made once and tied together."""

    def __init__(self, settings: Settings, connection: Connection) -> None:
        self._queue = WorkQueue(clock.monotonic)
        holds = Holds(clock.monotonic)
        self._marks = Marks(self._queue, holds, asleep=True)
        limits = Limits(settings.max_agents, settings.max_agents_per_namespace, settings.max_agents_total)
        self.world = World(self._marks, clock=clock.now, limits=limits, budget=settings.budget)
        tenure = Tenure(clock.monotonic)
        self._api = KubeApi(
            connection,
            user_agent=USER_AGENT,
            gate=Gate(clock.monotonic),
            fence=tenure.check if settings.leader_elect else unfenced,
        )
        # A connection of its own, and a gate that never closes for longer than the lease can bear.
        self._lease_api = KubeApi(
            connection,
            user_agent=USER_AGENT,
            gate=Gate(clock.monotonic, longest=LOOK_SECONDS),
            timeouts=LEASE_TIMEOUTS,
        )
        # What the server aggregates may be down and say for how long to wait: that is for nobody else.
        self._load_api = KubeApi(
            connection, user_agent=USER_AGENT, gate=Gate(clock.monotonic, longest=settings.load_interval)
        )
        self._load_query = _load_query(settings)
        self._signals = Signals(
            self._load_api,
            self.world,
            self._marks,
            clock=clock.now,
            everywhere=settings.namespaces == ("",),
            query=self._load_query,
            interval=settings.load_interval,
        )
        self._office = _election(settings, self._lease_api, tenure) if settings.leader_elect else Unopposed()
        self._namespaces = settings.namespaces
        self._recorder = Recorder(self._api)
        self._herald = Herald(self._recorder, instance=settings.identity)
        self._ledger = Ledger(self._api, namespaces=settings.namespaces)
        writer = Writer(
            self._api,
            self.world,
            holds,
            self._herald,
            clock.now,
            settings.agent_image,
            self._ledger,
            report_url=settings.report_url,
            task_budgets=settings.anthropic_task_budgets,
        )
        self._sync = Sync(self._api, self.world, namespaces=settings.namespaces)
        self._controller = Controller(
            self.world, self._queue, holds, writer, nothing_missed=self._sync.nothing_missed
        )
        self._informers = [
            PodInformer(self._api, PodWatcher(self._api, self.world, one), namespace=one, selector=AGENT_PODS)
            for one in settings.namespaces
        ]
        self._http = HttpServer(
            settings.http_port, alive=self._alive, ready=self._ready, observe=self._observe
        )
        self._reports = self._report_server(settings, tenure) if settings.report_url else None
        self._badge = _badge(settings, self._api) if settings.report_url and settings.pod else None
        self._deciding = False
        self._background: list[asyncio.Task[None]] = []
        self._holding: asyncio.Task[None] | None = None
        self.failed = False
        self.over = asyncio.Event()

    def _report_server(self, settings: Settings, tenure: Tenure) -> ReportServer:
        def leads() -> bool:
            return self._deciding and (tenure.left > 0 or not settings.leader_elect)

        tokens = Tokens(self._api, clock=clock.monotonic)
        return ReportServer(settings.report_port, Reports(self.world, tokens, leads=leads, clock=clock.now))

    async def listen(self) -> None:
        """Answer probes and reports from now on; OSError where a port is taken."""
        metrics.BUILD_INFO.labels(__version__, platform.python_version()).set(1)
        await self._http.start()
        if self._reports:
            await self._reports.start()

    async def start(self) -> None:
        """Start everything else; deciding waits until this process leads and all lists are complete."""
        self._holding = self._spawn(self._hold_office())
        self._background = [self._spawn(self._recorder.run()), self._spawn(self._decide())]

    async def stop(self) -> None:
        """Finish the writes that are under way, then stop everything and let the next one lead."""
        log.info("stopping")
        # kopf waits for whoever waits for this flag, for seconds if nobody sets it.
        self.over.set()
        await _cancelled(*self._background)
        drained = await self._drained()
        if self._holding:
            await _cancelled(self._holding)
        if drained and self._deciding and self._badge:
            await self._badge.take_off()
        # Otherwise whoever leads next has to wait until the lease has run out, and these writes with it.
        if drained:
            await self._office.release()

    async def _drained(self) -> bool:
        try:
            await asyncio.wait_for(self._controller.drain(), DRAIN_SECONDS)
        except TimeoutError:
            log.warning("stopped with writes under way")
            return False
        return True

    async def close(self) -> None:
        """Give back ports and connections, also after a start that failed."""
        await self._http.stop()
        if self._reports:
            await self._reports.stop()
        await self._api.close()
        await self._lease_api.close()
        await self._load_api.close()
        if self._load_query:
            await self._load_query.close()

    async def _hold_office(self) -> None:
        await self._office.run()
        _end_at_once()

    async def _decide(self) -> None:
        await self._office.looked.wait()
        # Who leads before the first list has nothing in it that is older than the lease.
        lists_are_older = not self._office.elected.is_set()
        lists = (self._sync.run(), *(one.run() for one in self._informers))
        self._background += [self._spawn(job) for job in lists]
        await self._sync.complete.wait()
        for informer in self._informers:
            await informer.synced.wait()
        log.info("lists complete", extra={"tasks": sum(1 for _ in self.world.tasks)})
        await self._office.elected.wait()
        if lists_are_older:
            await self._sync.refresh(*(one.relist for one in self._informers))
        configs = ConfigReader(self._api, self.world, clock.monotonic)
        self._background += [self._spawn(self._ledger.watch(self._look_for_rows)), self._spawn(configs.run())]
        self._background.append(self._spawn(self._signals.run()))
        await self._ledger.ready()
        profiles = self.world.profiles.objects.values()
        sent = await sent_events(self._api, self._namespaces)
        await self._herald.tell_owed(self.world.tasks, self.world.runs, profiles, sent=sent, now=clock.now())
        self._marks.wake(runs=self.world.runs, tasks=self.world.tasks, profiles=profiles)
        self._deciding = True
        if self._badge:
            self._background.append(self._spawn(self._badge.keep()))
        log.info("deciding", extra={"tasks": sum(1 for _ in self.world.tasks)})
        await self._controller.run()

    def _look_for_rows(self) -> None:
        """Look again at everything that tells of the ledger, or has a row in it."""
        abandoned = (task for task in self.world.tasks if task.status.phase is TaskPhase.ABANDONED)
        self._marks.wake(runs=self.world.runs, tasks=abandoned, profiles=())

    def _spawn(self, job: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(job)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            return
        # None of these ends by itself. A new process is better than one without a part.
        log.critical("a part of the operator died", exc_info=task.exception())
        self.failed = True
        self.over.set()

    def _alive(self) -> str:
        waited = clock.monotonic() - self._controller.beat
        decides = self._sync.complete.is_set() and len(self._queue)
        return f"no key taken for {waited:.0f} s" if decides and waited > STUCK_AFTER_SECONDS else ""

    def _ready(self) -> str:
        if not self._sync.complete.is_set():
            return "lists of runs, tasks and profiles are not complete"
        if self._office.trouble:
            return f"the lease can't be had or kept: {self._office.trouble}"
        behind = [one for one in self._informers if not (one.synced.is_set() and one.connected)]
        return "the watch of Pods is down" if behind else ""

    def _observe(self) -> None:
        # Only the leader's, so that a sum over the replicas counts nothing twice.
        leads = self._office.elected.is_set()
        metrics.QUEUE_DEPTH.set(len(self._queue))
        metrics.set_tasks(task.status.phase for task in (self.world.tasks if leads else ()))
        metrics.AGENTS_LIVE.set(self.world.live if leads else 0)
        run_series.sweep(clock.now())


def _election(settings: Settings, api: KubeApi, tenure: Tenure) -> Election:
    return Election(
        api,
        namespace=settings.lease_namespace or own_namespace(),
        name=settings.lease_name,
        me=Identity(pod=settings.pod, nonce=uuid4().hex),
        tenure=tenure,
        clock=clock.monotonic,
        now=clock.now,
    )


def _badge(settings: Settings, api: KubeApi) -> Badge:
    namespace = settings.pod_namespace or own_namespace()
    return Badge(api, namespace=namespace, pod=settings.pod, lease=settings.lease_name)


def _load_query(settings: Settings) -> LoadQuery | None:
    if not (settings.load_url and settings.load_query):
        if settings.load_url or settings.load_query:
            log.warning("a load source needs both BERNSTEIN_LOAD_URL and BERNSTEIN_LOAD_QUERY")
        return None
    return LoadQuery(settings.load_url, settings.load_query, timeout=LOAD_QUERY_SECONDS)


async def _cancelled(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _end_at_once() -> NoReturn:
    """End the process that lost its lease: an orderly end takes seconds, and may write nothing anyway."""
    log.critical("lease lost: ending")
    os._exit(1)


async def operate(settings: Settings) -> int:
    """Run until told to stop; returns the exit code."""
    try:
        connection = await connect(settings.kubeconfig)
    except ConfigException as error:
        log.critical("could not start", extra={"error": str(error)})
        return 1
    operator = Operator(settings, connection)
    registry = kopf.OperatorRegistry()
    listen(registry, operator.world)
    attach(registry, connection, start=operator.start, stop=operator.stop)
    everywhere = settings.namespaces == ("",)
    try:
        await operator.listen()
        await kopf.operator(
            registry=registry,
            standalone=True,
            clusterwide=everywhere,
            namespaces=() if everywhere else settings.namespaces,
            stop_flag=operator.over,
            # Left to itself, kopf asks for the user's name, and a container's user needs to have none.
            identity=settings.identity,  # type: ignore[arg-type]  # a NewType that kopf keeps to itself
        )
    except OSError as error:
        log.critical("could not start", extra={"error": str(error)})
        return 1
    finally:
        await operator.close()
    return 1 if operator.failed else 0


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="bernstein-operator", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the operator until it is told to stop")
    run.add_argument(
        "--kubeconfig", help="file to reach the cluster with (default: $KUBECONFIG, then in-cluster)"
    )
    run.add_argument(
        "--leader-elect", type=switch, metavar="true|false", help="lead by a Lease (default: true)"
    )
    run.add_argument(
        "--lease-namespace", help="namespace of the Lease (default: the Pod's own, else default)"
    )
    run.add_argument(
        "--max-cost-usd", type=limit, metavar="N", help="what any run may cost; 0 or less: unlimited"
    )
    options = parser.parse_args(arguments)
    settings = from_environment(
        kubeconfig=options.kubeconfig,
        leader_elect=options.leader_elect,
        lease_namespace=options.lease_namespace,
        max_cost_usd=options.max_cost_usd,
    )
    logs.configure(level=settings.log_level, as_json=settings.log_json)
    return asyncio.run(operate(settings))


if __name__ == "__main__":
    sys.exit(main())
