"""Hand-written pages can be followed: links lead somewhere, manifests are valid, numbers are right."""

from math import ceil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from bernstein_agent.contract import MAX_REPORT_BYTES
from bernstein_operator.api import effective
from bernstein_operator.api.choices import ScopeSize
from bernstein_operator.api.effective import DEFAULT_DISRUPTION_LIMIT
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.run import MAX_INLINE_TASKS, BernsteinRunSpec
from bernstein_operator.api.task import AgentTaskSpec
from bernstein_operator.api.vocabulary import AdmittedReason, RunPhase, TaskPhase
from bernstein_operator.builders import pod
from bernstein_operator.builders.envelope import REPORT_EVERY_SECONDS
from bernstein_operator.control.pacing import RUN_STATUS_SECONDS, RUN_USAGE_SECONDS
from bernstein_operator.control.reporting import STATUS
from bernstein_operator.control.sync import CHECK_SECONDS
from bernstein_operator.decisions import circuit
from bernstein_operator.decisions.admission import DEFAULT_MAX_AGENTS, configured_ceiling
from bernstein_operator.decisions.attempt import SHOW_WAITING_AFTER
from bernstein_operator.decisions.ceiling import EVALUATE_EVERY, Thresholds
from bernstein_operator.decisions.deadline import LOST_AFTER, TERMINATION_GRACE
from bernstein_operator.decisions.metering import WRITE_EVERY
from bernstein_operator.decisions.retry import CAPACITY_PATIENCE, SAME_FAILURES_LIMIT, backoff
from bernstein_operator.decisions.starting import TELL_QUEUED_AFTER
from bernstein_operator.decisions.stopping import RUN_GONE_GRACE
from bernstein_operator.handlers.reports import READ_SECONDS
from bernstein_operator.kube import lease
from e2e.cluster.catalogue import TOOLS
from tests.support.documents import ROOT, anchors, blocks, documents, links, rows

_SPECS: dict[str, type[BaseModel]] = {
    "BernsteinRun": BernsteinRunSpec,
    "AgentTask": AgentTaskSpec,
    "AgentProfile": AgentProfileSpec,
}


def _text(path: str) -> str:
    return (ROOT / "docs" / path).read_text(encoding="utf-8")


def _prose(path: str) -> str:
    """Return a page's text without its line breaks."""
    return " ".join(_text(path).split())


def _named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", documents(), ids=_named)
def test_every_link_leads_somewhere(document: Path) -> None:
    for path, fragment in links(document.read_text(encoding="utf-8")):
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{path} doesn't exist"
        if fragment:
            assert fragment in anchors(target.read_text(encoding="utf-8")), f"{path}#{fragment}"


@pytest.mark.parametrize("document", documents(), ids=_named)
def test_every_page_can_be_reached_from_the_readme(document: Path) -> None:
    readme = ROOT / "README.md"
    linked = {(ROOT / path).resolve() for path, _ in links(readme.read_text(encoding="utf-8"))}
    assert document == readme or document in linked


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(manifest, id=f"{_named(document)}: {manifest['kind']} {number}")
        for document in documents()
        for number, block in enumerate(blocks(document.read_text(encoding="utf-8"), "yaml"), start=1)
        for manifest in yaml.safe_load_all(block)
    ],
)
def test_every_manifest_is_valid_and_holds_no_unknown_field(manifest: dict[str, Any]) -> None:
    spec = _SPECS[manifest["kind"]].model_validate(manifest["spec"])
    understood = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert _shape(understood) == _shape(manifest["spec"])


def test_every_reason_to_wait_has_its_row_in_troubleshooting() -> None:
    first_cells = " ".join(row[0] for row in rows(_text("troubleshooting.md")))
    assert [one for one in AdmittedReason if f"`{one}`" not in first_cells] == [AdmittedReason.ADMITTED]


@pytest.mark.parametrize(
    ("page", "phases"), [("concepts/task.md", TaskPhase), ("concepts/run.md", RunPhase)], ids=["task", "run"]
)
def test_every_phase_has_its_row_of_conditions(page: str, phases: type[TaskPhase | RunPhase]) -> None:
    first_cells = " ".join(row[0] for row in rows(_text(page)))
    assert [one for one in phases if one not in first_cells] == []


def _seconds(duration: Any) -> str:
    return f"{duration.total_seconds():.0f}"


def _minutes(duration: Any) -> str:
    return f"{duration.total_seconds() / 60:.0f}"


