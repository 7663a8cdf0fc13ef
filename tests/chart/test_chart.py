"""What the chart installs, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bernstein_operator.api.money import Money
from bernstein_operator.api.names import LABEL_LEADER, shorten
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.kube.tokens import DISCOVERY, KEYS
from bernstein_operator.settings import from_environment
from tests.chart.conftest import CHART, Manifest, Render, helm

CI_VALUES = sorted((CHART / "ci").glob("*-values.yaml"))
CRDS = Path(__file__).parents[2] / "crds"

each_fixture = pytest.mark.parametrize("values", CI_VALUES, ids=lambda path: path.stem)


def of_kind(manifests: list[Manifest], *kinds: str) -> list[Manifest]:
    """Return the objects of those kinds."""
    return [one for one in manifests if one["kind"] in kinds]


def names(manifests: list[Manifest]) -> set[tuple[str, str | None]]:
    """Return kind and namespace of each object."""
    return {(one["kind"], one["metadata"].get("namespace")) for one in manifests}


def environment(manifests: list[Manifest]) -> dict[str, str]:
    """Return the operator's environment, what the Pod's own fields are written in as ``<metadata.name>``."""
    [container] = pod_spec(manifests)["containers"]
    return {variable["name"]: variable.get("value", _field(variable)) for variable in container["env"]}


def _field(variable: Manifest) -> str:
    return f"<{variable.get('valueFrom', {}).get('fieldRef', {}).get('fieldPath')}>"


def pod_spec(manifests: list[Manifest]) -> Manifest:
    """Return the spec of the operator's Pod."""
    [deployment] = of_kind(manifests, "Deployment")
    spec: Manifest = deployment["spec"]["template"]["spec"]
    return spec


@each_fixture
def test_helm_finds_nothing_to_complain_of(values: Path) -> None:
    done = helm("lint", "--strict", CHART, f"--values={values}")
    assert done.returncode == 0, done.stdout + done.stderr


