"""Plays all Pods of a namespace, and the people around them, by a script and beside the test.

A test that kills the operator at any moment can't play the Pods' lives itself: it doesn't know what is there
by then. So a thread looks at every Pod again and again and does what its part says comes next, as a kubelet
would, whether an operator is at work or not. What a person does waits for what a person can see.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.support.kube import ApiError, Kube, Manifest
from tests.support.pods import (
    attempt_of,
    bind,
    end_pod,
    remove_pod,
    set_pod_running,
    set_pod_waiting,
)
from tests.support.timeline import LABEL_TASK, is_live

STOP = "bernstein.run/stop"
_LOOK_SECONDS = 0.2
_LIFE_SECONDS = 0.4
_RACES = frozenset({404, 409, 422})
"""Answers that only say that somebody was faster: looked at again in a moment."""

Deed: TypeAlias = Callable[[Kube, Manifest], object]
Sight: TypeAlias = Callable[[Kube], object]


def goes_on(_: Kube, __: Manifest) -> None:
    """Run until told to stop."""


@dataclass(frozen=True)
class Part:
    """One Pod's life: it runs, and ends by ``end`` a moment later, at the earliest when ``when`` holds.

    With ``image_problem`` its image can't be had, for the reason named; with ``starts`` False it only waits.
    """

    end: Deed = goes_on
    when: Sight = bool
    starts: bool = True
    image_problem: str = ""


@dataclass(frozen=True)
class Cue:
    """What a person does, and what that person waits to see first."""

    when: Sight
    do: Sight


@dataclass
class Player:
    """Plays ``parts`` (by AgentTask, one for each attempt) and ``cues`` (each sequence in its order)."""

    kube: Kube
    parts: Mapping[str, Sequence[Part]]
    cues: Sequence[Sequence[Cue]] = ()
    failure: Exception | None = None
    _since: dict[str, float] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Play for the body of a with statement; what went wrong meanwhile is raised at its end."""
        thread = threading.Thread(target=self._play, name="player", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()
        if self.failure:
            raise self.failure

    def _play(self) -> None:
        waiting = [list(sequence) for sequence in self.cues]
        try:
            while not self._over.wait(_LOOK_SECONDS):
                for pod in self.kube.items("pods"):
                    self._attempt(lambda pod=pod: self._act(pod))  # type: ignore[misc]
                for sequence in filter(None, waiting):
                    if self._attempt(lambda cue=sequence[0]: self._follow(cue)):  # type: ignore[misc]
                        sequence.pop(0)
        except Exception as error:  # noqa: BLE001 - raised again in the test's own thread
            self.failure = error

    def _attempt(self, deed: Callable[[], object]) -> object:
        try:
            return deed()
        except ApiError as error:
            if error.status not in _RACES:
                raise
            return None

    def _follow(self, cue: Cue) -> bool:
        if not cue.when(self.kube):
            return False
        cue.do(self.kube)
        return True

    def _act(self, pod: Manifest) -> None:
        if "deletionTimestamp" in pod["metadata"]:
            remove_pod(self.kube, pod["metadata"]["name"])
            return
        if not is_live(pod):
            return
        part = self.parts[pod["metadata"]["labels"][LABEL_TASK]][attempt_of(pod) - 1]
        if "nodeName" not in pod["spec"]:
            bind(self.kube, pod["metadata"]["name"])
        elif "startTime" not in pod["status"]:
            self._start(pod, part)
        elif STOP in pod["metadata"].get("annotations", {}):
            end_pod(self.kube, pod, "Failed", 143, "Error")
        elif self._has_lived(pod) and part.when(self.kube):
            part.end(self.kube, pod)

    def _start(self, pod: Manifest, part: Part) -> None:
        if part.image_problem:
            set_pod_waiting(self.kube, pod, reason=part.image_problem)
        elif part.starts:
            set_pod_running(self.kube, pod)

    def _has_lived(self, pod: Manifest) -> bool:
        now = time.monotonic()
        return now - self._since.setdefault(pod["metadata"]["uid"], now) >= _LIFE_SECONDS


def vanishes(kube: Kube, pod: Manifest) -> None:
    """Be gone at once, as with a node."""
    remove_pod(kube, pod["metadata"]["name"])
