"""The chart's rules on the real API server: who is told to have commanded, and who may write the ledger.

The rules hold for the whole cluster, where other tests write ledgers as themselves; so their bindings are
narrowed here to namespaces with a label of this module.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import pytest

from bernstein_operator.api.choices import CommandVerb
from tests.support.builders import make_run, make_task
from tests.support.chart import rendered
from tests.support.fixtures import StartOperator, fresh_namespace
from tests.support.kube import ApiError, Kube, Manifest, eventually
from tests.support.tasks import wait_phase

ACTOR = "bernstein.run/actor"
RULED = "bernstein.test/ruled"
OPERATOR = "system:serviceaccount:system:release-bernstein-operator"
ROLES = {"alice": "edit", "carol": "edit", "vera": "view", OPERATOR: "edit"}

Act: TypeAlias = Callable[[Kube, str], object]


@pytest.fixture(scope="module")
def namespace(cluster_kube: Kube) -> Iterator[str]:
    """One namespace for the module, with people in it, under the chart's rules."""
    with fresh_namespace(cluster_kube) as name:
        kube = cluster_kube.within(name)
        installed = [kube.apply(narrowed(one))[0] for one in of_the_chart()]
        put_under_rules(kube)
        yield name
        for one in installed:
            kube.delete(kube.resource(f"{one['apiVersion']}/{one['kind']}").plural, one["metadata"]["name"])


def put_under_rules(kube: Kube) -> None:
    """Put people and the chart's rules into the namespace of ``kube``."""
    kube.patch("namespaces", kube.namespace, {"metadata": {"labels": {RULED: ""}}})
    for user, role in ROLES.items():
        kube.create(bound(user, role))
    eventually(partial(is_in_force, kube), what="the rules in force")


def of_the_chart() -> list[Manifest]:
    return rendered(serves=["v1"], templates=["policies.yaml", "user-roles.yaml"])


def narrowed(manifest: Manifest) -> Manifest:
    """Return a binding that holds for this module's namespaces only; anything else as it is."""
    if manifest["kind"].endswith("PolicyBinding"):
        manifest["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": {RULED: ""}}}
    return manifest


def bound(user: str, role: str) -> Manifest:
    """Return what gives ``user`` one of the built-in roles in the namespace."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{user.rpartition(':')[2]}-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
    }


def is_in_force(kube: Kube) -> bool:
    """Whether roles and rules have reached the API server's own memory."""
    alice = kube.acting_as("alice")
    try:
        stamped = alice.create(make_task(annotations={"bernstein.run/cancel": "true"}), dry_run=True)
    except ApiError:
        return False
    return actor(stamped) == "alice" and refuses(lambda: alice.create(segment("probe"), dry_run=True))


def refuses(act: Callable[[], object]) -> bool:
    """Whether the API server forbids it by the ledger's rule."""
    try:
        act()
    except ApiError as error:
        return error.status == 403 and "release-bernstein-operator-ledger" in error.message
    return False


def actor(found: Manifest) -> str | None:
    """Return who is told to have given the latest command."""
    told: str | None = found["metadata"].get("annotations", {}).get(ACTOR)
    return told


def segment(name: str, **fields: object) -> Manifest:
    """Return a ConfigMap of run ``r``'s ledger."""
    metadata = {"name": name, "labels": {"bernstein.run/ledger": "r"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"uid": "{}"}, **fields}


# --- the actor --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", CommandVerb)
@pytest.mark.parametrize("make", [make_task, make_run], ids=["task", "run"])
def test_every_command_is_stamped_with_who_gave_it(
    kube: Kube, make: Callable[..., Manifest], verb: CommandVerb
) -> None:
    made = kube.create(make(f"{verb}-{make.__name__.replace('_', '-')}"))
    kind = f"{made['kind'].lower()}s"
    commanded = kube.acting_as("alice").annotate(kind, made["metadata"]["name"], **{verb: "true"})
    assert actor(commanded) == "alice"


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        pytest.param({}, None, id="no command"),
        pytest.param({"cancel": "true"}, "alice", id="a command"),
        pytest.param({"cancel": "true", "actor": "bob"}, "alice", id="a command in another's name"),
        pytest.param({"actor": "bob"}, None, id="another's name for nothing"),
    ],
)
def test_who_makes_an_object_can_name_no_other_actor(
    kube: Kube, annotations: dict[str, str], told: str | None
) -> None:
    named = {f"bernstein.run/{key}": value for key, value in annotations.items()}
    assert actor(kube.acting_as("alice").create(make_task(annotations=named), dry_run=True)) == told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"cancel": "true"}, "alice", id="another command"),
        pytest.param({"retry": "2"}, "alice", id="the same with a new value"),
        pytest.param({"retry": "1"}, "carol", id="the same once more"),
        pytest.param({"retry": None}, "carol", id="the command taken back"),
        pytest.param({"actor": "bob"}, "carol", id="another's name"),
        pytest.param({"actor": None}, "carol", id="the name taken off"),
        pytest.param({"actor": "bob", "abandon": "other"}, "alice", id="a command in another's name"),
        pytest.param({"actor": None, "retry": None}, "carol", id="everything taken off"),
        pytest.param({"note": "x"}, "carol", id="something else"),
    ],
)
def test_the_latest_commands_actor_stays_and_cannot_be_forged(
    kube: Kube, request: pytest.FixtureRequest, change: dict[str, str | None], told: str
) -> None:
    name = "t-" + request.node.callspec.id.replace(" ", "-").replace("'", "")
    kube.acting_as("carol").create(make_task(name, annotations={"bernstein.run/retry": "1"}))
    assert actor(kube.acting_as("alice").annotate("agenttasks", name, **change)) == told


