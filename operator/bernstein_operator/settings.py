"""The operator's settings, each from its flag, its environment variable, or its default, in this order.

A value that can't be used is told of in the log by its name and ignored: a typo must neither stop the
operator nor silently change a limit.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

DEFAULT_PORT: Final = 8080
DEFAULT_AGENT_IMAGE: Final = "bernstein-agent:latest"
DEFAULT_LEASE_NAME: Final = "bernstein-operator"
DEFAULT_LOAD_INTERVAL: Final = 10
_LONGEST_LOAD_INTERVAL: Final = 60
_MAX_PORT: Final = 65_535
_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_FORMATS: Final = ("json", "text")
_SWITCHES: Final = MappingProxyType({"true": True, "false": False})
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator was started with.

    Attributes:
        kubeconfig: path of a kubeconfig; without it the Pod's own service account is used.
        namespaces: the namespaces to watch, separated by commas; without it all.
        max_agents: the highest ceiling of any run; a run's concurrency.maxAgents can only be lower.
        max_agents_total: how many agents of all runs together may be live.
        max_agents_per_namespace: how many agents of all runs of one namespace may be live.
        load_url: base URL of a Prometheus that knows nodes' load average; acts together with the next one.
        load_query: instant query of it: percent for each CPU, by node (label node or instance) or for all.
        load_interval: seconds between two looks at how busy nodes are; 1 to 60.
        http_port: port of /healthz, /readyz and /metrics; 0 takes any free one.
        agent_image: image that the runner is copied from; also the agent's where its profile names none.
        leader_elect: whether to lead by a Lease; false only for a process that none ever runs beside.
        lease_namespace: namespace of the Lease; without it the Pod's own (POD_NAMESPACE), else default.
        lease_name: name of the Lease; operators on the same namespaces need the same one.
        pod: the Pod's name, nobody else's; a container restarted in it takes the former one's lease at once.
        identity: how this process signs its events (reportingInstance).
        log_level: DEBUG, INFO, WARNING or ERROR.
        log_json: json (one object a line) or text (for a terminal).
    """

    kubeconfig: str | None = None
    namespaces: tuple[str, ...] = ("",)
    max_agents: int | None = None
    max_agents_total: int | None = None
    max_agents_per_namespace: int | None = None
    load_url: str = ""
    load_query: str = ""
    load_interval: int = DEFAULT_LOAD_INTERVAL
    http_port: int = DEFAULT_PORT
    agent_image: str = DEFAULT_AGENT_IMAGE
    leader_elect: bool = True
    lease_namespace: str = ""
    lease_name: str = DEFAULT_LEASE_NAME
    pod: str = ""
    identity: str = "bernstein-operator"
    log_level: str = "INFO"
    log_json: bool = True


def from_environment(
    environment: Mapping[str, str] = os.environ,
    *,
    kubeconfig: str | None = None,
    leader_elect: bool | None = None,
    lease_namespace: str | None = None,
) -> Settings:
    """Read the settings; the keywords are the flags of these names, None where one wasn't given."""
    read = _Reader(environment)
    return Settings(
        kubeconfig=kubeconfig or environment.get("KUBECONFIG") or None,
        namespaces=read("BERNSTEIN_WATCH_NAMESPACES", _names, ("",)),
        max_agents=read("BERNSTEIN_MAX_AGENTS", _count, None),
        max_agents_total=read("BERNSTEIN_MAX_AGENTS_TOTAL", _count, None),
        max_agents_per_namespace=read("BERNSTEIN_MAX_AGENTS_PER_NAMESPACE", _count, None),
        load_url=read("BERNSTEIN_LOAD_URL", _url, ""),
        load_query=read("BERNSTEIN_LOAD_QUERY", str, ""),
        load_interval=read("BERNSTEIN_LOAD_INTERVAL_SECONDS", _interval, DEFAULT_LOAD_INTERVAL),
        http_port=read("BERNSTEIN_HTTP_PORT", _port, DEFAULT_PORT),
        agent_image=environment.get("BERNSTEIN_AGENT_IMAGE") or DEFAULT_AGENT_IMAGE,
        leader_elect=read("BERNSTEIN_LEADER_ELECT", switch, default=True)
        if leader_elect is None
        else leader_elect,
        lease_namespace=lease_namespace
        or environment.get("BERNSTEIN_LEASE_NAMESPACE")
        or environment.get("POD_NAMESPACE", ""),
        lease_name=environment.get("BERNSTEIN_LEASE_NAME") or DEFAULT_LEASE_NAME,
        pod=environment.get("POD_NAME", ""),
        identity=environment.get("HOSTNAME") or "bernstein-operator",
        log_level=read("BERNSTEIN_LOG_LEVEL", _level, "INFO"),
        log_json=read("BERNSTEIN_LOG_FORMAT", _format, "json") == "json",
    )


def switch(text: str) -> bool:
    """Return what ``true`` or ``false`` says; ValueError for anything else."""
    if text.lower() not in _SWITCHES:
        raise ValueError(f"one of {', '.join(_SWITCHES)} is expected")
    return _SWITCHES[text.lower()]


@dataclass(frozen=True, slots=True)
class _Reader:
    environment: Mapping[str, str]

    def __call__(self, name: str, parse: Callable[[str], _Value], default: _Value) -> _Value:
        text = self.environment.get(name, "").strip()
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as error:
            log.warning("setting ignored", extra={"setting": name, "value": text, "error": str(error)})
            return default


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise ValueError("no namespace is named")
    return names


def _count(text: str) -> int | None:
    number = int(text)
    if number < 0:
        raise ValueError("a whole number of 0 or more is expected")
    return number


def _interval(text: str) -> int:
    seconds = int(text)
    if not 1 <= seconds <= _LONGEST_LOAD_INTERVAL:
        raise ValueError(f"between 1 and {_LONGEST_LOAD_INTERVAL} whole seconds are expected")
    return seconds


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= _MAX_PORT:
        raise ValueError(f"a port between 0 and {_MAX_PORT} is expected")
    return port


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an http or https URL is expected")
    return text


def _level(text: str) -> str:
    if text.upper() not in _LEVELS:
        raise ValueError(f"one of {', '.join(_LEVELS)} is expected")
    return text.upper()


def _format(text: str) -> str:
    if text.lower() not in _FORMATS:
        raise ValueError(f"one of {', '.join(_FORMATS)} is expected")
    return text.lower()
