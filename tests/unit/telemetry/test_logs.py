"""A log line for machines is one JSON object, and one for people is one line."""

import json
import logging
import sys

import pytest

from bernstein_operator.telemetry.logs import JsonFormatter, TextFormatter


def record(**extra: object) -> logging.LogRecord:
    logger = logging.getLogger("bernstein_operator.test")
    return logger.makeRecord(logger.name, logging.WARNING, "f.py", 1, "it %s", ("works",), None, extra=extra)


def test_a_line_for_machines() -> None:
    fields = json.loads(JsonFormatter().format(record(namespace="ns", error=ValueError("no"))))
    assert fields.pop("time")
    assert fields == {
        "level": "warning",
        "logger": "bernstein_operator.test",
        "message": "it works",
        "namespace": "ns",
        "error": "no",
    }


@pytest.mark.parametrize("extra", ["k8s_ref", "k8s_skip", "settings"])
def test_kopfs_own_extras_are_left_out(extra: str) -> None:
    assert extra not in json.loads(JsonFormatter().format(record(**{extra: object()})))


def test_an_exception_is_part_of_the_line() -> None:
    failed = record()
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        failed.exc_info = sys.exc_info()
    line = JsonFormatter().format(failed)
    assert "\n" not in line
    assert "RuntimeError: broken" in json.loads(line)["exception"]


@pytest.mark.parametrize(
    ("extra", "line"),
    [({}, "WARNING it works"), ({"a": 1, "b": "x"}, "WARNING it works a=1 b=x")],
    ids=["bare", "with extras"],
)
def test_a_line_for_people(extra: dict[str, object], line: str) -> None:
    assert TextFormatter("%(levelname)s %(message)s").format(record(**extra)) == line
