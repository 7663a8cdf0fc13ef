"""The operator as a user installs it: by its Helm chart, with the images of this checkout.

kubectl and helm are the harness's own where they are built, and they only ever see the kubeconfig they are
given: what the user's environment says of clusters is kept from them.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bernstein_operator.api.names import API_VERSION
from e2e.cluster.build import build
from e2e.cluster.catalogue import kubectl, tool
from e2e.cluster.errors import ClusterError
from e2e.cluster.found import Cluster
from e2e.images import ROOT, Images

CHART = ROOT / "charts" / "bernstein-operator"
NAME = "bernstein-operator"
NAMESPACE = "bernstein-system"
_INSTALL_SECONDS = 120
_NOT_YET = "(ServiceUnavailable)"


@dataclass(frozen=True)
class Program:
    """A command-line client that always uses the same kubeconfig."""

    binary: Path
    kubeconfig: Path

    def run(self, *arguments: str | Path, text: str = "") -> str:
        """Run it with `text` on its stdin; return stdout, or raise ClusterError with what it said."""
        done = self._run(*arguments, text=text)
        if done.returncode:
            command = " ".join(map(str, arguments))
            raise ClusterError(
                f"{self.binary.name} {command} ended with {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def ask(self, *arguments: str | Path) -> str:
        """Run it and return all that it said, whether or not it failed; for reports."""
        done = self._run(*arguments, text="")
        return (done.stdout + done.stderr).rstrip()

    def _run(self, *arguments: str | Path, text: str) -> "subprocess.CompletedProcess[str]":
        with tempfile.TemporaryDirectory() as home:
            return subprocess.run(
                [str(self.binary), *map(str, arguments)],
                input=text,
                capture_output=True,
                text=True,
                check=False,
                env={"PATH": os.environ["PATH"], "HOME": home, "KUBECONFIG": str(self.kubeconfig)},
            )


@dataclass(frozen=True)
class Release:
    """The operator's Helm release on a cluster."""

    cluster: Cluster
    images: Images

    @property
    def kubectl(self) -> Program:
        """kubectl for the cluster."""
        return Program(kubectl(), self.cluster.kubeconfig)

    @property
    def helm(self) -> Program:
        """Helm for the cluster."""
        return Program(_helm(), self.cluster.kubeconfig)

    def install(self, *settings: str) -> None:
        """Install or upgrade it and wait until it is ready; `settings` are values (`maxAgents=3`)."""
        operator, agent = (image.ref.rpartition(":") for image in (self.images.operator, self.images.agent))
        values = (
            f"image.repository={operator[0]}",
            f"image.tag={operator[2]}",
            f"agentImage.repository={agent[0]}",
            f"agentImage.tag={agent[2]}",
            *settings,
        )
        options = (
            f"--namespace={NAMESPACE}",
            "--create-namespace",
            "--wait",
            f"--timeout={_INSTALL_SECONDS}s",
        )
        sets = [f"--set={value}" for value in values]
        # CRDs outlive releases, also ones of another name.
        self.helm.run(
            "upgrade", "--install", NAME, CHART, *options, "--reset-values", "--take-ownership", *sets
        )
        self._await_policies()

    def _await_policies(self) -> None:
        """Wait until runs are accepted: an API server takes seconds to know a new CRD in its own policies."""
        run = {"apiVersion": API_VERSION, "kind": "BernsteinRun", "metadata": {"name": "probe"}, "spec": {}}
        until = time.monotonic() + _INSTALL_SECONDS
        while True:
            try:
                self.kubectl.run("create", "--dry-run=server", "--filename=-", text=json.dumps(run))
            except ClusterError as error:
                if _NOT_YET not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.5)
            else:
                return

    def uninstall(self) -> None:
        """Uninstall it and wait until its Pod is gone."""
        options = (f"--namespace={NAMESPACE}", "--ignore-not-found", "--cascade=foreground")
        self.helm.run("uninstall", NAME, *options, "--wait", f"--timeout={_INSTALL_SECONDS}s")

    def logs(self, *, lines: int = 200) -> str:
        """Return the last lines of each replica's log, or why there are none."""
        where = (f"--namespace={NAMESPACE}", "--selector=app.kubernetes.io/component=operator")
        return self.kubectl.ask("logs", *where, "--prefix", f"--tail={lines}")


def _helm() -> Path:
    built, installed = tool("helm").path, shutil.which("helm")
    if not built.exists() and installed:
        return Path(installed)
    return build(["helm"])[0]
