"""The chart as Helm renders it; no cluster is needed for that."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from e2e.cluster.catalogue import binary

CHART: Final = Path(__file__).parents[2] / "charts" / "bernstein-operator"
ACTOR_POLICY: Final = "MutatingAdmissionPolicy"
"""The kind that the chart installs only where the cluster serves it."""
Manifest: TypeAlias = dict[str, Any]


def helm(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run helm, whatever it says."""
    command = [str(binary("helm")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rendered(
    *settings: str,
    values: Path | None = None,
    serves: Iterable[str] = (),
    templates: Iterable[str] = (),
) -> list[Manifest]:
    """Return the objects of release ``release`` in namespace ``system``.

    ``settings`` are values (``maxAgents=3``), ``serves`` the API versions of admissionregistration.k8s.io in
    which the cluster is to have the actor's policy, ``templates`` the only files to render (default: all).
    """
    options = [f"--set={setting}" for setting in settings] + ([f"--values={values}"] if values else [])
    known = [f"--api-versions=admissionregistration.k8s.io/{version}/{ACTOR_POLICY}" for version in serves]
    shown = [f"--show-only=templates/{name}" for name in templates]
    done = helm("template", "release", CHART, "--namespace=system", *options, *known, *shown)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]
