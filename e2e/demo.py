"""The examples on a real cluster: `make demo`.

Brings up or finds a cluster, installs the operator, applies what `examples/` holds, and shows the tasks
whenever one of them changes. Whatever it shows is what a user's own kubectl would; its exit code is 0 only
if each run ended as it should: one with the code of its tasks really put together, one with what couldn't go
on written down.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from e2e.cluster import ClusterError, up
from e2e.cluster.progress import say
from e2e.images import ROOT, build
from e2e.release import Release

EXAMPLES = ROOT / "examples"
NAMESPACE = "bernstein-demo"
RUN, LIMITS = "quickstart", "limits"
REPOSITORY = "/srv/git/calculator.git"
MERGED, PARTS = "engine", ("parser", "evaluator")
"""The task that depends on others' code, and those others."""

GIVEN_UP, BEHIND, LATE, LAZY = "migration", ("rollout", "announcement"), "proof", "notes"
"""What is abandoned, what that blocks, what is stopped at its timeout before it succeeds, and whose agent has
to be told that it left no commit."""

EXAMPLE_IMAGE = "bernstein-agent:0.1.0"
_PATIENCE_SECONDS = 170
_LOOK_SECONDS = 0.5
_ENDED = ("Succeeded", "Failed", "Cancelled")

Manifest: TypeAlias = dict[str, Any]


class DemoError(Exception):
    """The demo didn't end as it should; the text says how."""