@each_fixture
def test_every_namespaced_object_says_where_it_belongs(render: Render, values: Path) -> None:
    cluster_wide = {"CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}
    for kind, place in names(render(values=values, serves=["v1"])):
        assert (kind in cluster_wide or "AdmissionPolicy" in kind) == (place is None)


@each_fixture
def test_roles_have_no_wildcard_and_no_secrets(render: Render, values: Path) -> None:
    rules = [rule for role in of_kind(render(values=values), "Role", "ClusterRole") for rule in role["rules"]]
    words = {word for rule in rules for words in rule.values() for word in words}
    assert not words & {"*", "secrets"}


@each_fixture
def test_nodes_are_read_where_the_operator_watches_the_whole_cluster(render: Render, values: Path) -> None:
    roles = of_kind(render(values=values), "Role", "ClusterRole")
    for role in roles:
        verbs = {
            (group, kind): rule["verbs"]
            for rule in role["rules"]
            for group in rule.get("apiGroups", ())
            for kind in rule.get("resources", ())
        }
        everywhere = role["kind"] == "ClusterRole" and ("", "pods") in verbs
        assert verbs.get(("", "nodes")) == (["get", "list"] if everywhere else None)
        assert verbs.get(("metrics.k8s.io", "nodes")) == (["list"] if everywhere else None)


def test_the_operator_deletes_what_it_made_and_what_a_ttl_is_over_of_and_nothing_else(render: Render) -> None:
    [role] = [
        one for one in of_kind(render(), "ClusterRole") if one["metadata"]["name"].endswith("-operator")
    ]
    assert [rule.get("resources") for rule in role["rules"] if "delete" in rule["verbs"]] == [
        ["agenttasks"],
        ["bernsteinruns"],
        ["pods"],
        ["configmaps"],
    ]


def test_the_operator_keeps_envelopes_and_the_ledger_in_config_maps(render: Render) -> None:
    [role] = [
        one for one in of_kind(render(), "ClusterRole") if one["metadata"]["name"].endswith("-operator")
    ]
    [verbs] = [rule["verbs"] for rule in role["rules"] if rule.get("resources") == ["configmaps"]]
    assert sorted(verbs) == ["create", "delete", "get", "list", "patch"]


def test_the_operator_writes_the_status_of_all_three_kinds_and_nothing_else_of_a_profile(
    render: Render,
) -> None:
    [role] = [
        one for one in of_kind(render(), "ClusterRole") if one["metadata"]["name"].endswith("-operator")
    ]
    patched = {
        kind for rule in role["rules"] if "patch" in rule["verbs"] for kind in rule.get("resources", ())
    }
    assert {"bernsteinruns/status", "agenttasks/status", "agentprofiles/status"} <= patched
    verbs = {
        verb
        for rule in role["rules"]
        if "agentprofiles" in rule.get("resources", ())
        for verb in rule["verbs"]
    }
    assert verbs == {"get", "list", "watch"}


def test_editors_choose_profiles_and_only_admins_make_them(render: Render) -> None:
    roles = {one["metadata"]["name"].rpartition("-")[2]: one for one in of_kind(render(), "ClusterRole")}
    writable = {
        name: sorted(
            kind
            for rule in roles[name]["rules"]
            for kind in rule.get("resources", ())
            if "create" in rule["verbs"]
        )
        for name in ("view", "edit", "admin")
    }
    assert writable == {"view": [], "edit": ["agenttasks", "bernsteinruns"], "admin": ["agentprofiles"]}


def test_watched_namespaces_bound_what_the_operator_may_do(render: Render) -> None:
    manifests = render(values=CHART / "ci" / "namespaced-values.yaml", serves=["v1"])
    assert {kind for kind, place in names(manifests) if not place} == {"CustomResourceDefinition"}
    own = ("-lease", "-reports")
    elsewhere = [one for one in manifests if not one["metadata"]["name"].endswith(own)]
    places = names(of_kind(elsewhere, "Role", "RoleBinding", "AgentProfile"))
    assert places == {
        (kind, team) for kind in ("Role", "RoleBinding", "AgentProfile") for team in ("team-a", "team-b")
    }
    assert environment(manifests)["BERNSTEIN_WATCH_NAMESPACES"] == "team-a,team-b"


def test_the_crds_are_the_committed_ones(render: Render) -> None:
    installed = {path.name: path.read_text() for path in (CHART / "files" / "crds").iterdir()}
    committed = {path.name: path.read_text() for path in CRDS.iterdir()}
    assert installed == committed, "run `make crds`"
    specs = {one["metadata"]["name"]: one["spec"] for one in of_kind(render(), "CustomResourceDefinition")}
    assert specs == {crd["metadata"]["name"]: crd["spec"] for crd in map(yaml.safe_load, committed.values())}


@pytest.mark.parametrize(
    ("setting", "policies"),
    [
        pytest.param("crds.keep=true", {"keep"}, id="kept when the release goes"),
        pytest.param("crds.keep=false", {None}, id="gone with the release"),
        pytest.param("crds.enabled=false", set(), id="not installed"),
    ],
)
def test_crds_follow_their_switches(render: Render, setting: str, policies: set[str | None]) -> None:
    crds = of_kind(render(setting), "CustomResourceDefinition")
    assert {one["metadata"]["annotations"].get("helm.sh/resource-policy") for one in crds} == policies


def test_one_replica_stands_by_and_a_new_one_comes_before_an_old_one_goes(render: Render) -> None:
    [deployment] = of_kind(render(), "Deployment")
    spec = deployment["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }


@pytest.mark.parametrize("release", ["release", "bernstein-operator"])
def test_the_lease_is_the_releases_own_and_the_only_one_in_reach(release: str) -> None:
    done = helm("template", release, CHART, "--namespace=system")
    manifests = [one for one in yaml.safe_load_all(done.stdout) if one]
    [role, binding] = [
        one for one in of_kind(manifests, "Role", "RoleBinding") if one["metadata"]["name"].endswith("-lease")
    ]
    settings = from_environment(environment(manifests))
    assert role["rules"] == [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [settings.lease_name],
            "verbs": ["get", "patch"],
        },
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    ]
    assert {one["metadata"]["namespace"] for one in (role, binding)} == {"system"}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"][0]["name"] == pod_spec(manifests)["serviceAccountName"]
    assert (settings.leader_elect, settings.lease_namespace) == (True, "<metadata.namespace>")
    assert settings.pod == "<metadata.name>"


@pytest.mark.parametrize("release", ["release", "r" * 50])
def test_reports_reach_the_leaders_pod_and_no_other(release: str) -> None:
    done = helm("template", release, CHART, "--namespace=system", f"--set=nameOverride={'n' * 60}")
    manifests = [one for one in yaml.safe_load_all(done.stdout) if one]
    [service] = of_kind(manifests, "Service")
    [deployment] = of_kind(manifests, "Deployment")
    settings = from_environment(environment(manifests))
    labelled = {**deployment["spec"]["template"]["metadata"]["labels"], LABEL_LEADER: settings.lease_name}
    selector = service["spec"]["selector"]
    assert selector.items() <= labelled.items()
    assert shorten(settings.lease_name) == selector[LABEL_LEADER]
    [port] = service["spec"]["ports"]
    name, place = service["metadata"]["name"], service["metadata"]["namespace"]
    assert settings.report_url == f"http://{name}.{place}.svc:{port['port']}"
    assert len(name) <= 63
    [container] = pod_spec(manifests)["containers"]
    assert {"name": port["targetPort"], "containerPort": settings.report_port} in container["ports"]


@each_fixture
def test_rights_for_reports_are_given_where_reports_are_taken(render: Render, values: Path) -> None:
    manifests = render(values=values)
    taken = bool(of_kind(manifests, "Service"))
    roles = of_kind(manifests, "Role", "ClusterRole")
    own = [one for one in roles if one["metadata"]["name"].endswith("-reports")]
    assert len(own) == int(taken and bool(roles))
    for role in own:
        assert role["rules"] == [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "patch"]}
        ]
    rules = [rule for role in roles if role["kind"] == "ClusterRole" for rule in role["rules"]]
    everywhere = any("pods" in rule.get("resources", ()) for rule in rules)
    urls = [url for rule in rules for url in rule.get("nonResourceURLs", ())]
    assert urls == ([DISCOVERY, KEYS] if taken and everywhere else [])
    reviewed = ["create" in rule["verbs"] for rule in rules if rule.get("resources") == ["tokenreviews"]]
    assert reviewed == ([True] if taken and everywhere else [])


