"""Every field takes what lies at its bounds and refuses, by name, what lies beyond."""

from collections.abc import Callable

import pytest

from tests.integration.crds.bounds import BOUNDS
from tests.support.crd_fields import leaves
from tests.support.crd_manifests import manifest, status, with_value
from tests.support.kube import MERGE, ApiError, Kube

Dry = Callable[[str, str, object], object]
_SHOWN = 30


@pytest.fixture(scope="module")
def dry(served: Kube) -> Dry:
    """Ask the API server about one value of one field, without storing it."""
    complete = {kind: served.apply(manifest(kind))[0] for kind in BOUNDS}

    def ask(kind: str, path: str, value: object) -> object:
        if path.startswith("spec"):
            return served.create(with_value(manifest(kind, name="dry"), path, value), dry_run=True)
        resource = served.resource(f"{complete[kind]['apiVersion']}/{kind}")
        return served.request(
            "PATCH",
            resource.path(namespace=served.namespace, name="complete", subresource="status"),
            body=with_value({"status": status(kind)}, path, value),
            query={"dryRun": "All"},
            content_type=MERGE,
        )

    return ask


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def _rows(which: str) -> list[object]:
    return [
        pytest.param(kind, path, value, id=f"{kind} {path} {_shown(value)}")
        for kind, fields in BOUNDS.items()
        for path, bounds in fields.items()
        for value in getattr(bounds, which)
    ]


@pytest.mark.parametrize(("kind", "path", "value"), _rows("accepted"))
def test_a_value_within_the_bounds_is_taken(dry: Dry, kind: str, path: str, value: object) -> None:
    dry(kind, path, value)


@pytest.mark.parametrize(("kind", "path", "value"), _rows("refused"))
def test_a_value_beyond_the_bounds_is_refused_by_name(dry: Dry, kind: str, path: str, value: object) -> None:
    with pytest.raises(ApiError) as refusal:
        dry(kind, path, value)
    assert refusal.value.status == 422
    assert path in refusal.value.message


def test_every_field_has_a_row() -> None:
    tried = {
        (kind, path.replace("[0]", "[]").replace("[1]", "[]")) for kind in BOUNDS for path in BOUNDS[kind]
    }
    assert {(leaf.kind, leaf.path) for leaf in leaves()} - tried == set()


@pytest.mark.parametrize("kind", BOUNDS)
def test_a_complete_spec_is_stored_without_loss(served: Kube, kind: str) -> None:
    complete = manifest(kind, name="whole")
    assert served.apply(complete)[0]["spec"] == complete["spec"]


@pytest.mark.parametrize(
    ("kind", "resource"),
    [("BernsteinRun", "bernsteinruns"), ("AgentTask", "agenttasks"), ("AgentProfile", "agentprofiles")],
)
def test_a_complete_status_is_stored_without_loss(served: Kube, kind: str, resource: str) -> None:
    served.apply(manifest(kind, name="whole"))
    assert served.patch_status(resource, "whole", status(kind))["status"] == status(kind)
