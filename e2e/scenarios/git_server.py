"""The examples' git server in a namespace of the tests' own."""

import uuid
from dataclasses import dataclass, field

import yaml

from e2e.demo import EXAMPLE_IMAGE, EXAMPLES, REPOSITORY
from e2e.release import Release
from tests.support.kube import Kube, Manifest, condition

_POD = "git-server"


@dataclass
class GitServer:
    """One Pod that serves `calculator.git`, with branch main, to the whole cluster."""

    release: Release
    kube: Kube
    namespace: str = field(default_factory=lambda: f"git-{uuid.uuid4().hex[:8]}")

    @property
    def host(self) -> str:
        """Its name inside the cluster."""
        return f"{_POD}.{self.namespace}.svc"

    @property
    def repository(self) -> Manifest:
        """A run's spec.repository."""
        return {"url": f"git://{self.host}/calculator.git", "ref": "main"}

    @property
    def address(self) -> str:
        """The Service's own address."""
        service = self.kube.get("services", _POD, namespace=self.namespace)
        return str(service["spec"]["clusterIP"])

    def start(self) -> None:
        """Bring it up and wait until it answers."""
        text = (
            (EXAMPLES / "git-server.yaml").read_text().replace(EXAMPLE_IMAGE, self.release.images.agent.ref)
        )
        namespace, *objects = yaml.safe_load_all(text)
        namespace["metadata"]["name"] = self.namespace
        here = self.kube.within(self.namespace)
        here.apply(namespace)
        here.wait_for("serviceaccounts", "default", lambda _: True)
        for manifest in objects:
            manifest["metadata"]["namespace"] = self.namespace
            here.apply(manifest)
        here.wait_for("pods", _POD, lambda pod: condition(pod, "Ready").get("status") == "True", what="Ready")
        here.close()

    def stop(self) -> None:
        """Take it away; in the background."""
        self.kube.delete("namespaces", self.namespace)

    def branches(self) -> set[str]:
        """Return the names of all branches."""
        return set(self._git("branch", "--list", "--format=%(refname:short)").split())

    def content(self, branch: str, path: str) -> str:
        """Return a file's text as a branch has it."""
        return self._git("show", f"{branch}:{path}")

    def _git(self, *arguments: str) -> str:
        inside = ("git", f"--git-dir={REPOSITORY}", *arguments)
        return self.release.kubectl.run("exec", f"--namespace={self.namespace}", _POD, "--", *inside)