@pytest.mark.parametrize(
    ("settings", "bound"),
    [
        pytest.param(["podDisruptionBudget.enabled=true"], {"maxUnavailable": 1}, id="as it is"),
        pytest.param(
            ["podDisruptionBudget.enabled=true", "podDisruptionBudget.minAvailable=1"],
            {"minAvailable": 1},
            id="by what has to stay",
        ),
        pytest.param(
            ["podDisruptionBudget.enabled=true", "podDisruptionBudget.maxUnavailable=50%"],
            {"maxUnavailable": "50%"},
            id="by a share",
        ),
    ],
)
def test_drains_leave_a_replica_where_that_is_asked_for(
    render: Render, settings: list[str], bound: dict[str, Any]
) -> None:
    manifests = render(*settings)
    [budget] = of_kind(manifests, "PodDisruptionBudget")
    [deployment] = of_kind(manifests, "Deployment")
    selector = deployment["spec"]["selector"]
    assert budget["spec"] == {
        "selector": selector,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        **bound,
    }
    assert not of_kind(render(), "PodDisruptionBudget")


def test_replicas_prefer_different_nodes_unless_told_where_to_go(render: Render) -> None:
    [spread] = pod_spec(render())["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == (
        "kubernetes.io/hostname",
        "ScheduleAnyway",
    )
    [own] = pod_spec(render(values=CHART / "ci" / "placed-values.yaml"))["topologySpreadConstraints"]
    assert own["topologyKey"] == "topology.kubernetes.io/zone"


def test_the_operators_pod_is_confined(render: Render) -> None:
    spec = pod_spec(render())
    [container] = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"requests", "limits"} <= container["resources"].keys()


def test_values_reach_the_operators_settings(render: Render) -> None:
    variables = environment(
        render(
            "maxAgents=7",
            "log.level=DEBUG",
            "log.format=text",
            "watchNamespaces={a,b}",
            "load.intervalSeconds=30",
        )
    )
    settings = from_environment(variables)
    assert (settings.max_agents, settings.load_interval) == (7, 30)
    assert settings.namespaces == ("a", "b")
    assert (settings.log_level, settings.log_json) == ("DEBUG", False)
    assert settings.agent_image == "bernstein-agent:0.1.0"
    assert settings.anthropic_task_budgets is False


def test_the_providers_countdown_is_switched_on_by_a_value(render: Render) -> None:
    assert from_environment(environment(render("anthropicTaskBudgets=true"))).anthropic_task_budgets is True


@pytest.mark.parametrize(
    ("settings", "source"),
    [
        pytest.param([], ("", ""), id="there is none"),
        pytest.param(
            ["load.url=http://p:9090", "load.query=node_load1"], ("http://p:9090", "node_load1"), id="both"
        ),
        pytest.param(["load.url=http://p:9090"], ("", ""), id="no query"),
        pytest.param(["load.query=node_load1"], ("", ""), id="no server"),
    ],
)
def test_the_load_source_needs_its_server_and_its_query(
    render: Render, settings: list[str], source: tuple[str, str]
) -> None:
    found = from_environment(environment(render(*settings)))
    assert (found.load_url, found.load_query) == source


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        pytest.param([], None, id="unset leaves it to the runs"),
        pytest.param(["maxAgents=0"], 0, id="zero starts nothing"),
    ],
)
def test_the_operators_own_ceiling(render: Render, settings: list[str], limit: int | None) -> None:
    assert from_environment(environment(render(*settings))).max_agents == limit


