"""Log lines for machines (JSON, the default) or for a terminal (text). Secrets never reach a log call."""

import logging
import sys
from typing import Final

import orjson

_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_KOPF_EXTRAS: Final = frozenset({"k8s_ref", "k8s_skip", "settings"})


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and whatever the call gave as ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: dict[str, object] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extras(record),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(fields, default=str).decode()


class TextFormatter(logging.Formatter):
    """A line for people, with the extras behind the message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        extras = " ".join(f"{key}={value}" for key, value in _extras(record).items())
        return f"{super().format(record)} {extras}".rstrip()


def configure(*, level: str, as_json: bool) -> None:
    """Send everything from ``level`` on to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = (
        JsonFormatter() if as_json else TextFormatter("%(asctime)s %(levelname)-7s %(name)s %(message)s")
    )
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # kopf tells of every single event at INFO; what matters of them is in our own lines.
    logging.getLogger("kopf").setLevel(max(logging.WARNING, logging.getLevelName(level)))


def _extras(record: logging.LogRecord) -> dict[str, object]:
    return {
        key: value
        for key, value in record.__dict__.items()
        if key not in _STANDARD and key not in _KOPF_EXTRAS
    }
