"""Kills an operator at one write and tells what came of it in the end.

A scenario is staged in a namespace of its own: its objects, its Pods' lives and its people (see ``player``),
one operator and one fault proxy. From the write at which the operator is to die, the proxy lets nothing more
through, so that the API server holds exactly what it would hold had the process died at that instruction;
only then the process is killed, and started again. What it knew by then makes no difference: a killed
process leaves nothing but its writes. The other thing that it may leave is a write that was on its way and
arrives late, when its successor is at work: ``Death.late``.

The lease is left out of the count: how often it is renewed depends on the time that passes.

What is compared in the end is everything that people and scripts can read: objects with times and generated
names taken out, and events.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import unified_diff
from hashlib import sha1
from pathlib import Path
from typing import Any

import yaml

from tests.support import clock
from tests.support.access import ClusterAccess
from tests.support.faults import BlackHole, Hold, Rule
from tests.support.fixtures import fresh_namespace
from tests.support.invariants import Violation, violations
from tests.support.kube import Kube, Manifest, eventually
from tests.support.operator import OperatorProcess
from tests.support.player import Cue, Part, Player
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder
from tests.support.timeline import Change, Kind, Observation, Outages, phase
from tests.support.wire import READ_VERBS, RequestRecord, Target

QUIET_SECONDS = 1.0
"""So long nothing may be written before the end is taken for the end."""
_PATIENCE = 120.0
_LOOK_SECONDS = 0.05
_LATE_NEWS = 15.0
_ENDLESS = 2**20
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_AT_THAT_MOMENT = re.compile(r"(?<=agents that go on: )\d+")
"""Told once, of one moment: how many agents are live in it is no matter of being killed."""
_BY_THEN = re.compile(r"(?<=reservationUsd: )'[\d.]+'")
"""What attempts that had ended by then cost on average; which ones had is no matter of that either."""
_UNSEEN = ("Its Pod vanished before its end was seen.", "Its Pod was deleted while it ran.")
"""Both are PodDeleted; who wasn't there can't say more."""
_KINDS = ("bernsteinruns", "agenttasks", "agentprofiles", "configmaps")
_LEDGER = "bernstein.run/ledger"
_NOT_OURS = frozenset({"kube-root-ca.crt"})
_PASSING = frozenset(
    {"resourceVersion", "managedFields", "creationTimestamp", "generation", "uid", "namespace"}
)


@dataclass(frozen=True)
class Scenario:
    """What is staged.

    ``rules`` makes fresh faults that act whatever happens to the operator; ``is_over`` says when all is done.
    """

    objects: Sequence[Manifest]
    parts: Mapping[str, Sequence[Part]]
    cues: Sequence[Sequence[Cue]]
    is_over: Callable[[Kube], object]
    rules: Callable[[], Sequence[Rule]] = tuple


@dataclass(frozen=True)
class Death:
    """The operator's end after ``write`` requests that can change something (from 1).

    With ``late`` the last of them reaches the API server only when the next operator is at work. Without
    ``events`` these don't count: a start sends many again.
    """

    write: int
    late: bool = False
    events: bool = True

    def counts(self, target: Target) -> bool:
        """Return whether the request is one of those that are counted."""
        return _may_change(target) and (self.events or target.resource != "events")


@dataclass(frozen=True)
class Outcome:
    """What came of a scenario.

    ``state`` is one text for each section, the same in every pass if all is well; ``writes`` are the requests
    that could change something, in their order; ``died_at`` are those at which an operator was killed;
    ``seconds`` is how long it took in all, ``start`` how long the last operator took to be at work.
    """

    state: Mapping[str, str]
    writes: Sequence[str]
    broken: Sequence[Violation]
    died_at: Sequence[str]
    seconds: float
    start: float

    def differences(self, other: "Outcome") -> str:
        """Return what ``other`` has otherwise, as a diff; empty if nothing."""
        return "\n".join(
            line
            for section in sorted({*self.state, *other.state})
            for line in unified_diff(
                self.state.get(section, "").splitlines(),
                other.state.get(section, "").splitlines(),
                f"undisturbed {section}",
                section,
                lineterm="",
            )
        )


class _Guillotine:
    """The rules that stop an operator's traffic at one write."""

    def __init__(self, proxy: FaultProxy, death: Death) -> None:
        self._proxy = proxy
        self._death = death
        self._seen = 0
        self._earlier = len(proxy.records)
        action = Hold() if death.late else BlackHole(forward=True)
        self._last = Rule(action=action, where=self._is_last)
        self._after = Rule(action=BlackHole(), where=self._is_after)

    def set_up(self) -> None:
        """Count from now on."""
        self._proxy.add(self._last)
        self._proxy.add(self._after)

    def has_fallen(self) -> bool:
        """Return whether the write has come, and the API server has done with it what it will do."""
        if not self._last.hits:
            return False
        return self._death.late or self.victim().status is not None

    def victim(self) -> RequestRecord:
        """Return the write at which it fell."""
        held = Hold.__name__ if self._death.late else BlackHole.__name__
        lately = self._proxy.records[self._earlier :]
        return next(record for record in lately if record.fault == held)

    def take_down(self) -> None:
        """Let a new process's requests through; a late write is still on its way."""
        self._proxy.remove(self._after)
        if not self._death.late:
            self._proxy.remove(self._last)

    def let_arrive(self) -> None:
        """Let a late write arrive."""
        self._proxy.remove(self._last)

    def _is_last(self, target: Target, _: bytes) -> bool:
        counted = self._death.counts(target)
        self._seen += counted
        return counted and self._seen == self._death.write

    def _is_after(self, _: Target, __: bytes) -> bool:
        return self._seen >= self._death.write


