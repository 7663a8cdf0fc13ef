"""The fault proxy against the real API server: passing on faithfully, and each fault as a client meets it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import urllib3

from tests.support.access import ClusterAccess
from tests.support.attribution import TaskKey
from tests.support.builders import make_task
from tests.support.faults import (
    Action,
    BlackHole,
    Delay,
    DelayEvents,
    Drop,
    Expire,
    Rule,
    refuse,
    too_many_requests,
)
from tests.support.kube import ApiError, Kube, Manifest, eventually
from tests.support.proxy import FaultProxy

POD: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "agent-1", "labels": {"bernstein.run/task": "t"}},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "nodeSelector": {"bernstein.test/nodes": "none"},
        "containers": [
            {
                "name": "agent",
                "image": "registry.invalid/agent",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}


def config_map(name: str = "c") -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


@pytest.fixture
def through(proxy: FaultProxy, namespace: str) -> Iterator[Kube]:
    """A client that reaches the API server only through the proxy, by the proxy's own kubeconfig."""
    kube = Kube(ClusterAccess.from_kubeconfig(proxy.kubeconfig), namespace, user_agent="through/1")
    yield kube
    kube.close()


class Watch:
    """A watch in a thread: the lines as they come and how it ended."""

    def __init__(self, access: ClusterAccess, path: str) -> None:
        self.lines: list[tuple[float, dict[str, Any]]] = []
        self.ended = threading.Event()
        self._answer = urllib3.PoolManager(retries=False).request(
            "GET", f"{access.server}{path}?watch=true", preload_content=False, timeout=20
        )
        self.status = self._answer.status
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            for line in iter(self._answer.readline, b""):
                self.lines.append((time.monotonic(), json.loads(line)))
        except (urllib3.exceptions.HTTPError, OSError):
            pass
        self.ended.set()

    def close(self) -> None:
        with suppress(RuntimeError):  # it has ended by itself
            self._answer.shutdown()
        self._thread.join(20)

    def names(self, kind: str = "ADDED") -> list[str]:
        return [line["object"]["metadata"]["name"] for _, line in self.lines if line["type"] == kind]


@pytest.fixture
def watch(through: Kube, namespace: str) -> Iterator[Callable[[str], Watch]]:
    """Watch a plural of the core group in the test's namespace, through the proxy."""
    opened: list[Watch] = []

    def begin(plural: str) -> Watch:
        opened.append(Watch(through.access, f"/api/v1/namespaces/{namespace}/{plural}"))
        return opened[-1]

    yield begin
    for each in opened:
        each.close()


def test_passes_on_what_is_asked_and_answered(through: Kube, kube: Kube, proxy: FaultProxy) -> None:
    through.create(config_map())
    through.patch("configmaps", "c", {"data": {"key": "value ✓"}})
    assert through.get("configmaps", "c") == kube.get("configmaps", "c")
    assert kube.get("configmaps", "c")["data"] == {"key": "value ✓"}
    with pytest.raises(ApiError) as refused:
        through.get("configmaps", "missing")
    assert (refused.value.status, refused.value.reason) == (404, "NotFound")
    of_maps = [record for record in proxy.records if record.resource == "configmaps"]
    assert [(record.verb, record.name, record.status) for record in of_maps] == [
        ("create", "c", 201),
        ("patch", "c", 200),
        ("get", "c", 200),
        ("get", "missing", 404),
    ]
    assert {record.user_agent for record in of_maps} == {"through/1"}


def test_streams_a_watch_without_holding_it_back(
    through: Kube, kube: Kube, watch: Callable[[str], Watch], proxy: FaultProxy
) -> None:
    watched = watch("configmaps")
    kube.create(config_map())
    eventually(lambda: "c" in watched.names(), what="the event")
    assert not watched.ended.is_set()
    assert [r.status for r in proxy.records if r.verb == "watch" and r.finished is None] == [200]


def test_delay_holds_a_request_back(through: Kube, kube: Kube, proxy: FaultProxy) -> None:
    with proxy.fault(Delay(seconds=0.5), verbs="create", resource="configmaps", count=1):
        begun = time.monotonic()
        through.create(config_map("slow"))
        assert time.monotonic() - begun >= 0.5
    assert kube.get("configmaps", "slow")