@dataclass
class Demo:
    """The demo on one cluster; `show` takes each piece of output, `clock` gives monotonic seconds."""

    release: Release
    show: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def run(self) -> None:
        """Do all of it; DemoError if a run or one of its tasks doesn't end as it should."""
        self._apply()
        self._play(RUN, ends="Succeeded")
        self._branches()
        self._play(LIMITS, ends="Failed")
        self._limits()

    def _play(self, run: str, *, ends: str) -> None:
        """Apply an example and follow its run to its end."""
        say(f"applying examples/{run}.yaml")
        self._began = self.clock()
        self._kubectl("apply", f"--filename={EXAMPLES / f'{run}.yaml'}")
        phase = self._follow(run)
        self._tables(run)
        if phase != ends:
            self._explain(run)
            raise DemoError(f"the run {run} ended as {phase or 'nothing'}, not as {ends}")

    # --- acting ---------------------------------------------------------------------------------------

    def _apply(self) -> None:
        say("applying examples/git-server.yaml")
        self._kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=60s")
        server = (EXAMPLES / "git-server.yaml").read_text()
        server = server.replace(EXAMPLE_IMAGE, self.release.images.agent.ref)
        self._kubectl("apply", "--filename=-", text=server)
        self._kubectl(
            "wait", f"--namespace={NAMESPACE}", "--for=condition=Ready", "pod/git-server", "--timeout=60s"
        )

    def _follow(self, name: str) -> str:
        """Show the tasks whenever one changes; return the run's last phase."""
        shown: object = None
        while True:
            run = self._object("bernsteinrun", name)
            tasks = self._tasks(name)
            outline = [_outline(task) for task in tasks]
            if outline != shown:
                self._show_tasks(name)
                shown = outline
            phase = str(run.get("status", {}).get("phase", ""))
            if phase in _ENDED or self.clock() - self._began > _PATIENCE_SECONDS:
                return phase
            time.sleep(_LOOK_SECONDS)

    # --- showing --------------------------------------------------------------------------------------

    def _show_tasks(self, run: str) -> None:
        self.show(f"\n--- {self.clock() - self._began:.0f} s\n{self._get('agenttasks', _of(run))}")

    def _tables(self, run: str) -> None:
        self.show(f"\n--- the run\n{self._get('bernsteinrun', run, '--output=wide')}")
        self.show(f"\n--- its tasks\n{self._get('agenttasks', _of(run), '--output=wide')}")
        self.show("\n--- its events")
        for event in sorted(self._objects("events.events.k8s.io"), key=_moment):
            about = event["regarding"]
            mine = about["name"] == run or about["name"].startswith(f"{run}-")
            if mine and about["kind"] in ("BernsteinRun", "AgentTask"):
                self.show(f"{event['type']:8}{event['reason']:18}{about['name']:26}{event['note']}")

    def _branches(self) -> None:
        """Show what was pushed; DemoError if the merged branch lacks a commit of its parts."""
        self.show(f"\n--- branches in the git server\n{self._git('branch', '--list', '--verbose')}")
        branches = {task["spec"]["name"]: _last_attempt(task)["branch"] for task in self._tasks(RUN)}
        log = self._git("log", "--graph", "--format=%h %an: %s", branches[MERGED])
        self.show(f"\n--- {branches[MERGED]}, which was put together from {' and '.join(PARTS)}\n{log}")
        for part in PARTS:
            # Ends with 1, which is an error here, unless the first is an ancestor of the second.
            self._git("merge-base", "--is-ancestor", branches[part], branches[MERGED])
            commit = self._git("rev-parse", "--short", branches[part])
            self.show(f"{branches[MERGED]} holds {commit} of {branches[part]}")

    def _limits(self) -> None:
        """Show ledger, ladder and continuation; DemoError if a task didn't end as its limits say."""
        tasks = {task["spec"]["name"]: task for task in self._tasks(LIMITS)}
        phases = {name: task["status"]["phase"] for name, task in tasks.items()}
        expected = {
            GIVEN_UP: "Abandoned",
            **dict.fromkeys(BEHIND, "BlockedByAbandon"),
            **dict.fromkeys((LATE, LAZY), "Succeeded"),
        }
        if phases != expected:
            raise DemoError(f"the tasks of {LIMITS} ended as {phases}, not as {expected}")
        ledger = self._object("bernsteinrun", LIMITS)["status"]["abandonments"]["ledger"]
        self.show(f"\n--- the ledger, ConfigMap {ledger}")
        for row in self._object("configmap", ledger)["data"].values():
            self.show(row)
        self.show(f"\n--- how {LATE} got done")
        for attempt in tasks[LATE]["status"]["attempts"]:
            told = f"attempt {attempt['number']}: model {attempt['model']}, effort {attempt['effort']}"
            self.show(f"{told}: {attempt['resultClass']} ({attempt['reason']})")
        self._continuation(tasks[LAZY])

    def _continuation(self, task: Manifest) -> None:
        """Show how an agent went on that had left no commit; DemoError if it wasn't told."""
        told = task["status"].get("continuation")
        if not told:
            raise DemoError(f"the agent of {LAZY} was not told that it left no commit")
        last = _last_attempt(task)
        self.show(f"\n--- how {LAZY} got its commit")
        self.show(f"attempt {told['attempt']}: told at {told['time']} in session {told['sessionId']}")
        self.show(f"attempt {last['number']}: {last['resultClass']}, commit {last['headAfter'][:12]}")

    def _explain(self, run: str) -> None:
        """Show everything about the tasks that didn't succeed, what matters most last."""
        self.show(f"\n--- the operator's log\n{self.release.logs(lines=50)}")
        culprits = self._culprits(run)
        if not culprits:
            self.show(f"\n--- the run\n{self._ask('describe', 'bernsteinrun', run)}")
        for task in culprits:
            name = task["metadata"]["name"]
            self.show(f"\n--- {name}\n{self._ask('describe', 'agenttask', name)}")
            if pod := _last_attempt(task).get("podName"):
                self.show(f"\n--- log of {pod}\n{self._ask('logs', pod, '--all-containers', '--prefix')}")

    def _culprits(self, run: str) -> list[Manifest]:
        """Return the tasks that failed, or else those that are under way."""
        tasks = self._tasks(run)
        by_phase = {
            phase: [task for task in tasks if task["status"]["phase"] == phase]
            for phase in ("Failed", "Running")
        }
        return by_phase["Failed"] or by_phase["Running"]

    # --- asking ---------------------------------------------------------------------------------------

    def _kubectl(self, *arguments: str, text: str = "") -> str:
        return self.release.kubectl.run(*arguments, text=text)

    def _ask(self, *arguments: str) -> str:
        return self.release.kubectl.ask(*arguments, f"--namespace={NAMESPACE}")

    def _get(self, *arguments: str) -> str:
        return self._kubectl("get", *arguments, f"--namespace={NAMESPACE}").rstrip()

    def _object(self, kind: str, name: str) -> Manifest:
        found: Manifest = json.loads(self._get(kind, name, "--output=json"))
        return found

    def _objects(self, kind: str, *arguments: str) -> list[Manifest]:
        items: list[Manifest] = json.loads(self._get(kind, "--output=json", *arguments))["items"]
        return items

    def _tasks(self, run: str) -> list[Manifest]:
        return self._objects("agenttasks", _of(run))

    def _git(self, *arguments: str) -> str:
        command = ("git", f"--git-dir={REPOSITORY}", *arguments)
        return self._kubectl("exec", f"--namespace={NAMESPACE}", "git-server", "--", *command).rstrip()


def _of(run: str) -> str:
    """Return kubectl's argument that leaves the other run's tasks out."""
    return f"--selector=bernstein.run/run={run}"


def _outline(task: Manifest) -> tuple[object, ...]:
    """Return what a change of is worth showing."""
    status = task["status"]
    waiting = [one["reason"] for one in status.get("conditions", ()) if one["status"] == "False"]
    return task["metadata"]["name"], status["phase"], status.get("attempt"), waiting


def _last_attempt(task: Manifest) -> Manifest:
    attempts: list[Manifest] = task["status"].get("attempts") or [{}]
    return attempts[-1]


def _moment(event: Manifest) -> tuple[str, int]:
    """Return when it happened; what happened in the same second is ordered by when it was told."""
    return str(event["eventTime"] or ""), int(event["metadata"]["resourceVersion"])


def main() -> int:
    """Run the demo; 0, or 1 with the reason on stderr."""
    try:
        cluster = up()
        images = build(prefix=cluster.image_prefix)
        images.load_into(cluster)
        release = Release(cluster, images)
        say("installing the operator")
        release.install()
        Demo(release, lambda text: print(text, flush=True)).run()
    except (ClusterError, DemoError) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; `make demo` begins anew, `make cluster-down` takes the cluster away")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
