"""Writes the reference pages that are made from the code: ``python docs/reference_pages.py``.

A word of a status, a metric or a setting is described where it is defined, and nowhere else. These pages are
those descriptions, so they can't promise anything that the code doesn't have. The tests in
``tests/unit/docs`` compare the committed pages with fresh ones.
"""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final

from bernstein_agent.contract import vocabulary as contract_vocabulary
from bernstein_operator import settings
from bernstein_operator.api import names, vocabulary
from bernstein_operator.api.event_reasons import EventReason
from bernstein_operator.builders import events, request_notices, run_notices, task_notices
from bernstein_operator.decisions.retry import RULES, ClassRule, Climb, Counting
from bernstein_operator.telemetry import metrics

PAGES: Final = Path(__file__).parent / "reference"
_MADE: Final = "<!-- Made by `make docs` from {source}; change that instead. -->"
_METRIC_KINDS: Final = frozenset({"Counter", "Gauge", "Histogram"})
_COUNTED: Final[Mapping[Counting, str]] = MappingProxyType(
    {
        Counting.RETRIES: "one of `retry.limit`",
        Counting.DISRUPTIONS: "one of `retry.disruptionLimit`",
        Counting.NONE: "nothing",
        Counting.ALL: "every retry",
    }
)
_CLIMBS: Final[Mapping[Climb, str]] = MappingProxyType(
    {
        Climb.NONE: "",
        Climb.STEP: "one step up",
        Climb.TOP: "the top of the ladder",
        Climb.MEMORY: "more memory",
    }
)


def pages() -> dict[str, str]:
    """Return every page's text by its file name."""
    return {
        "conditions-and-reasons.md": _text(_conditions_page()),
        "events.md": _text(_events_page()),
        "metrics.md": _text(_metrics_page()),
        "settings.md": _text(_settings_page()),
        "labels-and-annotations.md": _text(_labels_page()),
    }


# --- reading the code -------------------------------------------------------------------------------------


def described(members: type[StrEnum]) -> dict[str, str]:
    """Return each member's value with the docstring under it, empty where there is none."""
    body = _class(members).body
    found = {_target(node): text for node, text in _with_docstrings(body)}
    return {str(one.value): found[one.name] for one in members}


def constants(module: ModuleType) -> dict[str, str]:
    """Return each constant's name with the docstring under it, empty where there is none."""
    return {_target(node): text for node, text in _with_docstrings(_tree(module).body)}


