"""Each setting from its flag, its variable or its default; what can't be used is told of and ignored."""

import logging
from typing import Any

import pytest

from bernstein_operator.api.money import Money
from bernstein_operator.settings import Settings, from_environment


def test_without_a_word_the_defaults_hold() -> None:
    assert from_environment({}) == Settings()


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("BERNSTEIN_WATCH_NAMESPACES", "a, b,,a", "namespaces", ("a", "b")),
        ("BERNSTEIN_MAX_AGENTS", "12", "max_agents", 12),
        ("BERNSTEIN_MAX_AGENTS", "0", "max_agents", 0),
        ("BERNSTEIN_MAX_COST_USD", "$12.50", "max_cost_usd", Money(12_500_000)),
        ("BERNSTEIN_MAX_COST_USD", "0", "max_cost_usd", Money()),
        ("BERNSTEIN_MAX_COST_USD", "-1", "max_cost_usd", Money()),
        ("BERNSTEIN_MAX_RUN_COST_USD", "50", "max_run_cost_usd", Money(50_000_000)),
        ("BERNSTEIN_DEFAULT_BUDGET_USD", "5", "default_budget_usd", Money(5_000_000)),
        ("BERNSTEIN_ESTIMATE_PER_ATTEMPT_USD", "0.25", "estimate_per_attempt_usd", Money(250_000)),
        ("BERNSTEIN_REQUIRE_BUDGET", "true", "require_budget", True),
        ("BERNSTEIN_MAX_AGENTS_TOTAL", "40", "max_agents_total", 40),
        ("BERNSTEIN_MAX_AGENTS_PER_NAMESPACE", "0", "max_agents_per_namespace", 0),
        (
            "BERNSTEIN_LOAD_URL",
            "http://prometheus.monitoring:9090/x",
            "load_url",
            "http://prometheus.monitoring:9090/x",
        ),
        ("BERNSTEIN_LOAD_URL", "https://p", "load_url", "https://p"),
        ("BERNSTEIN_LOAD_INTERVAL_SECONDS", "1", "load_interval", 1),
        ("BERNSTEIN_LOAD_INTERVAL_SECONDS", "60", "load_interval", 60),
        ("BERNSTEIN_LOAD_QUERY", " 100 * node_load1 ", "load_query", "100 * node_load1"),
        ("BERNSTEIN_HTTP_PORT", "0", "http_port", 0),
        ("BERNSTEIN_HTTP_PORT", "65535", "http_port", 65535),
        ("BERNSTEIN_REPORT_URL", "http://r.ns.svc:8081/", "report_url", "http://r.ns.svc:8081"),
        ("BERNSTEIN_REPORT_URL", "https://10.0.0.1/x", "report_url", "https://10.0.0.1/x"),
        ("BERNSTEIN_REPORT_PORT", "0", "report_port", 0),
        ("POD_NAMESPACE", "ns", "pod_namespace", "ns"),
        ("BERNSTEIN_AGENT_IMAGE", "x/y:1", "agent_image", "x/y:1"),
        ("BERNSTEIN_ANTHROPIC_TASK_BUDGETS", "1", "anthropic_task_budgets", True),
        ("BERNSTEIN_ANTHROPIC_TASK_BUDGETS", "true", "anthropic_task_budgets", True),
        ("BERNSTEIN_ANTHROPIC_TASK_BUDGETS", "YES", "anthropic_task_budgets", True),
        ("BERNSTEIN_ANTHROPIC_TASK_BUDGETS", "on", "anthropic_task_budgets", True),
        ("BERNSTEIN_ANTHROPIC_TASK_BUDGETS", "0", "anthropic_task_budgets", False),
        ("BERNSTEIN_ANTHROPIC_TASK_BUDGETS", "off", "anthropic_task_budgets", False),
        ("BERNSTEIN_LOG_LEVEL", "debug", "log_level", "DEBUG"),
        ("BERNSTEIN_LOG_FORMAT", "Text", "log_json", False),
        ("BERNSTEIN_LOG_FORMAT", "json", "log_json", True),
        ("HOSTNAME", "pod-1", "identity", "pod-1"),
        ("BERNSTEIN_LEADER_ELECT", "False", "leader_elect", False),
        ("BERNSTEIN_LEADER_ELECT", "true", "leader_elect", True),
        ("BERNSTEIN_LEASE_NAMESPACE", "ns", "lease_namespace", "ns"),
        ("POD_NAMESPACE", "ns", "lease_namespace", "ns"),
        ("BERNSTEIN_LEASE_NAME", "other", "lease_name", "other"),
        ("POD_NAME", "pod-1", "pod", "pod-1"),
        ("KUBECONFIG", "/k", "kubeconfig", "/k"),
    ],
)
def test_each_variable_is_heard(variable: str, text: str, field: str, value: Any) -> None:
    assert getattr(from_environment({variable: text}), field) == value


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("BERNSTEIN_WATCH_NAMESPACES", " , "),
        ("BERNSTEIN_MAX_AGENTS", "many"),
        ("BERNSTEIN_MAX_AGENTS", "-1"),
        ("BERNSTEIN_MAX_AGENTS", "2.5"),
        ("BERNSTEIN_MAX_COST_USD", "nan"),
        ("BERNSTEIN_MAX_COST_USD", "inf"),
        ("BERNSTEIN_MAX_COST_USD", "lots"),
        ("BERNSTEIN_MAX_RUN_COST_USD", "0"),
        ("BERNSTEIN_DEFAULT_BUDGET_USD", "-1"),
        ("BERNSTEIN_ESTIMATE_PER_ATTEMPT_USD", "0"),
        ("BERNSTEIN_REQUIRE_BUDGET", "perhaps"),
        ("BERNSTEIN_MAX_AGENTS_TOTAL", "-1"),
        ("BERNSTEIN_MAX_AGENTS_PER_NAMESPACE", "all"),
        ("BERNSTEIN_LOAD_INTERVAL_SECONDS", "0"),
        ("BERNSTEIN_LOAD_INTERVAL_SECONDS", "61"),
        ("BERNSTEIN_LOAD_URL", "prometheus:9090"),
        ("BERNSTEIN_LOAD_URL", "file:///etc/passwd"),
        ("BERNSTEIN_LOAD_URL", "http://"),
        ("BERNSTEIN_HTTP_PORT", "-1"),
        ("BERNSTEIN_HTTP_PORT", "65536"),
        ("BERNSTEIN_REPORT_PORT", "65536"),
        ("BERNSTEIN_REPORT_URL", "reports:8081"),
        ("BERNSTEIN_REPORT_URL", "ftp://reports"),
        ("BERNSTEIN_REPORT_URL", "http://"),
        ("BERNSTEIN_REPORT_URL", "http://reports?x=1"),
        ("BERNSTEIN_LEADER_ELECT", "no"),
        ("BERNSTEIN_ANTHROPIC_TASK_BUDGETS", "2"),
        ("BERNSTEIN_LOG_LEVEL", "loud"),
        ("BERNSTEIN_LOG_FORMAT", "xml"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_of_by_name_and_ignored(
    caplog: pytest.LogCaptureFixture, variable: str, text: str
) -> None:
    with caplog.at_level(logging.WARNING):
        assert from_environment({variable: text}) == Settings()
    (warning,) = caplog.records
    assert vars(warning)["setting"] == variable
    # A URL may hold a password.
    assert vars(warning).get("value") == (None if variable.endswith("_URL") else text.strip())


def test_the_password_in_a_url_that_cannot_be_used_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    from_environment({"BERNSTEIN_LOAD_URL": "http://user:correct-horse@prometheus:9090?a=b"})
    [record] = caplog.records
    assert record.__dict__["setting"] == "BERNSTEIN_LOAD_URL"
    assert "correct-horse" not in str(record.__dict__)


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_variable_is_none(caplog: pytest.LogCaptureFixture, text: str) -> None:
    assert from_environment({"BERNSTEIN_MAX_AGENTS": text}) == Settings()
    assert caplog.records == []


@pytest.mark.parametrize(
    ("variables", "flags", "field", "value"),
    [
        pytest.param({"KUBECONFIG": "/v"}, {"kubeconfig": "/f"}, "kubeconfig", "/f", id="kubeconfig"),
        pytest.param(
            {"BERNSTEIN_LEADER_ELECT": "true"},
            {"leader_elect": False},
            "leader_elect",
            False,
            id="no election",
        ),
        pytest.param(
            {"BERNSTEIN_LEADER_ELECT": "false"},
            {"leader_elect": True},
            "leader_elect",
            True,
            id="an election",
        ),
        pytest.param(
            {"BERNSTEIN_LEASE_NAMESPACE": "v", "POD_NAMESPACE": "p"},
            {"lease_namespace": "f"},
            "lease_namespace",
            "f",
            id="namespace of the lease",
        ),
    ],
)
def test_the_flag_goes_before_the_variable(
    variables: dict[str, str], flags: dict[str, Any], field: str, value: Any
) -> None:
    assert getattr(from_environment(variables, **flags), field) == value


def test_the_leases_own_variable_goes_before_the_pods() -> None:
    variables = {"BERNSTEIN_LEASE_NAMESPACE": "own", "POD_NAMESPACE": "pods"}
    assert from_environment(variables).lease_namespace == "own"