@dataclass
class Stage:
    """Where scenarios are played, any number at a time; ``recorder`` watches all of them."""

    access: ClusterAccess
    kube: Kube
    recorder: PodRecorder
    folder: Path

    def play(
        self, scenario: Scenario, *, deaths: Iterable[Death] = (), wanted: Outcome | None = None
    ) -> Outcome:
        """Play ``scenario``; each operator dies one of ``deaths``, the one after the last of them lives.

        Where ``wanted`` is given, what differs from it is given a while to become the same.
        """
        with fresh_namespace(self.kube) as namespace:
            folder = self.folder / namespace
            folder.mkdir()
            with FaultProxy(self.access, directory=folder) as proxy:
                performance = _Performance(self, scenario, self.kube.within(namespace), proxy, folder)
                try:
                    return performance.run(deaths, wanted)
                finally:
                    performance.kube.close()
                    self.recorder.forget(namespace)


@dataclass
class _Performance:
    """One pass."""

    stage: Stage
    scenario: Scenario
    kube: Kube
    proxy: FaultProxy
    folder: Path
    outages: Outages = field(default_factory=lambda: Outages(since=clock.now()))
    died_at: list[str] = field(default_factory=list)

    def run(self, deaths: Iterable[Death], wanted: Outcome | None) -> Outcome:
        begun = time.monotonic()
        for rule in self.scenario.rules():
            self.proxy.add(rule)
        for manifest in self.scenario.objects:
            self.kube.create(manifest)
        player = Player(self.kube, self.scenario.parts, self.scenario.cues)
        with self._operator() as operator, player.playing():
            fallen = [one for death in deaths if (one := self._life(operator, death))]
            start = self._last_start(operator)
            for guillotine in fallen:
                guillotine.let_arrive()
            eventually(self._is_over, timeout=_PATIENCE, what=f"the end in {self.folder.name}")
            state = self._settled(wanted)
        seconds = time.monotonic() - begun
        return Outcome(state, self._writes(), self._broken(), tuple(self.died_at), seconds, start)

    @contextmanager
    def _operator(self) -> Iterator[OperatorProcess]:
        operator = OperatorProcess(
            kubeconfig=self.proxy.kubeconfig,
            log=self.folder / "operator.log",
            environment={
                "BERNSTEIN_WATCH_NAMESPACES": self.kube.namespace,
                "BERNSTEIN_LEASE_NAMESPACE": self.kube.namespace,
            },
            on_up=lambda: self.outages.up(clock.now()),
            on_down=lambda: self.outages.down(clock.now()),
        )
        try:
            yield operator
        finally:
            operator.close()

    def _last_start(self, operator: OperatorProcess) -> float:
        begun = time.monotonic()
        if not operator.is_running:
            operator.start()
        return time.monotonic() - begun

    def _life(self, operator: OperatorProcess, death: Death) -> _Guillotine | None:
        """Start the operator and kill it when its write has come; None if that never comes."""
        if operator.is_running:
            return None
        guillotine = _Guillotine(self.proxy, death)
        guillotine.set_up()
        operator.start(wait=False)
        while not guillotine.has_fallen():
            if self._is_quiet() and self._is_over():
                guillotine.take_down()
                return None
            time.sleep(_LOOK_SECONDS)
        operator.kill()
        self.died_at.append(_label(guillotine.victim()))
        guillotine.take_down()
        return guillotine

    def _is_over(self) -> object:
        return self.scenario.is_over(self.kube)

    def _is_quiet(self) -> bool:
        written = [one.time for one in self.proxy.records if _may_change(one)]
        return bool(written) and clock.now() - written[-1] > QUIET_SECONDS

    def _settled(self, wanted: Outcome | None) -> Mapping[str, str]:
        until = time.monotonic() + _LATE_NEWS
        while True:
            eventually(self._is_quiet, timeout=_PATIENCE, what="that nothing is written any more")
            state = self._state()
            if wanted is None or state == wanted.state or time.monotonic() > until:
                return state
            time.sleep(0.2)

    def _broken(self) -> list[Violation]:
        limits = self.stage.recorder.limits
        return violations(self._observed(), now=clock.now(), outages=self.outages, limits=limits)

    def _writes(self) -> list[str]:
        return [_label(record) for record in self.proxy.records if _may_change(record)]

    def _observed(self) -> list[Observation]:
        self.stage.recorder.catch_up()
        namespace = self.kube.namespace
        observations = self.stage.recorder.observations
        return [seen for seen in observations if seen.manifest["metadata"]["namespace"] == namespace]

    def _state(self) -> dict[str, str]:
        observed = self._observed()
        words = _Words(observed, self.kube.namespace)
        objects = {kind: [_lasting(one) for one in self.kube.items(kind) if _is_ours(one)] for kind in _KINDS}
        sections = {**objects, "pods": list(_pods(observed)), "events": _events(self.kube)}
        return {
            section: words.plain(yaml.safe_dump(found, width=_ENDLESS)) for section, found in sections.items()
        }


