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

from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import DEFAULT_ESTIMATE, OperatorBudget
from bernstein_operator.decisions.amounts import limit

log = logging.getLogger(__name__)

DEFAULT_PORT: Final = 8080
DEFAULT_REPORT_PORT: Final = 8081
DEFAULT_AGENT_IMAGE: Final = "bernstein-agent:latest"
DEFAULT_LEASE_NAME: Final = "bernstein-operator"
DEFAULT_LOAD_INTERVAL: Final = 5
_LONGEST_LOAD_INTERVAL: Final = 60
_MAX_PORT: Final = 65_535
_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_FORMATS: Final = ("json", "text")
_SWITCHES: Final = MappingProxyType({"true": True, "false": False})
_CHOICES: Final = MappingProxyType(
    {**dict.fromkeys(("1", "true", "yes", "on"), True), **dict.fromkeys(("0", "false", "no", "off"), False)}
)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator was started with.

    Attributes:
        kubeconfig: path of a kubeconfig; without it the Pod's own service account is used.
        namespaces: the namespaces to watch, separated by commas; without it all.
        max_agents: the highest ceiling of any run; a run's concurrency.maxAgents can only be lower.
        max_cost_usd: what any run may cost, before all other sources; 0 or less is unlimited.
        max_run_cost_usd: the most that any run may cost, whatever else is said; above 0.
        default_budget_usd: what a run may cost of which nobody else says anything; above 0.
        estimate_per_attempt_usd: what an attempt is taken to cost before any of its scope has ended; above 0.
        require_budget: whether a run without a budget starts nothing: true or false.
        max_agents_total: how many agents of all runs together may be live.
        max_agents_per_namespace: how many agents of all runs of one namespace may be live.
        load_url: base URL of a Prometheus that knows nodes' load average; acts together with the next one.
        load_query: instant query of it: percent for each CPU, by node (label node or instance) or for all.
        load_interval: seconds between two looks at how busy nodes are; 1 to 60.
        http_port: port of /healthz, /readyz and /metrics; 0 takes any free one.
        report_url: where agents' Pods reach report_port of the leader; without it agents report nothing.
        report_port: port that agents report their spend to; 0 takes any free one.
        agent_image: image that the runner is copied from; also the agent's where its profile names none.
        anthropic_task_budgets: whether agents opt in to Anthropic's beta of task budgets.
        leader_elect: whether to lead by a Lease; false only for a process that none ever runs beside.
        lease_namespace: namespace of the Lease; without it the Pod's own (POD_NAMESPACE), else default.
        lease_name: name of the Lease; operators on the same namespaces need the same one.
        pod: the Pod's name, nobody else's; a container restarted in it takes the former one's lease at once.
        pod_namespace: the Pod's namespace.
        identity: how this process signs its events (reportingInstance).
        log_level: DEBUG, INFO, WARNING or ERROR.
        log_json: json (one object a line) or text (for a terminal).
    """

    kubeconfig: str | None = None
    namespaces: tuple[str, ...] = ("",)
    max_agents: int | None = None
    max_cost_usd: Money | None = None
    max_run_cost_usd: Money | None = None
    default_budget_usd: Money | None = None
    estimate_per_attempt_usd: Money = DEFAULT_ESTIMATE
    require_budget: bool = False
    max_agents_total: int | None = None
    max_agents_per_namespace: int | None = None
    load_url: str = ""
    load_query: str = ""
    load_interval: int = DEFAULT_LOAD_INTERVAL
    http_port: int = DEFAULT_PORT
    report_url: str = ""
    report_port: int = DEFAULT_REPORT_PORT
    agent_image: str = DEFAULT_AGENT_IMAGE
    anthropic_task_budgets: bool = False
    leader_elect: bool = True
    lease_namespace: str = ""
    lease_name: str = DEFAULT_LEASE_NAME
    pod: str = ""
    pod_namespace: str = ""
    identity: str = "bernstein-operator"
    log_level: str = "INFO"
    log_json: bool = True

    @property
    def budget(self) -> OperatorBudget:
        """What all of this says of a run's budget."""
        return OperatorBudget(
            max_cost=self.max_cost_usd,
            max_run_cost=self.max_run_cost_usd,
            default=self.default_budget_usd,
            estimate=self.estimate_per_attempt_usd,
            required=self.require_budget,
        )


