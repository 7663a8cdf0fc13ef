"""Every CEL rule, with a change that it lets through and one that it refuses.

A case stores an object (and a status, as the operator would), then asks for one change without storing it.
"""

from typing import Any, Final, NamedTuple

import pytest

from tests.support.crd_fields import rules
from tests.support.crd_manifests import Manifest, profile, run, task
from tests.support.kube import MERGE, ApiError, Kube

_RETRY_ORDER: Final = "backoffSeconds can't be more than maxBackoffSeconds"
_ERROR_RATES: Final = "errorRateLowPercent can't be more than errorRateHighPercent"
_BANDS: Final = "warnPercent can't be more than criticalPercent"
_PROMPT_BYTES: Final = "the prompt may have 65536 bytes of UTF-8"
_SELF: Final = "a task can't depend on itself"
_STARTED: Final = "can't change after the first attempt: retries would do other work than was begun"
_OTHER_RUN: Final = "a task can't move to another run"
_FINAL: Final = "a task that succeeded, was cancelled or was abandoned stays so"
_TAKEN_OUT: Final = "a task can't be taken out of the list; cancel or delete the AgentTask made from it"
_CHANGED: Final = "a task in the list can't be changed; change the AgentTask that was made from it"
_REPOSITORY: Final = "the repository can't change once a task has started: its commits are in the old one"
_PASSWORD: Final = "a password in the url would be readable by everybody who may read the run"
_COMMAND: Final = "command belongs to adapter command, and adapter command needs it"
_ONE_VALUE: Final = "set exactly one of value and valueFrom"
_OWN_NAMES: Final = "HOME, TMPDIR and names that begin with BERNSTEIN_ are the operator's own"

_REPO: Final = {"url": "git://git/a", "ref": "main"}
_REPO_B: Final = {"url": "git://git/b", "ref": "main"}
_A: Final = {"name": "a", "prompt": "do it"}
_B: Final = {"name": "b", "prompt": "do it"}
_BACK: Final = {"backoffSeconds": 10, "maxBackoffSeconds": 9}
_FORTH: Final = {"backoffSeconds": 10, "maxBackoffSeconds": 10}
_SECRET: Final = {"secretKeyRef": {"name": "s", "key": "k"}}
_ARGS: Final = {"args": ["sh"]}
_STARTED_STATUS: Final = {"attempt": 1}


class Creation(NamedTuple):
    """A manifest that is taken, one that is refused, and the field and text of the refusal."""

    accepted: Manifest
    refused: Manifest
    field: str
    message: str


class Change(NamedTuple):
    """A stored object, its status, a change that is taken and one that isn't."""

    stored: Manifest
    status: Manifest
    accepted: Manifest
    refused: Manifest
    field: str
    message: str


