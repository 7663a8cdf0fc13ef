"""What a task costs the API server, counted by the proxy and cross-checked with the audit log."""

import pytest

from tests.support.attribution import TaskKey
from tests.support.audit import AuditLog, assert_same_counts
from tests.support.builders import inline_task, kwok_profile, make_run, make_task
from tests.support.kube import Kube
from tests.support.operator import OperatorProcess
from tests.support.proxy import FaultProxy
from tests.support.tasks import holds_for, wait_run

PLAIN = {"agenttasks/status": 3, "pods": 1}
"""Intent, confirm, end; and the Pod's creation."""
NAMES = ("a", "b", "c")
QUIET_SECONDS = 30.0


@pytest.mark.slow
@pytest.mark.parametrize("inline", [True, False], ids=["in the run's list", "applied"])
def test_a_plain_task_costs_four_writes_and_then_nothing(
    kube: Kube, operator: OperatorProcess, proxy: FaultProxy, audit: AuditLog, inline: bool
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=2, tasks=[inline_task(name) for name in NAMES] if inline else ()))
    for name in () if inline else NAMES:
        kube.create(make_task(f"r-{name}"))
    wait_run(kube, "r", "Succeeded")

    # Events and the last counts of the run follow its end.
    holds_for(3, lambda: True, what="")
    counts = proxy.writes_by_task()
    before = _writes(proxy)
    costs = {name: dict(counts.by_task[TaskKey(kube.namespace, f"r-{name}")]) for name in NAMES}
    print(f"each task: {costs['a']}; apart from the tasks: {dict(counts.other)}")  # noqa: T201
    assert costs == dict.fromkeys(NAMES, PLAIN)
    assert counts.other["create agenttasks"] == (len(NAMES) if inline else 0)
    assert counts.other["create events"] == 2 * len(NAMES) + 2
    if inline:
        holds_for(QUIET_SECONDS, lambda: _writes(proxy) == before, what="silence where nothing changes")
    operator.stop()
    assert_same_counts(proxy, audit=audit)


def _writes(proxy: FaultProxy) -> int:
    """Count the writes; the lease is renewed however quiet everything else is."""
    return sum(record.is_write and record.resource != "leases" for record in proxy.records)
