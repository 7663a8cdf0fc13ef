"""Writes ``docs/reference/api.md`` from the CRDs: ``python docs/api_reference.py``.

The CRDs are what the API server enforces, so a page made from them can't promise anything else. The test
``tests/unit/api/test_api_reference.py`` compares the committed page with a fresh one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from bernstein_agent.contract.money import DOLLARS_PATTERN
from bernstein_operator.api.base import (
    COMMIT_PATTERN,
    LABEL_PATTERN,
    QUANTITY_PATTERN,
    SUBDOMAIN_PATTERN,
    WORD_PATTERN,
)

Schema = dict[str, Any]

REPOSITORY: Final = Path(__file__).parents[1]
CRDS: Final = REPOSITORY / "crds"
PAGE: Final = REPOSITORY / "docs" / "reference" / "api.md"
_VALIDATIONS: Final = "x-kubernetes-validations"
_KNOWN_PATTERNS: Final = {
    LABEL_PATTERN: "DNS label",
    SUBDOMAIN_PATTERN: "DNS subdomain",
    COMMIT_PATTERN: "commit hash",
    WORD_PATTERN: "one word",
    QUANTITY_PATTERN: "quantity",
    DOLLARS_PATTERN: "dollars",
}
_ORDER: Final = ("BernsteinRun", "AgentTask", "AgentProfile")
_HEAD: Final = """# API reference

<!-- Made by `make crds` from crds/*.yaml; change the models in operator/bernstein_operator/api instead. -->

Group `bernstein.run`, version `v1alpha1`. Durations are whole seconds, moments RFC 3339, money is a number of
US dollars or text with up to six places, an amount of a resource is a Kubernetes quantity.

The API server refuses whatever is out of bounds and names the field. kubectl also refuses a field that
doesn't exist; a client that asks for no field validation has such a field silently dropped. `kubectl get
bernstein` shows the objects of all kinds.
"""


def page() -> str:
    """Return the whole page."""
    definitions = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in CRDS.glob("*.yaml")]
    definitions.sort(key=lambda definition: _ORDER.index(definition["spec"]["names"]["kind"]))
    return "\n".join((_HEAD, *(line for definition in definitions for line in _kind(definition))))


def _kind(definition: Schema) -> Iterator[str]:
    names, version = definition["spec"]["names"], definition["spec"]["versions"][0]
    root = version["schema"]["openAPIV3Schema"]
    yield f"## {names['kind']}\n"
    yield f"{root['description']}\n"
    yield f"`kubectl get {names['plural']}`, short `{names['shortNames'][0]}`.\n"
    yield from _columns(version)
    for part in ("spec", "status"):
        if part in root["properties"]:
            yield from _part(names["kind"], part, root["properties"][part])
    yield from _rules(root)


def _columns(version: Schema) -> Iterator[str]:
    columns = version["additionalPrinterColumns"]
    shown = [column["name"].upper() for column in columns if not column.get("priority")]
    wide = [column["name"].upper() for column in columns if column.get("priority")]
    yield f"Columns: NAME {' '.join(shown)}{'; with `-o wide` also ' + ' '.join(wide) if wide else ''}.\n"
    if "selectableFields" in version:
        paths = ", ".join(f"`{field['jsonPath'][1:]}`" for field in version["selectableFields"])
        yield f"Field selectors: {paths}.\n"


def _part(kind: str, part: str, schema: Schema) -> Iterator[str]:
    yield f"### {kind}.{part}\n"
    yield f"{schema['description']}\n"
    yield "| field | type | default | bounds | meaning |"
    yield "|---|---|---|---|---|"
    yield from _fields(schema, "")
    yield ""


def _fields(schema: Schema, prefix: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        path = f"{prefix}{name}"
        kind = f"{_type(field)}, required" if name in required else _type(field)
        default = f"`{field['default']}`" if "default" in field else ""
        meaning = field["description"].replace("<", "&lt;").replace("|", "\\|")
        yield f"| `{path}` | {kind} | {default} | {_bounds(field)} | {meaning} |"
        below, suffix = (field["items"], "[].") if "items" in field else (field, ".")
        if "properties" in below:
            yield from _fields(below, path + suffix)


def _type(field: Schema) -> str:
    if "x-kubernetes-int-or-string" in field:
        return "integer or string"
    if "additionalProperties" in field:
        return f"map of {_type(field['additionalProperties'])}"
    if "items" in field:
        return f"list of {_type(field['items'])}"
    return "date-time" if field.get("format") == "date-time" else str(field["type"])


def _bounds(field: Schema) -> str:
    inner = field.get("items") or field.get("additionalProperties") or {}
    own = (_values(field), _range(field), _sizes(field), _key(field), _pattern(field))
    each = "" if "properties" in inner else _bounds(inner) if inner else ""
    return "; ".join(text for text in (*own, f"each: {each}" if each else "") if text)


def _values(field: Schema) -> str:
    return ", ".join(f"`{value}`" for value in field.get("enum", ()))


def _range(field: Schema) -> str:
    if "minimum" not in field:
        return ""
    return (
        f"{field['minimum']} to {field['maximum']}" if "maximum" in field else f"{field['minimum']} or more"
    )


def _sizes(field: Schema) -> str:
    limits = (
        ("Items", "entries"),
        ("Length", "characters"),
        ("Properties", "entries"),
    )
    return "; ".join(
        f"{f'{low} to ' if (low := field.get(f'min{what}')) else 'up to '}{field[f'max{what}']} {unit}"
        for what, unit in limits
        if f"max{what}" in field
    )


def _key(field: Schema) -> str:
    keys = field.get("x-kubernetes-list-map-keys")
    return f"one for each `{keys[0]}`" if keys else ""


def _pattern(field: Schema) -> str:
    pattern = field.get("pattern", "")
    return _KNOWN_PATTERNS.get(pattern) or (f"`{pattern}`".replace("|", "\\|") if pattern else "")


def _rules(root: Schema) -> Iterator[str]:
    messages = list(dict.fromkeys(_messages(root)))
    if messages:
        yield "Refused with these words:\n"
        yield from (f"- {message}" for message in messages)
        yield ""


def _messages(schema: Schema) -> Iterator[str]:
    yield from (rule["message"] for rule in schema.get(_VALIDATIONS, ()))
    for child in schema.get("properties", {}).values():
        yield from _messages(child)
    if "items" in schema:
        yield from _messages(schema["items"])


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