CREATIONS: Final = {
    "back-off above its maximum": Creation(
        task("t", retry=_FORTH), task("t", retry=_BACK), "spec.retry.backoffSeconds", _RETRY_ORDER
    ),
    "back-off above its maximum in a run's defaults": Creation(
        run("r", taskDefaults={"retry": _FORTH}),
        run("r", taskDefaults={"retry": _BACK}),
        "spec.taskDefaults.retry.backoffSeconds",
        _RETRY_ORDER,
    ),
    "back-off above its maximum in a run's list": Creation(
        run("r", tasks=[{**_A, "retry": _FORTH}]),
        run("r", tasks=[{**_A, "retry": _BACK}]),
        "spec.tasks[0].retry.backoffSeconds",
        _RETRY_ORDER,
    ),
    "a low error rate above the high one": Creation(
        run("r", concurrency={"adaptive": {"errorRateLowPercent": 20, "errorRateHighPercent": 20}}),
        run("r", concurrency={"adaptive": {"errorRateLowPercent": 21, "errorRateHighPercent": 20}}),
        "spec.concurrency.adaptive.errorRateLowPercent",
        _ERROR_RATES,
    ),
    "a warning after the critical band": Creation(
        run("r", budget={"warnPercent": 80, "criticalPercent": 80}),
        run("r", budget={"warnPercent": 81, "criticalPercent": 80}),
        "spec.budget.warnPercent",
        _BANDS,
    ),
    "a prompt of few characters and many bytes": Creation(
        task("t", prompt="é" * 32_768), task("t", prompt="é" * 32_769), "spec.prompt", _PROMPT_BYTES
    ),
    "the same in a run's list": Creation(
        run("r", tasks=[{**_A, "prompt": "é" * 32_768}]),
        run("r", tasks=[{**_A, "prompt": "é" * 32_769}]),
        "spec.tasks[0].prompt",
        _PROMPT_BYTES,
    ),
    "a task that depends on itself by its name": Creation(
        task("t", name="a", dependsOn=["t"]), task("t", name="a", dependsOn=["a"]), "spec.dependsOn", _SELF
    ),
    "a task that depends on itself by its object's name": Creation(
        task("t", dependsOn=["a"]), task("t", dependsOn=["t"]), "spec.dependsOn", _SELF
    ),
    "a task of a run's list that depends on itself": Creation(
        run("r", tasks=[{**_A, "dependsOn": ["b"]}]),
        run("r", tasks=[{**_A, "dependsOn": ["a"]}]),
        "spec.tasks[0].dependsOn",
        _SELF,
    ),
    "a password in a url": Creation(
        run("r", repository={**_REPO, "url": "https://me@git.example/a:b@c"}),
        run("r", repository={**_REPO, "url": "https://me:secret@git.example/a"}),
        "spec.repository.url",
        _PASSWORD,
    ),
    "adapter command without a command": Creation(
        profile("p", adapter="command", command=_ARGS),
        profile("p", adapter="command"),
        "spec.command",
        _COMMAND,
    ),
    "a command with another adapter": Creation(
        profile("p", adapter="script"),
        profile("p", adapter="script", command=_ARGS),
        "spec.command",
        _COMMAND,
    ),
    "a variable with two values": Creation(
        profile("p", env=[{"name": "A", "valueFrom": _SECRET}]),
        profile("p", env=[{"name": "A", "value": "x", "valueFrom": _SECRET}]),
        "spec.env[0].value",
        _ONE_VALUE,
    ),
    "a variable that the operator sets itself": Creation(
        profile("p", env=[{"name": "HOME_PAGE", "value": "x"}]),
        profile("p", env=[{"name": "HOME", "value": "x"}]),
        "spec.env[0].name",
        _OWN_NAMES,
    ),
    "a variable of the operator's own prefix": Creation(
        profile("p", env=[{"name": "MY_BERNSTEIN_FLAG", "value": "x"}]),
        profile("p", env=[{"name": "BERNSTEIN_FLAG", "value": "x"}]),
        "spec.env[0].name",
        _OWN_NAMES,
    ),
    "a variable without a value": Creation(
        profile("p", env=[{"name": "A", "value": ""}]),
        profile("p", env=[{"name": "A"}]),
        "spec.env[0].value",
        _ONE_VALUE,
    ),
}

CHANGES: Final = {
    "a task's run": Change(
        task("t"), {}, {"priority": 1}, {"runRef": {"name": "other"}}, "spec.runRef", _OTHER_RUN
    ),
    "the prompt after the first attempt": Change(
        task("t"), _STARTED_STATUS, {"title": "x"}, {"prompt": "x"}, "spec.prompt", f"prompt {_STARTED}"
    ),
    "a name given after the first attempt": Change(
        task("t"), _STARTED_STATUS, {"priority": 1}, {"name": "x"}, "spec.name", f"name {_STARTED}"
    ),
    "a name changed after the first attempt": Change(
        task("t", name="a"),
        _STARTED_STATUS,
        {"suspend": True},
        {"name": "b"},
        "spec.name",
        f"name {_STARTED}",
    ),
    "the role taken away after the first attempt": Change(
        task("t", role="qa"), _STARTED_STATUS, {"role": "qa"}, {"role": None}, "spec.role", f"role {_STARTED}"
    ),
    "the effects after the first attempt": Change(
        task("t", effects="none"),
        _STARTED_STATUS,
        {"effort": "max"},
        {"effects": "external"},
        "spec.effects",
        f"effects {_STARTED}",
    ),
    "a task of the run's list taken out": Change(
        run("r", tasks=[_A]), {}, {"tasks": [_A, _B]}, {"tasks": [_B]}, "spec.tasks", _TAKEN_OUT
    ),
    "the run's whole list taken out": Change(
        run("r", tasks=[_A]), {}, {"tasks": [_B, _A]}, {"tasks": None}, "spec.tasks", _TAKEN_OUT
    ),
    "a task of the run's list changed": Change(
        run("r", tasks=[_A]),
        {},
        {"tasks": [_A, {**_B, "priority": 1}]},
        {"tasks": [{**_A, "priority": 1}]},
        "spec.tasks[0]",
        _CHANGED,
    ),
    "the repository after a task has started": Change(
        run("r", repository=_REPO),
        {"startTime": "2026-01-01T12:00:00Z"},
        {"suspend": True},
        {"repository": _REPO_B},
        "spec.repository",
        _REPOSITORY,
    ),
    "the repository taken away after a task has started": Change(
        run("r", repository=_REPO),
        {"startTime": "2026-01-01T12:00:00Z"},
        {"concurrency": {"maxAgents": 1}},
        {"repository": None},
        "spec.repository",
        _REPOSITORY,
    ),
}