_RETRY = effective.EffectiveRetry(
    effective.DEFAULT_RETRY_LIMIT, effective.DEFAULT_BACKOFF_SECONDS, effective.DEFAULT_MAX_BACKOFF_SECONDS
)
_TIMEOUTS = [str(effective.DEFAULT_TIMEOUT_SECONDS[scope]) for scope in ScopeSize]
_START, _MEDIUM = effective.DEFAULT_START_TIMEOUT_SECONDS, effective.DEFAULT_TIMEOUT_SECONDS[ScopeSize.MEDIUM]
_STUCK_AFTER = _seconds(TERMINATION_GRACE + LOST_AFTER)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("concepts/run.md", f"(up to {MAX_INLINE_TASKS})"),
        ("concepts/run.md", f"stopped after {_seconds(RUN_GONE_GRACE)} s"),
        ("concepts/task.md", f"| `role` | `{effective.DEFAULT_ROLE}` |"),
        ("concepts/task.md", f"| `priority` | {effective.DEFAULT_PRIORITY} (1 is first) |"),
        ("concepts/task.md", f"| `scope` | `{effective.DEFAULT_SCOPE}` |"),
        ("concepts/task.md", f"| `profile` | `{effective.DEFAULT_PROFILE}` |"),
        ("concepts/task.md", f"| `timeoutSeconds` | {', '.join(_TIMEOUTS[:2])} or {_TIMEOUTS[2]} for scope"),
        ("concepts/task.md", f"| `startTimeoutSeconds` | {_START} |"),
        ("concepts/task.md", f"| {', '.join(map(str, (_RETRY.limit, _RETRY.backoff_seconds, 300)))} |"),
        ("concepts/dependencies.md", f"({effective.DEFAULT_DEPENDENCY_TIMEOUT_SECONDS})"),
        ("concepts/admission.md", f"or {DEFAULT_MAX_AGENTS} where it says nothing"),
        ("concepts/ceiling.md", f"| {DEFAULT_MAX_AGENTS} | where nobody says anything |"),
        ("concepts/ceiling.md", f"Every {_seconds(EVALUATE_EVERY)} seconds, in this order"),
        ("concepts/ceiling.md", f"| `errorRateHighPercent` | {Thresholds().high} |"),
        ("concepts/ceiling.md", f"| `errorRateLowPercent` | {Thresholds().low} |"),
        ("concepts/ceiling.md", f"| `windowSeconds` | {_seconds(Thresholds().window)} |"),
        ("concepts/ceiling.md", f"| `raiseAfterSeconds` | {_seconds(Thresholds().raise_after)} |"),
        ("concepts/ceiling.md", f"| `minimumSamples` | {Thresholds().minimum} |"),
        ("concepts/retries-and-deadlines.md", f"{_START} + {_MEDIUM} = {_START + _MEDIUM} s"),
        ("concepts/retries-and-deadlines.md", f"{_seconds(LOST_AFTER)} s after its grace period"),
        ("concepts/retries-and-deadlines.md", f"grace period ({_seconds(TERMINATION_GRACE)} s)"),
        (
            "concepts/profile-trouble.md",
            f"at {circuit.ENOUGH_ATTEMPTS} attempts of at least {circuit.ENOUGH_TASKS}",
        ),
        ("concepts/profile-trouble.md", f"tasks within {_minutes(circuit.WINDOW)} minutes"),
        ("concepts/profile-trouble.md", f"After {_minutes(circuit.OPEN_FOR)} minutes the oldest task"),
        ("concepts/agent-pod.md", f"| `terminationGracePeriodSeconds` | {_seconds(TERMINATION_GRACE)} |"),
        ("concepts/agent-pod.md", f"(up to {pod.INLINE_ENVELOPE_LIMIT // 1024} KiB)"),
        ("concepts/agent-pod.md", f"| user, group, fsGroup | {pod.USER}"),
        ("concepts/agent-pod.md", f"clone, home {pod.DEFAULT_WORKSPACE_SIZE} unless"),
        *[("concepts/agent-pod.md", f"{name} {amount}") for name, amount in pod.DEFAULT_REQUESTS.items()],
        *[("concepts/agent-pod.md", f"{name} {amount}") for name, amount in pod.DEFAULT_LIMITS.items()],
        ("concepts/usage.md", f"operator every {REPORT_EVERY_SECONDS} seconds"),
        ("concepts/usage.md", f"longer than {READ_SECONDS:.0f} s to arrive"),
        ("concepts/usage.md", f"more than {MAX_REPORT_BYTES // 1024**2} MiB"),
        ("concepts/usage.md", f"once {'a minute' if _minutes(WRITE_EVERY) == '1' else '?'} while it rises"),
        ("concepts/usage.md", f"good for {'an hour' if pod.TOKEN_SECONDS == 3600 else '?'}"),
        ("concepts/usage.md", f"{pod.TOKEN_DIRECTORY}/{pod.TOKEN_FILE}"),
        ("reference/writes.md", f"queues for more than {_seconds(TELL_QUEUED_AFTER)} s"),
        ("reference/writes.md", f"hasn't started after {_seconds(SHOW_WAITING_AFTER)} s"),
        ("reference/writes.md", f"at most every {RUN_STATUS_SECONDS:.0f} s"),
        ("reference/writes.md", f"1 status, at most every {RUN_USAGE_SECONDS:.0f} s, with the next count"),
        ("design/0004-leader-election.md", f"| the leader renews every | {lease.RENEW_SECONDS:.0f} |"),
        ("design/0004-leader-election.md", f"it may write for | {lease.RENEW_DEADLINE_SECONDS:.0f} |"),
        ("design/0004-leader-election.md", f"once it hasn't changed for | {lease.LEASE_SECONDS} |"),
        ("design/0004-leader-election.md", f"is given up after | {lease.LEASE_TIMEOUTS.request:.0f} |"),
        ("design/0004-leader-election.md", f"| others look every | {lease.LOOK_SECONDS:.0f} |"),
        ("reference/writes.md", f"renewed every {lease.RENEW_SECONDS:.0f} s"),
        ("limitations.md", f"costs up to {lease.LEASE_SECONDS} s"),
        ("troubleshooting.md", f"in this state ends after {lease.RENEW_DEADLINE_SECONDS:.0f} s"),
        ("troubleshooting.md", f"ended {_STUCK_AFTER} s after it was told to"),
    ],
)
def test_a_number_is_the_codes(page: str, words: str) -> None:
    assert words in _prose(page)


