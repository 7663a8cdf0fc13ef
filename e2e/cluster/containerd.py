"""containerd for the real node: with folders, socket and namespaces of its own, beside any system one."""

import json
import tarfile
from pathlib import Path

from e2e.cluster.daemons import Daemons
from e2e.cluster.errors import ClusterError
from e2e.cluster.images import pause_image
from e2e.cluster.machine import Machine
from e2e.cluster.process import run, succeeds

# Debian's place, then the one of containerd's own packages.
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
SHIM = "containerd-shim-runc-v2"
_NAMESPACE = "k8s.io"


def config(machine: Machine) -> str:
    """containerd's configuration.

    `restrict_oom_score_adj`: root in a virtual machine or container may lack CAP_SYS_RESOURCE, and then every
    sandbox fails when runc lowers the score. The `opt` plugin is moved because its default folder is /opt.
    """
    return f"""\
version = 2
root = "{machine.state}/containerd"
state = "{machine.run}/containerd"
[grpc]
  address = "{machine.socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{machine.state}/containerd-opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause_image().ref}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "{machine.run}/runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_folder()}"
    conf_dir = "{machine.state}/cni"
"""


def cni_folder() -> Path:
    """The folder with the CNI plugins `bridge` and `host-local`; ClusterError when there is none."""
    for folder in CNI_FOLDERS:
        if (folder / "bridge").exists() and (folder / "host-local").exists():
            return folder
    raise ClusterError(
        f"no CNI plugins in {' or '.join(map(str, CNI_FOLDERS))}; install containernetworking-plugins"
    )


def command(machine: Machine) -> list[str]:
    """The command line of containerd."""
    return ["containerd", "--config", str(machine.state / "containerd.toml")]


def answers(machine: Machine) -> bool:
    """Whether containerd takes requests."""
    return machine.socket.exists() and succeeds(*_ctr(machine), "version")


def import_image(machine: Machine, archive: Path, ref: str) -> None:
    """Load an OCI archive that holds `ref`, unless that very image is there; ClusterError for another ref."""
    if archive_digest(archive) in _digests(machine, ref):
        return
    run(*_ctr(machine), "images", "import", archive)
    if not _digests(machine, ref):
        raise ClusterError(f"{archive} doesn't hold the image {ref}")


def archive_digest(archive: Path) -> str:
    """The digest of the first manifest in an OCI archive's index."""
    with tarfile.open(archive) as tar:
        member = tar.extractfile("index.json")
        if member is None:
            raise ClusterError(f"{archive} is no OCI archive: it has no index.json")
        digest: str = json.load(member)["manifests"][0]["digest"]
    return digest


def import_pause(machine: Machine) -> None:
    """Load the sandbox image."""
    pause = pause_image()
    import_image(machine, pause.archive, pause.ref)


def start(machine: Machine, daemons: Daemons) -> None:
    """Write the configuration and start containerd."""
    (machine.state / "containerd.toml").write_text(config(machine))
    daemons.start("containerd", command(machine))


def _ctr(machine: Machine) -> list[str]:
    return ["ctr", "--address", str(machine.socket), "--namespace", _NAMESPACE]


def _digests(machine: Machine, ref: str) -> str:
    return run(*_ctr(machine), "images", "list", f"name=={ref}").partition("\n")[2]