def from_environment(
    environment: Mapping[str, str] = os.environ,
    *,
    kubeconfig: str | None = None,
    leader_elect: bool | None = None,
    lease_namespace: str | None = None,
    max_cost_usd: Money | None = None,
) -> Settings:
    """Read the settings; the keywords are the flags of these names, None where one wasn't given."""
    read = _Reader(environment)
    return Settings(
        kubeconfig=kubeconfig or environment.get("KUBECONFIG") or None,
        namespaces=read("BERNSTEIN_WATCH_NAMESPACES", _names, ("",)),
        max_agents=read("BERNSTEIN_MAX_AGENTS", _count, None),
        max_cost_usd=read("BERNSTEIN_MAX_COST_USD", limit, None) if max_cost_usd is None else max_cost_usd,
        max_run_cost_usd=read("BERNSTEIN_MAX_RUN_COST_USD", _amount, None),
        default_budget_usd=read("BERNSTEIN_DEFAULT_BUDGET_USD", _amount, None),
        estimate_per_attempt_usd=read("BERNSTEIN_ESTIMATE_PER_ATTEMPT_USD", _amount, DEFAULT_ESTIMATE),
        require_budget=read("BERNSTEIN_REQUIRE_BUDGET", switch, default=False),
        max_agents_total=read("BERNSTEIN_MAX_AGENTS_TOTAL", _count, None),
        max_agents_per_namespace=read("BERNSTEIN_MAX_AGENTS_PER_NAMESPACE", _count, None),
        load_url=read("BERNSTEIN_LOAD_URL", _url, ""),
        load_query=read("BERNSTEIN_LOAD_QUERY", str, ""),
        load_interval=read("BERNSTEIN_LOAD_INTERVAL_SECONDS", _interval, DEFAULT_LOAD_INTERVAL),
        http_port=read("BERNSTEIN_HTTP_PORT", _port, DEFAULT_PORT),
        report_url=read("BERNSTEIN_REPORT_URL", _url, ""),
        report_port=read("BERNSTEIN_REPORT_PORT", _port, DEFAULT_REPORT_PORT),
        agent_image=environment.get("BERNSTEIN_AGENT_IMAGE") or DEFAULT_AGENT_IMAGE,
        anthropic_task_budgets=read("BERNSTEIN_ANTHROPIC_TASK_BUDGETS", _choice, default=False),
        leader_elect=read("BERNSTEIN_LEADER_ELECT", switch, default=True)
        if leader_elect is None
        else leader_elect,
        lease_namespace=lease_namespace
        or environment.get("BERNSTEIN_LEASE_NAMESPACE")
        or environment.get("POD_NAMESPACE", ""),
        lease_name=environment.get("BERNSTEIN_LEASE_NAME") or DEFAULT_LEASE_NAME,
        pod=environment.get("POD_NAME", ""),
        pod_namespace=environment.get("POD_NAMESPACE", ""),
        identity=environment.get("HOSTNAME") or "bernstein-operator",
        log_level=read("BERNSTEIN_LOG_LEVEL", _level, "INFO"),
        log_json=read("BERNSTEIN_LOG_FORMAT", _format, "json") == "json",
    )


def switch(text: str) -> bool:
    """Return what ``true`` or ``false`` says; ValueError for anything else."""
    if text.lower() not in _SWITCHES:
        raise ValueError(f"one of {', '.join(_SWITCHES)} is expected")
    return _SWITCHES[text.lower()]


def _choice(text: str) -> bool:
    """Return what one of the published words for yes and no says."""
    if text.lower() not in _CHOICES:
        raise ValueError(f"one of {', '.join(_CHOICES)} is expected")
    return _CHOICES[text.lower()]


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
            # A URL may hold a password.
            shown = {} if parse is _url else {"value": text}
            log.warning("setting ignored", extra={"setting": name, **shown, "error": str(error)})
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


def _amount(text: str) -> Money:
    amount = limit(text)
    if not amount.micros:
        raise ValueError("an amount above 0 is expected")
    return amount


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= _MAX_PORT:
        raise ValueError(f"a port between 0 and {_MAX_PORT} is expected")
    return port


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("a URL like http://host:port is expected")
    return text.rstrip("/")


def _level(text: str) -> str:
    if text.upper() not in _LEVELS:
        raise ValueError(f"one of {', '.join(_LEVELS)} is expected")
    return text.upper()


def _format(text: str) -> str:
    if text.lower() not in _FORMATS:
        raise ValueError(f"one of {', '.join(_FORMATS)} is expected")
    return text.lower()
