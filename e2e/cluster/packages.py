"""Programs that the full cluster takes from the distribution, installed when they are missing.

Only Debian's family is served automatically; on others the error names what to install.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.progress import say

_PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "nft": "nftables",
    "ip": "iproute2",
    "umount": "mount",
    "debootstrap": "debootstrap",
    "buildah": "buildah",
}
_CNI_PACKAGE = "containernetworking-plugins"
_SYSTEM_FOLDERS = ("/usr/sbin", "/sbin")


def missing_packages(*, path: str, cni_folders: tuple[Path, ...]) -> list[str]:
    """The Debian packages of programs that are neither on `path` nor in the system folders."""
    searched = os.pathsep.join((path, *_SYSTEM_FOLDERS))
    missing = {
        package for program, package in _PACKAGES.items() if shutil.which(program, path=searched) is None
    }
    if not any((folder / "bridge").exists() for folder in cni_folders):
        missing.add(_CNI_PACKAGE)
    return sorted(missing)


def install_missing(*, cni_folders: tuple[Path, ...]) -> None:
    """Install what is missing with apt; ClusterError naming the packages where that can't be done."""
    missing = missing_packages(path=os.environ.get("PATH", ""), cni_folders=cni_folders)
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise ClusterError(f"please install what Debian calls {', '.join(missing)}")
    say(f"installing {', '.join(missing)}")
    _apt("update", "-qq")
    _apt("install", "-qq", "--yes", "--no-install-recommends", *missing)


def _apt(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    result = subprocess.run(["apt-get", *arguments], stdout=sys.stderr, env=environment, check=False)
    if result.returncode:
        raise ClusterError(
            f"apt-get {' '.join(arguments)} ended with {result.returncode}; its output is above"
        )
