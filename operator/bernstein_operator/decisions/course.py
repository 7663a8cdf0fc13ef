"""What the steps of a task's decision hand from one to the next, and what all of them may look at."""

from dataclasses import dataclass
from datetime import datetime

from bernstein_operator.api.choices import Effects
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.snapshot import Sighting, TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, TaskPhase
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.decisions.conditions import Standing
from bernstein_operator.decisions.deadline import Bounds, bounds_of
from bernstein_operator.decisions.plan import Action


@dataclass(frozen=True, slots=True)
class Course:
    """A task's status on its way through the steps, and what its conditions are to say."""

    status: AgentTaskStatus
    standing: Standing | None = None
    actions: tuple[Action, ...] = ()
    candidate: Candidate | None = None
    wake: tuple[datetime | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What every step needs: the picture, the spec with its defaults, and the time."""

    snapshot: TaskSnapshot
    effective: EffectiveTask
    now: datetime

    def bounds(self, status: AgentTaskStatus) -> Bounds:
        """Return what the attempt that is open in ``status`` is allowed, or else the next one."""
        return bounds_of(status, self.effective, self.snapshot.run)

    @property
    def cancelled(self) -> bool:
        """Whether a person asked for the end of the task or of its run."""
        return self.snapshot.task.cancelled or self.run_cancelled

    @property
    def run_cancelled(self) -> bool:
        """Whether the run's end was asked for in time: once it had ended, that is ignored."""
        run = self.snapshot.run
        return bool(run and run.cancelled and (run.status.cancel_requested or self._run_goes_on))

    @property
    def run_drained(self) -> bool:
        """Whether it was asked in time that the run's live agents finish and nothing more."""
        run = self.snapshot.run
        return bool(run and run.drained and (run.status.drain_requested or self._run_goes_on))

    @property
    def has_repository(self) -> bool:
        """Whether success means a commit."""
        run = self.snapshot.run
        return bool(run and run.spec and run.spec.repository) and self.effective.effects is not Effects.NONE

    @property
    def profile(self) -> AgentProfileSpec | None:
        """What the task's profile says, where there is one that can be read."""
        return self.snapshot.profile.spec if self.snapshot.profile else None

    @property
    def _run_goes_on(self) -> bool:
        run = self.snapshot.run
        return run is not None and run.status.phase not in ENDED_RUN_PHASES

    def sighting(self, pod: str) -> Sighting | None:
        """Return what is known of the task's Pod of that name."""
        return next((one for one in self.snapshot.sightings if one.pod.metadata.name == pod), None)


def settled(status: AgentTaskStatus, phase: TaskPhase, reason: str, message: str, at: datetime) -> Course:
    """Return the course of a task whose own work ended in ``phase``."""
    changes = {"phase": phase, "completion_time": at, "next_attempt_time": None, "blocked_by": None}
    return Course(status.model_copy(update=changes), Standing(reason=reason, message=message))
