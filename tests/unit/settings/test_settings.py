"""Each setting from its flag, its variable or its default; what can't be used is told of and ignored."""

import logging
from typing import Any

import pytest

from bernstein_operator.settings import Settings, from_environment


def test_without_a_word_the_defaults_hold() -> None:
    assert from_environment({}) == Settings()


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("BERNSTEIN_WATCH_NAMESPACES", "a, b,,a", "namespaces", ("a", "b")),
        ("BERNSTEIN_MAX_AGENTS", "12", "max_agents", 12),
        ("BERNSTEIN_MAX_AGENTS", "0", "max_agents", 0),
        ("BERNSTEIN_HTTP_PORT", "0", "http_port", 0),
        ("BERNSTEIN_HTTP_PORT", "65535", "http_port", 65535),
        ("BERNSTEIN_AGENT_IMAGE", "x/y:1", "agent_image", "x/y:1"),
        ("BERNSTEIN_LOG_LEVEL", "debug", "log_level", "DEBUG"),
        ("BERNSTEIN_LOG_FORMAT", "Text", "log_json", False),
        ("BERNSTEIN_LOG_FORMAT", "json", "log_json", True),
        ("HOSTNAME", "pod-1", "identity", "pod-1"),
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
        ("BERNSTEIN_HTTP_PORT", "-1"),
        ("BERNSTEIN_HTTP_PORT", "65536"),
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
    assert vars(warning)["value"] == text.strip()


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_variable_is_none(caplog: pytest.LogCaptureFixture, text: str) -> None:
    assert from_environment({"BERNSTEIN_MAX_AGENTS": text}) == Settings()
    assert caplog.records == []


def test_the_flag_goes_before_the_variable() -> None:
    assert from_environment({"KUBECONFIG": "/variable"}, kubeconfig="/flag").kubeconfig == "/flag"