@pytest.mark.parametrize(
    ("value", "field", "micros"),
    [
        pytest.param("maxCostUsd=12.5", "max_cost_usd", 12_500_000, id="before all others"),
        pytest.param("maxCostUsd=0", "max_cost_usd", 0, id="unlimited, before all others"),
        pytest.param("maxCostUsd=1000000", "max_cost_usd", 10**12, id="a million"),
        pytest.param("maxRunCostUsd=50", "max_run_cost_usd", 50_000_000, id="the most for any run"),
        pytest.param("defaultBudgetUsd=5", "default_budget_usd", 5_000_000, id="for runs that say nothing"),
        pytest.param("estimatePerAttemptUsd=0.2", "estimate_per_attempt_usd", 200_000, id="an estimate"),
    ],
)
def test_what_runs_may_cost(render: Render, value: str, field: str, micros: int) -> None:
    assert getattr(from_environment(environment(render(value))), field) == Money(micros)


def test_a_budget_may_be_required(render: Render) -> None:
    assert from_environment(environment(render("requireBudget=true"))).require_budget
    assert not from_environment(environment(render())).require_budget


@pytest.mark.parametrize(
    ("settings", "in_all", "in_a_namespace"),
    [
        pytest.param([], None, None, id="unset sets no limit"),
        pytest.param(["maxAgentsTotal=40"], 40, None, id="in all"),
        pytest.param(["maxAgentsPerNamespace=0"], None, 0, id="zero starts nothing"),
        pytest.param(["maxAgentsTotal=40", "maxAgentsPerNamespace=9"], 40, 9, id="both"),
    ],
)
def test_the_operators_limits_on_all_runs(
    render: Render, settings: list[str], in_all: int | None, in_a_namespace: int | None
) -> None:
    found = from_environment(environment(render(*settings)))
    assert (found.max_agents_total, found.max_agents_per_namespace) == (in_all, in_a_namespace)


@pytest.mark.parametrize(
    ("settings", "image"),
    [
        pytest.param([], "bernstein-operator:0.1.0", id="the chart's version"),
        pytest.param(["image.tag=x"], "bernstein-operator:x", id="a tag"),
        pytest.param(
            ["image.tag=x", f"image.digest=sha256:{'0' * 64}"],
            f"bernstein-operator@sha256:{'0' * 64}",
            id="a digest beats a tag",
        ),
    ],
)
def test_the_operators_image(render: Render, settings: list[str], image: str) -> None:
    [container] = pod_spec(render(*settings))["containers"]
    assert container["image"] == image


@each_fixture
def test_the_default_profile_is_a_valid_one(render: Render, values: Path) -> None:
    for profile in of_kind(render(values=values), "AgentProfile"):
        assert AgentProfileSpec.model_validate(profile["spec"]).adapter


def test_the_profile_is_a_hook_only_until_its_kind_is_known() -> None:
    def annotations(*options: str) -> dict[str, Any]:
        done = helm("template", "release", CHART, "--show-only=templates/profile.yaml", *options)
        metadata: dict[str, Any] = yaml.safe_load(done.stdout)["metadata"]
        return dict(metadata.get("annotations", {}))

    assert annotations()["helm.sh/hook"] == "post-install"
    assert "helm.sh/hook" not in annotations("--api-versions=bernstein.run/v1alpha1/AgentProfile")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        pytest.param("reports.enabled=no", "enabled", id="a word for a switch"),
        pytest.param("crds.enabledd=true", "enabledd", id="a typo in a switch"),
        pytest.param("maxAgent=3", "maxAgent", id="a typo at the top"),
        pytest.param("maxAgents=-1", "maxAgents", id="a negative ceiling"),
        pytest.param("maxAgentsTotal=-1", "maxAgentsTotal", id="a negative limit on all runs"),
        pytest.param("maxAgentsPerNamespace=all", "maxAgentsPerNamespace", id="a word for that number"),
        pytest.param("maxAgents=many", "maxAgents", id="a word for a number"),
        pytest.param("anthropicTaskBudgets=maybe", "anthropicTaskBudgets", id="a word for a switch"),
        pytest.param("load.url=prometheus:9090", "load", id="a load source that is no URL"),
        pytest.param("maxCostUsd=lots", "maxCostUsd", id="a word for an amount"),
        pytest.param("image.digest=latest", "digest", id="a tag for a digest"),
        pytest.param("replicas=-1", "replicas", id="a negative number of replicas"),
        pytest.param("podDisruptionBudget.minAvailable=half", "minAvailable", id="a word for a share"),
        pytest.param("log.level=LOUD", "level", id="an unknown log level"),
        pytest.param("watchNamespaces={Team_A}", "watchNamespaces", id="no name of a namespace"),
        pytest.param("serviceAccount.create=false", "serviceAccount.name", id="no service account at all"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(setting: str, said: str) -> None:
    done = helm("template", "release", CHART, f"--set={setting}")
    assert done.returncode != 0
    assert said in done.stderr