@pytest.mark.parametrize(
    ("action", "exists"),
    [
        pytest.param(Drop(), False, id="dropped before the server saw it"),
        pytest.param(Drop(forward=True), True, id="dropped after the server acted"),
    ],
)
def test_drop_resets_the_connection(
    through: Kube, kube: Kube, proxy: FaultProxy, action: Action, exists: bool
) -> None:
    with (
        proxy.fault(action, verbs="create", resource="configmaps") as rule,
        pytest.raises(urllib3.exceptions.ProtocolError, match="reset"),
    ):
        through.create(config_map())
    assert rule.hits == 1
    assert (kube.find("configmaps", "c") is not None) == exists
    [record] = [record for record in proxy.records if record.verb == "create"]
    assert (record.forwarded, record.status, record.is_write) == (exists, 201 if exists else None, exists)


@pytest.mark.parametrize(
    ("action", "exists"),
    [
        pytest.param(BlackHole(), False, id="swallowed before the server saw it"),
        pytest.param(BlackHole(forward=True), True, id="the answer swallowed"),
    ],
)
def test_black_hole_never_answers(
    through: Kube, kube: Kube, proxy: FaultProxy, action: Action, exists: bool
) -> None:
    path = f"/api/v1/namespaces/{kube.namespace}/configmaps"
    with proxy.fault(action, verbs="create", resource="configmaps"):
        with pytest.raises(urllib3.exceptions.ReadTimeoutError):
            through.request("POST", path, body=config_map(), timeout=1)
        assert (kube.find("configmaps", "c") is not None) == exists
    assert through.create(config_map("after"))


def test_black_hole_lets_go_when_it_is_removed(through: Kube, proxy: FaultProxy) -> None:
    rule = proxy.add(Rule(action=BlackHole(), verbs="get", resource="configmaps"))
    failed = threading.Event()

    def ask() -> None:
        with pytest.raises(urllib3.exceptions.ProtocolError):
            through.get("configmaps", "c")
        failed.set()

    asking = threading.Thread(target=ask)
    asking.start()
    eventually(lambda: rule.hits, what="the request")
    assert not failed.is_set()
    proxy.remove(rule)
    asking.join(20)
    assert failed.is_set()


def test_too_many_requests_says_when_to_come_back(through: Kube, proxy: FaultProxy) -> None:
    with proxy.fault(too_many_requests(retry_after=7), resource="configmaps"):
        answer = urllib3.PoolManager(retries=False).request(
            "GET", f"{through.access.server}/api/v1/namespaces/{through.namespace}/configmaps"
        )
    assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
    assert answer.headers["Content-Type"].startswith("text/plain")
    [record] = [record for record in proxy.records if record.resource == "configmaps"]
    assert (record.status, record.forwarded, record.fault) == (429, False, "Respond")


def test_refusal_is_a_status_object_and_changes_nothing(through: Kube, kube: Kube, proxy: FaultProxy) -> None:
    conflict = refuse(409, reason="Conflict", message="the quota was changed meanwhile")
    with proxy.fault(conflict, verbs="create", resource="configmaps", count=2) as rule:
        for _ in range(2):
            with pytest.raises(ApiError) as refused:
                through.create(config_map())
            assert (refused.value.status, refused.value.reason) == (409, "Conflict")
        assert refused.value.message == "the quota was changed meanwhile"
        assert kube.find("configmaps", "c") is None
        assert through.create(config_map()), "the third one passes: the rule is used up"
    assert rule.hits == 2


def test_events_are_held_back_in_running_watches_and_keep_their_order(
    kube: Kube, watch: Callable[[str], Watch], proxy: FaultProxy
) -> None:
    watched = watch("configmaps")
    eventually(lambda: "kube-root-ca.crt" in watched.names(), what="the namespace's own map")
    with proxy.fault(DelayEvents(seconds=1), resource="configmaps"):
        begun = time.monotonic()
        for name in ("first", "second"):
            kube.create(config_map(name))
        eventually(lambda: "second" in watched.names(), what="the delayed events")
    late = {line["object"]["metadata"]["name"]: at for at, line in watched.lines}
    assert late["first"] - begun >= 1
    assert watched.names()[-2:] == ["first", "second"]


def test_a_cut_watch_ends_without_a_word(watch: Callable[[str], Watch], proxy: FaultProxy) -> None:
    pods, maps = watch("pods"), watch("configmaps")
    eventually(lambda: proxy.cut_watches("pods") == 1, what="the watch of Pods")
    assert pods.ended.wait(20)
    assert not pods.lines
    assert not maps.ended.is_set()