def test_the_rules_that_are_spelt_out_are_the_codes() -> None:
    text = _text("concepts/retries-and-deadlines.md")
    assert (DEFAULT_DISRUPTION_LIMIT, "three lost Pods are forgiven" in text) == (3, True)
    assert (SAME_FAILURES_LIMIT, "the same failure three times in a row" in text) == (3, True)
    assert (CAPACITY_PATIENCE, "From the eleventh in a row" in text) == (10, True)
    assert (CHECK_SECONDS, "every two to four minutes" in _text("reference/writes.md")) == ((120, 240), True)


def test_the_table_of_what_a_report_is_answered_with_is_the_codes() -> None:
    table = [row for row in rows(_text("concepts/usage.md")) if row[0].isdecimal()]
    told = {word.strip("`"): int(status) for status, word, _ in table}
    assert told == {str(outcome): status for outcome, status in STATUS.items()}


def test_the_readme_asks_for_the_disk_that_the_builds_take() -> None:
    gigabytes = ceil(sum(item.disk_mb for item in TOOLS) / 1000)
    assert f"**{gigabytes} GB of free disk" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_back_offs_holds_for_any_seed() -> None:
    table = [row for row in rows(_text("concepts/retries-and-deadlines.md")) if " to " in row[-1]]
    assert len(table) == 5
    for nth, (_, wait, within) in enumerate(table, start=1):
        least, most = (float(part.strip(" s")) for part in within.split(" to "))
        waits = [backoff(_RETRY, nth=nth, seed=str(seed)).total_seconds() for seed in range(500)]
        assert least <= min(waits) < float(wait.strip(" s")) < max(waits) <= most


def test_the_table_of_ceilings_is_right() -> None:
    table = [row for row in rows(_text("concepts/admission.md")) if row[1] != "any"]
    for spec, operator, ceiling in table:
        assert configured_ceiling(spec=_number(spec), operator=_number(operator)) == int(ceiling)


def _number(cell: str) -> int | None:
    return int(cell) if cell.isdecimal() else None


def _shape(value: Any) -> Any:
    """Return the keys of a document, for comparing what was written with what was read."""
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in value.items()}
    return [_shape(one) for one in value] if isinstance(value, list) else None