def _may_change(request: Target | RequestRecord) -> bool:
    return request.verb not in READ_VERBS and request.resource != "leases"


def _label(record: RequestRecord) -> str:
    name = re.sub(r"-[0-9a-f]{6}-a(\d+)$|\.[0-9a-f]{16}$", r" a\1", record.name)
    return f"{record.verb} {record.kind} {name}".rstrip(" a")


def _is_ours(manifest: Manifest) -> bool:
    return manifest["metadata"]["name"] not in _NOT_OURS


def _lasting(manifest: Mapping[str, Any]) -> Manifest:
    kept = {key: value for key, value in manifest["metadata"].items() if key not in _PASSING}
    return {**manifest, "metadata": kept, **_rows(manifest)}


def _rows(manifest: Mapping[str, Any]) -> Manifest:
    """Return a ledger's rows in an order that doesn't follow from UIDs; nothing for what is no ledger."""
    if _LEDGER not in manifest["metadata"].get("labels", {}):
        return {}
    rows = [json.loads(row) | {"timestamp": "<time>"} for row in manifest["data"].values()]
    return {"data": sorted(rows, key=lambda row: str(row["task_id"]))}


def _pods(observed: Sequence[Observation]) -> Iterator[Manifest]:
    """Yield the last state of every Pod that there ever was, by name."""
    last = {seen.uid: seen for seen in observed if seen.kind is Kind.POD}
    for seen in sorted(last.values(), key=lambda seen: seen.key):
        facts = {key: seen.manifest[key] for key in ("metadata", "spec")}
        yield {**_lasting(facts), "gone": seen.change is Change.DELETED, "phase": phase(seen.manifest)}


def _events(kube: Kube) -> list[str]:
    """Return what was told: of whom, the reason, the note, and how often."""
    return sorted(
        f"{event['regarding']['name']} {event['type']} {event['reason']}: {event['note']}"
        f" (Pod {event.get('related', {}).get('name')}, {event['reportingController']})"
        for event in kube.items("events.events.k8s.io")
        if event.get("reportingController", "").startswith("bernstein.run/")
    )


class _Words:
    """Says of what was drawn at random whose it is."""

    def __init__(self, observed: Sequence[Observation], namespace: str) -> None:
        self._names = {namespace: "<namespace>"}
        for seen in observed:
            name = seen.manifest["metadata"]["name"]
            if seen.kind in (Kind.TASK, Kind.RUN):
                self._names[sha1(seen.uid.encode(), usedforsecurity=False).hexdigest()[:6]] = "<hash>"
            self._names[seen.uid] = f"<uid of {seen.kind} {name}>"

    def plain(self, text: str) -> str:
        """Return ``text`` without anything that differs from pass to pass."""
        text = _BY_THEN.sub("<some>", _AT_THAT_MOMENT.sub("<some>", _TIME.sub("<time>", text)))
        text = text.replace(*_UNSEEN)
        longest_first = sorted(self._names, key=len, reverse=True)
        for drawn in longest_first:
            text = text.replace(drawn, self._names[drawn])
        return text