def test_an_expired_watch_ends_with_410(watch: Callable[[str], Watch], proxy: FaultProxy) -> None:
    pods = watch("pods")
    eventually(lambda: proxy.expire_watches("pods") == 1, what="the watch of Pods")
    assert pods.ended.wait(20)
    assert [(line["type"], line["object"]["code"]) for _, line in pods.lines] == [("ERROR", 410)]


def test_expire_answers_a_new_watch_with_410_inside_and_a_list_outside(
    through: Kube, watch: Callable[[str], Watch], proxy: FaultProxy
) -> None:
    with proxy.fault(Expire(), resource="pods"):
        pods = watch("pods")
        assert pods.ended.wait(20)
        assert (pods.status, pods.lines[0][1]["object"]["code"]) == (200, 410)
        with pytest.raises(ApiError) as refused:
            through.items("pods")
    assert (refused.value.status, refused.value.reason) == (410, "Expired")


SOMETHING = refuse(500, reason="InternalError")


@pytest.mark.parametrize(
    ("rule", "hit", "spared"),
    [
        pytest.param(Rule(action=SOMETHING, verbs="get"), ("get", "a"), ("delete", "a"), id="by verb"),
        pytest.param(
            Rule(action=SOMETHING, verbs=frozenset({"get", "delete"})),
            ("delete", "a"),
            ("list", ""),
            id="by verbs",
        ),
        pytest.param(Rule(action=SOMETHING, name="a"), ("get", "a"), ("get", "b"), id="by name"),
        pytest.param(
            Rule(action=SOMETHING, where=lambda target, _: target.name.startswith("b")),
            ("get", "b"),
            ("get", "a"),
            id="by predicate",
        ),
    ],
)
def test_a_rule_hits_only_what_it_means(
    through: Kube, proxy: FaultProxy, rule: Rule, hit: tuple[str, str], spared: tuple[str, str]
) -> None:
    for name in ("a", "b"):
        through.create(config_map(name))
    proxy.add(replace(rule, resource="configmaps", namespace=through.namespace))
    with pytest.raises(ApiError, match="500"):
        _do(through, *hit)
    _do(through, *spared)


def _do(kube: Kube, verb: str, name: str) -> None:
    match verb:
        case "get":
            kube.get("configmaps", name)
        case "delete":
            kube.delete("configmaps", name)
        case _:
            kube.items("configmaps")


def test_a_subresource_is_meant_only_when_named(through: Kube, kube: Kube, proxy: FaultProxy) -> None:
    kube.create(make_task())
    with proxy.fault(SOMETHING, resource="agenttasks/status"):
        through.annotate("agenttasks", "t", poke="1")
        with pytest.raises(ApiError, match="500"):
            through.patch_status("agenttasks", "t", {"summary": "half done"})
    with proxy.fault(SOMETHING, resource="agenttasks"):
        through.patch_status("agenttasks", "t", {"summary": "half done"})
        with pytest.raises(ApiError, match="500"):
            through.annotate("agenttasks", "t", poke="2")


def test_writes_are_counted_by_task_and_kind_and_the_rest_apart(
    through: Kube, namespace: str, proxy: FaultProxy
) -> None:
    task = through.create(make_task())
    owner = {"apiVersion": "bernstein.run/v1alpha1", "kind": "AgentTask", "name": "t"}
    owned = {"ownerReferences": [{**owner, "uid": task["metadata"]["uid"]}]}
    through.create({**config_map("envelope"), "metadata": {"name": "envelope", **owned}})
    through.create(POD)
    through.patch("pods", "agent-1", {"metadata": {"annotations": {"bernstein.run/stop": "deadline"}}})
    through.patch_status("agenttasks", "t", {"attempt": 1})
    through.create(config_map("nobodys"))
    through.get("pods", "agent-1")
    with pytest.raises(ApiError):
        through.create(POD)
    counts = proxy.writes_by_task()
    assert counts.by_task == {TaskKey(namespace, "t"): {"configmaps": 1, "pods": 2, "agenttasks/status": 1}}
    assert counts.total(TaskKey(namespace, "t")) == 4
    assert counts.other == {"create agenttasks": 1, "create configmaps": 1}


def test_the_proxy_holds_no_credentials_and_speaks_only_on_loopback(proxy: FaultProxy) -> None:
    text = proxy.kubeconfig.read_text()
    assert f"http://127.0.0.1:{proxy.port}" in text
    assert not any(word in text for word in ("token", "client-key", "client-certificate", "password"))