def test_the_actor_cannot_be_forged_by_way_of_the_status(kube: Kube) -> None:
    kube.create(make_task("by-status"))
    forged = {"metadata": {"annotations": {ACTOR: "bob"}}, "status": {"phase": "Failed"}}
    found = kube.patch("agenttasks", "by-status", forged, sub="status")
    assert (actor(found), found["status"]["phase"]) == (None, "Failed")


def test_the_operator_puts_the_actor_on_record(
    cluster_kube: Kube, namespace: str, start_operator: StartOperator
) -> None:
    with fresh_namespace(cluster_kube) as own:
        kube = cluster_kube.within(own)
        put_under_rules(kube)
        start_operator(BERNSTEIN_WATCH_NAMESPACES=own, BERNSTEIN_LEASE_NAMESPACE=own)
        kube.create(make_run())
        kube.create(make_task())
        kube.acting_as("alice").annotate("agenttasks", "t", abandon="other: no", actor="bob")
        status = wait_phase(kube, "t", "Abandoned")["status"]
    assert status["abandonment"]["actor"] == "alice"
    assert [one["actor"] for one in status["requests"]] == ["alice"]


def test_whoever_may_only_view_gives_no_command(kube: Kube) -> None:
    kube.create(make_task("viewed"))
    vera = kube.acting_as("vera")
    assert vera.get("agenttasks", "viewed")
    with pytest.raises(ApiError, match="403 Forbidden"):
        vera.annotate("agenttasks", "viewed", cancel="true")


# --- the ledger -------------------------------------------------------------------------------------------


def create(kube: Kube, name: str) -> object:
    return kube.create(segment(f"{name}-new"))


def edit(kube: Kube, name: str) -> object:
    return kube.patch("configmaps", name, {"data": {"uid": "forged"}})


def add(kube: Kube, name: str) -> object:
    return kube.patch("configmaps", name, {"data": {"other": "{}"}})


def unlabel(kube: Kube, name: str) -> object:
    return kube.patch("configmaps", name, {"metadata": {"labels": {"bernstein.run/ledger": None}}})


def seal(kube: Kube, name: str) -> object:
    return kube.patch("configmaps", name, {"immutable": True})


def delete(kube: Kube, name: str) -> None:
    kube.delete("configmaps", name)


def store_again(kube: Kube, name: str) -> object:
    found = kube.get("configmaps", name)
    path = kube.resource("configmaps").path(namespace=kube.namespace, name=name)
    return kube.request("PUT", path, body=found)


@pytest.mark.parametrize("act", [create, edit, add, unlabel, seal, delete], ids=lambda act: act.__name__)
@pytest.mark.parametrize("user", ["alice", "admin"])
def test_the_operator_alone_writes_the_ledger(kube: Kube, user: str, act: Act) -> None:
    name = f"{user}-{act.__name__}"
    operator = kube.acting_as(OPERATOR)
    operator.create(segment(name))
    someone = kube if user == "admin" else kube.acting_as(user)
    with pytest.raises(
        ApiError, match="a ledger of abandonments is written by the operator alone"
    ) as refused:
        act(someone, name)
    assert (refused.value.status, refused.value.reason) == (403, "Forbidden")
    act(operator, name)


def test_no_other_config_map_becomes_a_ledger(kube: Kube) -> None:
    plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}}
    alice = kube.acting_as("alice")
    alice.create(plain)
    alice.patch("configmaps", "plain", {"data": {"a": "b"}})
    ledger = {"metadata": {"labels": {"bernstein.run/ledger": "r"}}}
    assert refuses(lambda: alice.patch("configmaps", "plain", ledger))


@pytest.mark.parametrize(
    ("act", "sealed"),
    [
        pytest.param(store_again, False, id="storing it again as it is"),
        pytest.param(delete, True, id="deleting a sealed segment"),
    ],
)
def test_what_others_may_do_to_a_ledger(kube: Kube, act: Act, sealed: bool) -> None:
    name = f"others-{act.__name__.replace('_', '-')}"
    kube.acting_as(OPERATOR).create(segment(name, immutable=sealed))
    act(kube.acting_as("alice"), name)


def test_whoever_may_view_reads_the_ledger(kube: Kube) -> None:
    kube.acting_as(OPERATOR).create(segment("read"))
    vera = kube.acting_as("vera")
    names = [one["metadata"]["name"] for one in vera.items("configmaps", labels="bernstein.run/ledger=r")]
    assert "read" in names


def test_a_namespace_takes_its_ledger_with_it(cluster_kube: Kube) -> None:
    metadata = {"name": "doomed", "labels": {RULED: ""}}
    cluster_kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    kube = cluster_kube.within("doomed")
    kube.create(bound(OPERATOR, "edit"))
    eventually(partial(_writes, kube.acting_as(OPERATOR), segment("ledger")), what="the operator's right")
    assert refuses(partial(delete, kube, "ledger"))
    kube.delete("namespaces", "doomed")
    kube.wait_gone("namespaces", "doomed")


def _writes(kube: Kube, manifest: Manifest) -> bool:
    try:
        kube.create(manifest)
    except ApiError:
        return False
    return True
