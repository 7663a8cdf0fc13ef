"""The reference pages are made from the code: the committed ones are current, and nothing is left unsaid."""

from enum import StrEnum
from itertools import chain

import pytest
from prometheus_client import Metric

from bernstein_operator.api import names
from bernstein_operator.api.event_reasons import EventReason
from bernstein_operator.api.vocabulary import (
    AdmittedReason,
    AttemptReason,
    BlockCause,
    ConditionType,
    RunPhase,
    RunReason,
    TaskPhase,
    TaskReason,
)
from bernstein_operator.settings import Settings, from_environment
from bernstein_operator.telemetry import metrics
from docs.reference_pages import PAGES, constants, described, pages
from tests.support.documents import rows

CLOSED_SETS = (
    TaskPhase,
    RunPhase,
    ConditionType,
    AdmittedReason,
    BlockCause,
    AttemptReason,
    TaskReason,
    RunReason,
)


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_committed_page_is_what_the_code_says(name: str) -> None:
    assert (PAGES / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"


@pytest.mark.parametrize("words", CLOSED_SETS, ids=lambda words: words.__name__)
def test_every_word_says_when_it_is_said(words: type[StrEnum]) -> None:
    assert [word for word, text in described(words).items() if not text] == []


def test_every_key_that_is_written_on_objects_is_described() -> None:
    keys = {
        name: text for name, text in constants(names).items() if name.startswith(("LABEL_", "ANNOTATION_"))
    }
    undescribed = [name for name, text in keys.items() if not text and isinstance(getattr(names, name), str)]
    assert undescribed == []


def test_every_metric_is_on_its_page_and_no_other() -> None:
    listed = {row[0].strip("`").removesuffix("_total") for row in rows(pages()["metrics.md"])}
    exposed = {one.name for one in metrics.REGISTRY.collect() if not _is_of_the_process(one)}
    assert listed == exposed


def test_every_setting_can_be_set_as_its_page_says() -> None:
    usable = {
        "KUBECONFIG": "x",
        "BERNSTEIN_WATCH_NAMESPACES": "x",
        "BERNSTEIN_MAX_AGENTS": "7",
        "BERNSTEIN_MAX_AGENTS_TOTAL": "7",
        "BERNSTEIN_MAX_AGENTS_PER_NAMESPACE": "7",
        "BERNSTEIN_MAX_COST_USD": "7",
        "BERNSTEIN_MAX_RUN_COST_USD": "7",
        "BERNSTEIN_DEFAULT_BUDGET_USD": "7",
        "BERNSTEIN_ESTIMATE_PER_ATTEMPT_USD": "7",
        "BERNSTEIN_REQUIRE_BUDGET": "true",
        "BERNSTEIN_REPORT_URL": "http://x:1",
        "BERNSTEIN_REPORT_PORT": "7",
        "BERNSTEIN_LOAD_URL": "http://x",
        "BERNSTEIN_LOAD_QUERY": "x",
        "BERNSTEIN_LOAD_INTERVAL_SECONDS": "7",
        "BERNSTEIN_HTTP_PORT": "7",
        "BERNSTEIN_AGENT_IMAGE": "x",
        "BERNSTEIN_LEADER_ELECT": "false",
        "BERNSTEIN_LEASE_NAMESPACE": "x",
        "BERNSTEIN_LEASE_NAME": "x",
        "POD_NAME": "x",
        "HOSTNAME": "x",
        "BERNSTEIN_LOG_LEVEL": "DEBUG",
        "BERNSTEIN_LOG_FORMAT": "text",
    }
    listed = [row[1].strip("`") for row in rows(pages()["settings.md"])]
    assert sorted(listed) == sorted(usable)
    for name in listed:
        assert from_environment({name: usable[name]}) != Settings(), name


def test_every_event_is_on_its_page_once() -> None:
    listed = [row[0].strip("`") for row in rows(pages()["events.md"])]
    assert sorted(listed) == sorted(EventReason)
    assert all(chain.from_iterable(rows(pages()["events.md"])))


def _is_of_the_process(metric: Metric) -> bool:
    return metric.name.startswith("process_")
