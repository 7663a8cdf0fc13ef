"""Which rules the API server is given to keep, by what the cluster can and what the values say."""

import pytest

from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.names import ANNOTATION_ACTOR, GROUP, LABEL_LEDGER
from tests.support.chart import ACTOR_POLICY, CHART, Manifest, helm, rendered

LEDGER_POLICY = "ValidatingAdmissionPolicy"


def policies(*settings: str, serves: tuple[str, ...] = ("v1",)) -> dict[str, Manifest]:
    """Return the policies and their bindings by kind."""
    wanted = rendered(*settings, serves=serves)
    return {one["kind"]: one for one in wanted if "AdmissionPolicy" in one["kind"]}


@pytest.mark.parametrize(
    ("serves", "version"),
    [
        pytest.param(("v1beta1",), "v1beta1", id="the beta"),
        pytest.param(("v1beta1", "v1"), "v1", id="both"),
        pytest.param(("v1",), "v1", id="the final one"),
    ],
)
def test_the_newest_version_that_the_cluster_has_is_used(serves: tuple[str, ...], version: str) -> None:
    found = policies(serves=serves)
    assert {found[kind]["apiVersion"] for kind in (ACTOR_POLICY, f"{ACTOR_POLICY}Binding")} == {
        f"admissionregistration.k8s.io/{version}"
    }


@pytest.mark.parametrize(
    ("settings", "serves", "kinds"),
    [
        pytest.param([], ("v1",), {ACTOR_POLICY, LEDGER_POLICY}, id="as it is"),
        pytest.param([], (), {LEDGER_POLICY}, id="an older cluster"),
        pytest.param(["policies.actor=false"], ("v1",), {LEDGER_POLICY}, id="no actor wanted"),
        pytest.param(["policies.ledger=false"], ("v1",), {ACTOR_POLICY}, id="the ledger left open"),
        pytest.param(["watchNamespaces={team-a}"], ("v1",), set(), id="bound to namespaces"),
    ],
)
def test_policies_come_with_their_bindings_where_they_can(
    settings: list[str], serves: tuple[str, ...], kinds: set[str]
) -> None:
    assert policies(*settings, serves=serves).keys() == kinds | {f"{kind}Binding" for kind in kinds}


@pytest.mark.parametrize("kind", [ACTOR_POLICY, LEDGER_POLICY])
def test_a_binding_names_its_policy(kind: str) -> None:
    found = policies()
    assert found[f"{kind}Binding"]["spec"]["policyName"] == found[kind]["metadata"]["name"]


def test_every_command_and_no_other_annotation_has_an_actor() -> None:
    variables = {one["name"]: one["expression"] for one in policies()[ACTOR_POLICY]["spec"]["variables"]}
    listed = variables["commanded"].partition("]")[0].strip("[").split(", ")
    assert listed == [f"'{GROUP}/{verb}'" for verb in sorted(CommandVerb)]
    assert variables["key"] == f"'{ANNOTATION_ACTOR}'"


@pytest.mark.parametrize(
    ("settings", "account"),
    [
        pytest.param([], "release-bernstein-operator", id="the release's own"),
        pytest.param(["serviceAccount.create=false", "serviceAccount.name=robot"], "robot", id="another"),
    ],
)
def test_the_ledgers_writer_is_the_operators_account(settings: list[str], account: str) -> None:
    [deployment] = [one for one in rendered(*settings) if one["kind"] == "Deployment"]
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == account
    policy = policies(*settings)[LEDGER_POLICY]["spec"]
    [rule] = policy["validations"]
    assert f"username == 'system:serviceaccount:system:{account}'" in rule["expression"]
    assert policy["matchConstraints"]["objectSelector"]["matchExpressions"] == [
        {"key": LABEL_LEDGER, "operator": "Exists"}
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(["--set=watchNamespaces={team-a}"], "it brings no policies", id="bound to namespaces"),
        pytest.param([], "has no MutatingAdmissionPolicy", id="an older cluster"),
        pytest.param(["--set=policies.actor=false"], "", id="no actor wanted"),
    ],
)
def test_whoever_installs_it_is_told_where_the_actor_stays_unknown(settings: list[str], words: str) -> None:
    done = helm("install", "release", CHART, "--dry-run=client", *settings)
    assert done.returncode == 0, done.stderr
    notes = " ".join(done.stdout.partition("NOTES:")[2].split())
    assert words in notes
    assert ("unknown" in notes) is bool(words)