BEFORE_THE_START: Final = {
    "prompt": (task("t"), {"prompt": "x"}),
    "name": (task("t"), {"name": "x"}),
    "role": (task("t", role="qa"), {"role": None}),
    "effects": (task("t", effects="none"), {"effects": "external"}),
    "repository": (run("r", repository=_REPO), {"repository": _REPO_B}),
}


def plural(manifest: Manifest) -> str:
    return f"{manifest['kind'].lower()}s"


def store(kube: Kube, stored: Manifest, status: Manifest) -> None:
    """Make the object anew, with ``status`` as the operator would have written it."""
    resource, name = plural(stored), stored["metadata"]["name"]
    if kube.find(resource, name):
        kube.delete(resource, name)
    kube.create(stored)
    if status:
        kube.patch_status(resource, name, status)


def change(kube: Kube, stored: Manifest, body: Manifest, *, sub: str = "") -> Any:
    """Ask for a change of the stored object without making it."""
    path = kube.resource(plural(stored)).path(
        namespace=kube.namespace, name=stored["metadata"]["name"], subresource=sub
    )
    return kube.request("PATCH", path, body=body, query={"dryRun": "All"}, content_type=MERGE)


def assert_refusal(refusal: ApiError, *, field: str, message: str) -> None:
    assert refusal.status == 422
    assert f"{field}: " in refusal.message
    assert message in refusal.message


@pytest.mark.parametrize("case", CREATIONS.values(), ids=CREATIONS)
def test_a_rule_at_creation(served: Kube, case: Creation) -> None:
    served.create(case.accepted, dry_run=True)
    with pytest.raises(ApiError) as refusal:
        served.create(case.refused, dry_run=True)
    assert_refusal(refusal.value, field=case.field, message=case.message)


@pytest.mark.parametrize("case", CHANGES.values(), ids=CHANGES)
def test_a_rule_at_a_change(served: Kube, case: Change) -> None:
    store(served, case.stored, case.status)
    change(served, case.stored, {"spec": case.accepted})
    with pytest.raises(ApiError) as refusal:
        change(served, case.stored, {"spec": case.refused})
    assert_refusal(refusal.value, field=case.field, message=case.message)


@pytest.mark.parametrize(("stored", "spec"), BEFORE_THE_START.values(), ids=BEFORE_THE_START)
def test_before_the_start_everything_may_change(served: Kube, stored: Manifest, spec: Manifest) -> None:
    store(served, stored, {"observedGeneration": 1})
    change(served, stored, {"spec": spec})


@pytest.mark.parametrize("final", ["Succeeded", "Cancelled", "Abandoned"])
@pytest.mark.parametrize(
    "after", [{"phase": "Running"}, {"phase": None}, None], ids=["other", "none", "no status"]
)
def test_a_final_phase_is_never_left(served: Kube, final: str, after: Manifest | None) -> None:
    store(served, task("t"), {"phase": final})
    change(served, task("t"), {"status": {"phase": final, "summary": "more"}}, sub="status")
    with pytest.raises(ApiError) as refusal:
        change(served, task("t"), {"status": after}, sub="status")
    assert_refusal(refusal.value, field="status.phase", message=_FINAL)


@pytest.mark.parametrize(
    "phase", ["Pending", "Running", "Failed", "AwaitingInput", "BlockedByFailure", "BlockedByAbandon"]
)
def test_every_other_phase_may_be_left(served: Kube, phase: str) -> None:
    store(served, task("t"), {"phase": phase})
    change(served, task("t"), {"status": {"phase": "Succeeded"}}, sub="status")


def test_every_rule_has_a_case() -> None:
    tried = {case.message for case in CREATIONS.values()} | {case.message for case in CHANGES.values()}
    assert {rule["message"] for _, rule in rules()} == tried | {_FINAL}
