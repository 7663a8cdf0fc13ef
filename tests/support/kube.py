"""A thin synchronous client of the API server for tests.

Tests want to say ``kube.apply(...)``, ``kube.wait_for(...)`` and, when an expectation fails, to see the whole
object and what was said about it. Objects are plain dictionaries, as kubectl prints them, so that nothing
between the test and the API server can hide or repair a field. Resources are named as for kubectl: ``pods``,
``agenttasks``, ``events.events.k8s.io`` where a plural alone is ambiguous.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import urllib3
import yaml

from tests.support.access import ClusterAccess

Manifest: TypeAlias = dict[str, Any]
T = TypeVar("T")

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
FIELD_MANAGER = "bernstein-tests"

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_POLL_SECONDS = 0.1


class ApiError(Exception):
    """The API server refused; ``status`` is the HTTP status, ``reason`` the machine-readable word."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        parsed = _loads(body)
        self.reason = str(parsed.get("reason", ""))
        self.message = str(parsed.get("message", body.decode(errors="replace")))
        super().__init__(f"{status} {self.reason}: {self.message}")


@dataclass(frozen=True)
class Resource:
    """One resource that the API server serves."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, the object or the subresource."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{quote(part)}" for part in (self.plural, name, subresource) if part)
        return root + scope + tail


@dataclass
class Kube:
    """Requests to one API server; ``namespace`` is where namespaced requests go unless they say else."""

    access: ClusterAccess
    namespace: str = "default"
    user_agent: str = FIELD_MANAGER
    _resources: dict[str, Resource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pool = urllib3.PoolManager(ssl_context=self.access.tls, maxsize=4, retries=False)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def within(self, namespace: str) -> "Kube":
        """Return a client of the same server whose default namespace is ``namespace``."""
        return Kube(self.access, namespace, self.user_agent, self._resources)

    def acting_as(self, user: str) -> "Kube":
        """Return a client that impersonates ``user``."""
        return Kube(self.access.impersonating(user), self.namespace, self.user_agent, self._resources)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: float = 30.0,
    ) -> bytes:
        """Send one request and return the answer's body; ApiError unless the status is 2xx."""
        url = self.access.server + path + (f"?{urlencode(query)}" if query else "")
        headers = {**self.access.headers, "User-Agent": self.user_agent, "Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        payload = json.dumps(body).encode() if body is not None else None
        answer = self._pool.request(method, url, body=payload, headers=headers, timeout=timeout)
        if not 200 <= answer.status < 300:
            raise ApiError(answer.status, answer.data)
        return answer.data

    def resource(self, name: str) -> Resource:
        """Return the resource called ``name``: a plural, or plural.group; KeyError if there is none."""
        if name not in self._resources:
            self._discover()
        return self._resources[name]

    def _discover(self) -> None:
        found = [
            item
            for path in ("/api", "/apis")
            for item in json.loads(self.request("GET", path, accept=_AGGREGATED))["items"]
        ]
        for resource in (resource for item in found for resource in _served(item)):
            qualified = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            self._resources.setdefault(qualified, resource)
            self._resources.setdefault(resource.plural, resource)
            self._resources.setdefault(f"{resource.api_version}/{resource.kind}", resource)

    def _path(self, resource: str, name: str = "", namespace: str | None = None, sub: str = "") -> str:
        return self.resource(resource).path(namespace=namespace or self.namespace, name=name, subresource=sub)

    def get(self, resource: str, name: str, *, namespace: str | None = None) -> Manifest:
        """Return one object."""
        return _loads(self.request("GET", self._path(resource, name, namespace)))

    def find(self, resource: str, name: str, *, namespace: str | None = None) -> Manifest | None:
        """Return one object, or None if there is none of that name."""
        try:
            return self.get(resource, name, namespace=namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(
        self, resource: str, *, labels: str = "", fields: str = "", all_namespaces: bool = False
    ) -> list[Manifest]:
        """Return the objects that the label and field selectors mean."""
        path = self.resource(resource).path(namespace=None if all_namespaces else self.namespace)
        selectors = {"labelSelector": labels, "fieldSelector": fields}
        query = {key: value for key, value in selectors.items() if value}
        items: list[Manifest] = _loads(self.request("GET", path, query=query))["items"]
        return items

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """Create one object; unknown fields are an error, as with kubectl."""
        resource, namespace = self._place(manifest)
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        path = resource.path(namespace=namespace)
        return _loads(self.request("POST", path, body=manifest, query=query))

    def apply(self, source: str | Manifest | Path) -> list[Manifest]:
        """Apply (server-side, forced) a manifest, YAML text or a file of documents; return the results."""
        return [self._apply_one(manifest) for manifest in _documents(source)]

    def _apply_one(self, manifest: Manifest) -> Manifest:
        resource, namespace = self._place(manifest)
        path = resource.path(namespace=namespace, name=manifest["metadata"]["name"])
        query = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"}
        return _loads(self.request("PATCH", path, body=manifest, query=query, content_type=APPLY))

    def _place(self, manifest: Manifest) -> tuple[Resource, str]:
        resource = self.resource(f"{manifest['apiVersion']}/{manifest['kind']}")
        return resource, manifest["metadata"].get("namespace") or self.namespace

    def patch(
        self, resource: str, name: str, body: object, *, sub: str = "", content_type: str = MERGE
    ) -> Manifest:
        """Patch one object, by merge patch unless another content type is given."""
        path = self._path(resource, name, sub=sub)
        return _loads(self.request("PATCH", path, body=body, content_type=content_type))

    def patch_status(self, resource: str, name: str, status: Manifest) -> Manifest:
        """Merge ``status`` into the status subresource."""
        return self.patch(resource, name, {"status": status}, sub="status")

    def annotate(self, resource: str, name: str, **annotations: str | None) -> Manifest:
        """Set annotations below bernstein.run/ (``cancel="true"``); None removes one."""
        named = {f"bernstein.run/{key}": value for key, value in annotations.items()}
        return self.patch(resource, name, {"metadata": {"annotations": named}})

    def delete(self, resource: str, name: str, *, grace_seconds: int | None = None) -> None:
        """Delete one object; with ``grace_seconds`` 0 at once."""
        body = {"gracePeriodSeconds": grace_seconds} if grace_seconds is not None else None
        self.request("DELETE", self._path(resource, name), body=body)

    def delete_all(self, resource: str, *, grace_seconds: int | None = None) -> None:
        """Delete every object of ``resource`` in the namespace."""
        body = {"gracePeriodSeconds": grace_seconds} if grace_seconds is not None else None
        self.request("DELETE", self._path(resource), body=body)

    def wait_for(
        self,
        resource: str,
        name: str,
        predicate: Callable[[Manifest], object],
        *,
        timeout: float = 30.0,
        what: str = "",
    ) -> Manifest:
        """Return the object once ``predicate`` holds for it; else fail and show what it looks like."""
        until = time.monotonic() + timeout
        while True:
            found = self.find(resource, name)
            if found is not None and predicate(found):
                return found
            if time.monotonic() > until:
                raise AssertionError(self._disappointment(resource, name, found, what, timeout))
            time.sleep(_POLL_SECONDS)

    def wait_gone(self, resource: str, name: str, *, timeout: float = 30.0) -> None:
        """Return once there is no such object."""
        eventually(lambda: self.find(resource, name) is None, timeout=timeout, what=f"{resource}/{name} gone")

    def events_of(self, name: str) -> list[str]:
        """Return ``REASON: note`` of each event about the object called ``name``, oldest first."""
        events = self.items("events.events.k8s.io")
        about = [event for event in events if event.get("regarding", {}).get("name") == name]
        about.sort(key=lambda event: str(event.get("eventTime") or event["metadata"]["creationTimestamp"]))
        return [f"{event.get('reason')}: {event.get('note', '')}" for event in about]

    def _disappointment(
        self, resource: str, name: str, found: Manifest | None, what: str, timeout: float
    ) -> str:
        shown = yaml.safe_dump(without_noise(found), sort_keys=False) if found else "(does not exist)"
        said = "\n".join(self.events_of(name)) or "(no events)"
        wanted = what or "the expected state"
        return f"{resource}/{name}: {wanted} did not come within {timeout:g} s\n{shown}\nEvents:\n{said}"


@dataclass(frozen=True)
class Kubectl:
    """The real kubectl, for what users type; ``home`` keeps its caches apart from the user's own."""

    binary: Path
    kubeconfig: Path
    namespace: str
    home: Path

    def __call__(self, *args: str, stdin: str | None = None, check: bool = True) -> str:
        """Run ``kubectl ARGS``; return stdout and stderr as one text, AssertionError if it fails."""
        done = subprocess.run(
            [str(self.binary), "--namespace", self.namespace, *args],
            input=stdin,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(args)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout


def eventually(check: Callable[[], T | None], *, timeout: float = 30.0, what: str = "") -> T:
    """Call ``check`` until it returns something true, and return that; AssertionError after ``timeout`` s."""
    until = time.monotonic() + timeout
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > until:
            raise AssertionError(f"{what or 'the expected state'} did not come within {timeout:g} s")
        time.sleep(_POLL_SECONDS)


def condition(manifest: Manifest, kind: str) -> Manifest:
    """Return the condition of type ``kind``, or an empty one."""
    conditions = manifest.get("status", {}).get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == kind), {})


def without_noise(manifest: Manifest) -> Manifest:
    """Return ``manifest`` without managedFields, which no reader of a failed test wants."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "managedFields"}
    return {**manifest, "metadata": metadata}


def _served(item: Manifest) -> list[Resource]:
    """Return the resources of one group's preferred (first) version in an aggregated discovery item."""
    return [
        Resource(
            group=item["metadata"].get("name", ""),
            version=version["version"],
            plural=entry["resource"],
            kind=entry["responseKind"]["kind"],
            namespaced=entry["scope"] == "Namespaced",
        )
        for version in item["versions"]
        for entry in version.get("resources", [])
    ]


def _documents(source: str | Manifest | Path) -> list[Manifest]:
    if isinstance(source, dict):
        return [source]
    text = source.read_text() if isinstance(source, Path) else source
    return [document for document in yaml.safe_load_all(text) if document]


def _loads(body: bytes) -> Manifest:
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
