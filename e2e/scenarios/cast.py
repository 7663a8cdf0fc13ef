"""Runs, profiles and tasks of scenarios: real Pods of the agents' image, small ones."""

from tests.support.builders import API_VERSION, make_run, make_task
from tests.support.kube import Manifest

NEVER_PAUSED: Manifest = {"samples": 100}
"""So many busy readings in a row take longer than any scenario."""

SMALL = {"requests": {"cpu": "20m", "memory": "48Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}}


def script(*lines: str) -> str:
    """Return a prompt whose script has these lines."""
    return "\n".join(("```script", *lines, "```"))


def steady_run(name: str = "r", *, concurrency: Manifest | None = None, **spec: object) -> Manifest:
    """Return a run that no busy node pauses: other tests may keep this machine busy."""
    run = make_run(name)
    run["spec"] |= {"concurrency": {"pause": NEVER_PAUSED, **(concurrency or {})}, **spec}
    return run


def profile(name: str = "default", **spec: object) -> Manifest:
    """Return a profile whose agents run in the agents' image, scripted unless ``spec`` says else."""
    whole = {"adapter": "script", "pod": {"resources": SMALL, "workspace": {"size": "64Mi"}}, **spec}
    return {"apiVersion": API_VERSION, "kind": "AgentProfile", "metadata": {"name": name}, "spec": whole}


def command(*args: str) -> Manifest:
    """Return a profile whose agents run a program."""
    return profile(adapter="command", command={"args": list(args)})


def task(*lines: str, timeout: int = 60) -> Manifest:
    """Return task ``t`` of run ``r``, whose agent plays these lines, without a retry for its failures."""
    return make_task(
        prompt=script(*lines),
        timeoutSeconds=timeout,
        startTimeoutSeconds=40,
        deadlineWarningSeconds=5,
        retry={"limit": 0, "backoffSeconds": 0},
    )