def _with_docstrings(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    for node, following in zip(body, (*body[1:], None), strict=True):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            yield node, _docstring(following)


def _docstring(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
        case _:
            return ""


def _target(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _class(described_class: type) -> ast.ClassDef:
    found = ast.parse(inspect.getsource(described_class)).body
    return next(node for node in found if isinstance(node, ast.ClassDef))


# --- conditions and reasons -------------------------------------------------------------------------------


def _conditions_page() -> Iterator[str]:
    yield from _head("Conditions and reasons", "operator/bernstein_operator/api/vocabulary.py")
    yield "Scripts may match on every word here: the sets are closed, and a word keeps its meaning."
    yield from _section("Conditions", vocabulary.ConditionType, heading="type")
    yield "Which phase comes with which: [tasks](../concepts/task.md), [runs](../concepts/run.md)."
    yield from _section("Phases of a task", vocabulary.TaskPhase, heading="`status.phase`")
    yield from _section("Why a task waits: reasons of Admitted", vocabulary.AdmittedReason)
    yield "What to do about each is in [troubleshooting](../troubleshooting.md)."
    yield from _section("Why a task ended: reasons of Complete, Failed and Stalled", vocabulary.TaskReason)
    yield "Where none of these says it, the reason is the attempt's own, or the phase."
    yield from _section("What blocks a task: status.blockedBy.cause", vocabulary.BlockCause)
    yield from _section("Phases of a run", vocabulary.RunPhase, heading="`status.phase`")
    yield from _section("Reasons of a run's conditions", vocabulary.RunReason)
    yield from _section("Reasons of a profile's Ready condition", vocabulary.ProfileReason)
    yield from _result_classes()
    yield from _section("Reasons that the operator gives an attempt", vocabulary.AttemptReason)
    yield "The runner's own reasons are in [the contract](contract.md#result)."


def _section(title: str, members: type[StrEnum], *, heading: str = "reason") -> Iterator[str]:
    yield f"\n## {title}\n"
    yield from _table((heading, "when"), ((f"`{value}`", text) for value, text in described(members).items()))
    yield ""


def _result_classes() -> Iterator[str]:
    yield "\n## Result classes: status.attempts[].resultClass\n"
    yield "What an attempt's end counts as. The back-off: [retries](../concepts/retries-and-deadlines.md).\n"
    texts = described(contract_vocabulary.ResultClass)
    rows = (
        (f"`{one}`", texts[one], *_consequences(rule), "yes" if rule.error else "no")
        for one, rule in RULES.items()
    )
    heads = ("class", "when", "uses up", "another attempt", "which gets", "error for the ceiling")
    yield from _table(heads, rows)
    yield ""


def _consequences(rule: ClassRule) -> tuple[str, str, str]:
    """Return what a class uses up, when another attempt follows, and what that gets more of."""
    if rule.ends:
        return "", f"no: {rule.ends}", ""
    if rule.counts is Counting.ALL:
        return _COUNTED[rule.counts], "no: `retry.onExhausted`", ""
    when = "after a back-off" if rule.backs_off else "at once"
    return _COUNTED[rule.counts], when, _CLIMBS[rule.climb]


# --- events -----------------------------------------------------------------------------------------------


def _events_page() -> Iterator[str]:
    yield from _head("Events", "operator/bernstein_operator/api/event_reasons.py and builders/*_notices.py")
    yield "Events are of `events.k8s.io/v1`, with `reportingController: bernstein.run/operator`. Each tells"
    yield "of one change, after the status that holds it was stored. A repeat has the same name, so the API"
    yield "server drops it. An event that can't be written holds nothing up: the status is the record.\n"
    yield "```"
    yield "kubectl get events --sort-by=.metadata.creationTimestamp"
    yield "kubectl events --for agenttask/hello-write   # of one task"
    yield "```\n"
    texts = described(EventReason)
    told: dict[str, list[tuple[str, str, str]]] = {}
    for reason, call, about in _notice_calls():
        told.setdefault(str(reason), []).append(_event_facts(call, about))
    rows = (
        (f"`{reason}`", *map(_each_once, zip(*told[reason], strict=True)), text)
        for reason, text in texts.items()
    )
    yield from _table(("reason", "about", "type", "action", "when"), rows)


def _each_once(words: Iterable[str]) -> str:
    """Return the words in order; an event of several kinds of objects has a word for each."""
    return ", ".join(sorted(set(words)))


_ABOUT = {
    task_notices: "AgentTask",
    run_notices: "BernsteinRun",
    request_notices: "AgentTask, BernsteinRun",
}
"""What the events of a module are about."""
_OF_PROFILES = "profile_notices"
"""The function whose events are about profiles."""


def _notice_calls() -> Iterator[tuple[EventReason, ast.Call, str]]:
    """Yield each kind of event with the call that makes it and the kind of object that it is about."""
    for module, about in _ABOUT.items():
        for function in _tree(module).body:
            profiles = isinstance(function, ast.FunctionDef) and function.name == _OF_PROFILES
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Name(id="Notice"), args=[ast.Attribute(attr=member), *_]):
                        yield EventReason[member], node, "AgentProfile" if profiles else about
                    case _:
                        continue


def _event_facts(call: ast.Call, about: str) -> tuple[str, str, str]:
    types = {"WARNING": events.WARNING, "kind": f"{events.NORMAL} or {events.WARNING}"}
    given = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
    kind = next((types[name] for name in given if name in types), events.NORMAL)
    action = next(
        word.value.value
        for word in call.keywords
        if word.arg == "action" and isinstance(word.value, ast.Constant)
    )
    return about, kind, str(action)


# --- metrics ----------------------------------------------------------------------------------------------


def _metrics_page() -> Iterator[str]:
    yield from _head("Metrics", "operator/bernstein_operator/telemetry/metrics.py")
    yield "`GET /metrics` on port 8080 (`BERNSTEIN_HTTP_PORT`), in the Prometheus text format. No label holds"
    yield "the name of a task or a Pod; series with the name of a run go ten minutes after its end."
    yield "Counters count what was stored: a write that was repeated counts once. Of several replicas"
    yield "only the leader shows tasks and agents; the others show 0.\n"
    yield from _table(("metric", "type", "labels", "what"), _metric_rows())
    yield "\nBesides, `process_*` of prometheus-client: CPU, memory, open files and start of the process."
    yield f"\nRoles beyond {metrics.MAX_ROLES}, and models that the profile doesn't list, are counted as"
    yield f"`{metrics.OTHER}`; the model is `{metrics.OWN_MODEL}` where the agent's program chooses it."


def _metric_rows() -> Iterator[tuple[str, str, str, str]]:
    for node in ast.walk(_tree(metrics)):
        match node:
            case ast.Call(
                func=ast.Name(id=kind),
                args=[ast.Constant(value=str(name)), ast.Constant(value=str(text)), *rest],
            ) if kind in _METRIC_KINDS:
                labels = ast.literal_eval(rest[0]) if rest else []
                suffix = "_total" if kind == "Counter" else ""
                yield f"`{name}{suffix}`", kind.lower(), ", ".join(f"`{one}`" for one in labels), text
            case _:
                continue


# --- settings ---------------------------------------------------------------------------------------------


def _settings_page() -> Iterator[str]:
    yield from _head("Settings", "operator/bernstein_operator/settings.py")
    yield "The operator reads each setting once, at its start: from its flag, else from its environment"
    yield "variable. A value that can't be used is named in the log and ignored.\n"
    rows = (
        (_code(_flag(read)), _code(_variable(read)), f"`{_default(field)}`" if _default(field) else "", text)
        for field, text, read in _settings()
    )
    yield from _table(("flag", "environment", "default", "meaning"), rows)
    yield "\nWith Helm they are the values `maxAgents`, `maxAgentsTotal`, `maxAgentsPerNamespace`,"
    yield "`maxCostUsd`, `maxRunCostUsd`, `defaultBudgetUsd`, `estimatePerAttemptUsd`, `requireBudget`,"
    yield "`watchNamespaces`, `agentImage`, `reports.enabled`, `anthropicTaskBudgets`, those of"
    yield "`load` and `log` in `charts/bernstein-operator/values.yaml`; what concerns the Pod, the Lease and"
    yield "the Service of the reports the chart sets by itself. The command line:\n"
    yield "```"
    yield "bernstein-operator run [--kubeconfig FILE] [--leader-elect true|false] [--lease-namespace NAME]"
    yield "bernstein-operator --version"
    yield "```"


def _settings() -> Iterator[tuple[str, str, ast.expr]]:
    """Yield each field of Settings with its description and the expression that reads it."""
    texts = dict(re.findall(r"^ +(\w+): (.+)$", settings.Settings.__doc__ or "", re.MULTILINE))
    for node in ast.walk(_tree(settings)):
        match node:
            case ast.Call(func=ast.Name(id="Settings"), keywords=words):
                yield from ((str(word.arg), texts[str(word.arg)], word.value) for word in words)
            case _:
                continue


def _variable(read: ast.expr) -> str:
    texts = (one.value for one in ast.walk(read) if isinstance(one, ast.Constant))
    return next((text for text in texts if isinstance(text, str) and text.isupper()), "")


def _flag(read: ast.expr) -> str:
    named = {one.id for one in ast.walk(read) if isinstance(one, ast.Name)}
    flags = inspect.signature(settings.from_environment).parameters.keys() - {"environment"}
    return next((f"--{flag.replace('_', '-')}" for flag in flags & named), "")


def _default(field: str) -> str:
    value = getattr(settings.Settings(), field)
    if isinstance(value, tuple):
        value = ",".join(value)
    if field == "log_json":
        return "json" if value else "text"
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


# --- labels and annotations -------------------------------------------------------------------------------


def _labels_page() -> Iterator[str]:
    yield from _head("Labels and annotations", "operator/bernstein_operator/api/names.py")
    limit = names.LABEL_LIMIT
    yield f"A value of more than {limit} characters is cut and ends in six digits of its hash. Labels are for"
    yield "finding things; whose Pod it is, the operator tells by UIDs and owner references.\n"
    yield "```"
    yield "kubectl get pods -l bernstein.run/run=hello,bernstein.run/component=agent"
    yield "```\n"
    yield "## Labels\n"
    yield from _table(("label", "meaning"), _common_labels())
    yield from _rows(_keys("LABEL_"))
    yield "\n## Annotations\n"
    yield from _table(("annotation", "meaning"), _keys("ANNOTATION_"))


def _common_labels() -> Iterator[tuple[str, str]]:
    for key, value in names.labels(run="", task="", component="agent").items():
        if not key.startswith(names.GROUP):
            own = f"`{value}`" if value != names.COMPONENT_AGENT else "`agent`, `task` or `ledger`"
            yield f"`{key}`", f"On everything created: {own}."


def _keys(prefix: str) -> Iterator[tuple[str, str]]:
    for name, text in constants(names).items():
        value = getattr(names, name)
        if name.startswith(prefix) and isinstance(value, str):
            yield f"`{value}`", text


# --- Markdown ---------------------------------------------------------------------------------------------


def _head(title: str, source: str) -> tuple[str, ...]:
    return f"# {title}\n", f"{_MADE.format(source=source)}\n"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from _rows(rows)


def _rows(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield from (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _text(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def main() -> None:
    """Write all pages."""
    for name, text in pages().items():
        (PAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
