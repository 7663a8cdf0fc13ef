"""The turns of an agent's program: it is started with its prompt, and may be started again to go on.

A turn is one run of the program, from a prompt to its end. Programs that keep their conversation can be told
something more after they ended, for a fraction of what a fresh start costs. Each turn gets its own prompt and
its own verdict; what it spent is added to what the turns before it spent.
"""

from dataclasses import dataclass

from bernstein_agent.adapters.base import Adapter, Job
from bernstein_agent.allowance import Allowance
from bernstein_agent.child import Child, ChildEnd
from bernstein_agent.console import Console
from bernstein_agent.contract import Payload
from bernstein_agent.environment import child_environment
from bernstein_agent.failure import Verdict
from bernstein_agent.judgement import judge
from bernstein_agent.memory import oom_kills
from bernstein_agent.observation import Observation
from bernstein_agent.orders import Order
from bernstein_agent.place import Place
from bernstein_agent.processes import Supervisor
from bernstein_agent.watch import Watch


@dataclass(frozen=True, slots=True)
class Turn:
    """How a turn ended, and what that counts as before anybody looks at its commits."""

    end: ChildEnd
    verdict: Verdict

    @property
    def interrupted(self) -> Order | None:
        """The order to take its final turn, where it was stopped for one."""
        cause = self.end.cause
        return cause if isinstance(cause, Order) and cause.cause and not self.end.letter else None


class Turns:
    """Runs the turns of one attempt's program, one after the other."""

    def __init__(
        self,
        payload: Payload,
        place: Place,
        *,
        adapter: Adapter,
        supervisor: Supervisor,
        allowance: Allowance,
        console: Console,
        seen: Observation,
        watch: Watch,
    ) -> None:
        """Take over what the program is and where it runs.

        Raises:
            AttemptError: the job can't be done by this kind of program.
        """
        self._job = Job(payload, place.prompt_file)
        self._place = place
        self._adapter = adapter
        self._supervisor = supervisor
        self._allowance = allowance
        self._console = console
        self._seen = seen
        self._watch = watch
        self._shown = ""
        self._launch = adapter.launch(self._job)

    def first(self, prompt: str) -> Turn:
        """Start the program with its prompt and follow it to its end, its final turn included.

        Raises:
            AttemptError: there is no such program, or it can't be run.
        """
        self._console.note("starting the agent")
        return self._followed(self._run(self._launch, prompt))

    @property
    def can_go_on(self) -> bool:
        """Whether the program can be told something more after the turns that it had."""
        return self._resume is not None

    @property
    def over(self) -> bool:
        """Whether the program may have no further turn: it had its final one, or is to be stopped."""
        order = self._watch.order(can_go_on=True)
        return self._watch.final is not None or (order is not None and order.cause is None)

    @property
    def session(self) -> str:
        """The name of the program's session, empty where it told none."""
        return self._seen.session or ""

    def next(self, prompt: str) -> Turn:
        """Start the program again to go on with what it did so far; only where it can.

        Where it is asked to finish by now, this is its final turn.

        Raises:
            AttemptError: it can't be run any more.
        """
        if self._resume is None:
            raise ValueError("the agent's program can't go on")
        self._console.note("going on with the agent's session")
        order = self._watch.order(can_go_on=True)
        if order and order.cause:
            self._watch.begin_final_turn(order)
            prompt = f"{prompt}\n\n{order.prompt}"
        return self._followed(self._run(self._resume, prompt))

    def _followed(self, turn: Turn) -> Turn:
        """Return the end of the program: the turn's, or its final turn's where it was stopped for that."""
        order, resume = turn.interrupted, self._resume
        if order is None or resume is None:
            return turn
        self._watch.begin_final_turn(order)
        return self._run(resume, order.prompt)

    @property
    def _resume(self) -> tuple[str, ...] | None:
        return self._adapter.resume(self._job, self._seen.session)

    def _run(self, argv: tuple[str, ...], prompt: str) -> Turn:
        place = self._place
        place.prompt_file.write_text(self._watch.headed(prompt), encoding="utf-8")
        child = Child(argv, place.clone, self._environment(), place.prompt_file, place.mailbox)
        self._seen.begin_turn()
        kills = oom_kills()
        end = child.run(
            self._supervisor,
            self._allowance,
            adapter=self._adapter,
            console=self._console,
            seen=self._seen,
            look=self._look,
        )
        self._seen.end_turn()
        out_of_memory = oom_kills() > kills
        seconds = self._allowance.seconds
        return Turn(end, judge(end, self._seen, out_of_memory=out_of_memory, seconds=seconds))

    def _look(self) -> Order | None:
        """Show the program what it should know, and return what it has to do."""
        notices = self._watch.notices()
        if notices != self._shown:
            self._place.mailbox.show(notices)
            self._shown = notices
        return self._watch.order(can_go_on=self._resume is not None)

    def _environment(self) -> dict[str, str]:
        place = self._place
        return child_environment(
            place.environ,
            payload=self._job.payload,
            home=place.home,
            prompt_file=place.prompt_file,
            mailbox=place.mailbox,
        )
