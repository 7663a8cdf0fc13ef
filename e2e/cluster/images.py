"""Images that come from this machine alone: the sandbox image and the base of the project's own images.

No registry can be counted on where tests run. The base image is a minimal Debian made by debootstrap; users
who build the project's Dockerfile take a public Python image in its place.
"""

import os
import tarfile
from functools import cache, partial
from pathlib import Path

from e2e.cluster.cache import cache_folder, exclusive
from e2e.cluster.catalogue import binary, tool
from e2e.cluster.errors import ClusterError
from e2e.cluster.mounts import unmount_below
from e2e.cluster.oci import Image, add_file, write_image
from e2e.cluster.process import run, succeeds
from e2e.cluster.progress import say

_SUITE = "bookworm"
# Raised when the packages or the cleaning change, so that caches are made anew.
_REVISION = 1
_PACKAGES = ("python3", "python3-venv", "git", "ca-certificates")
_LEFT_BY_APT = ("var/cache/apt", "var/lib/apt/lists", "var/log")
_BUILD_ENVIRONMENT = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def pause_image() -> Image:
    """The sandbox image: one static program. Made when it is missing."""
    folder = tool("pause").path.parent
    image = Image(f"localhost/bernstein-pause:{tool('pause').version}", folder / "pause.tar")
    if not image.archive.exists():
        program = binary("pause")
        config = {"Entrypoint": ["/pause"], "User": "65535:65535"}
        write_image(image, lambda tar: add_file(tar, program, "pause"), config=config)
    return image


def base_image() -> Image:
    """Debian with Python and git, for the project's images. Made when missing (needs root, a minute)."""
    version = f"{_SUITE}-{_REVISION}"
    folder = cache_folder() / "base-image" / version
    image = Image(f"localhost/bernstein-base:{version}", folder / "base.tar")
    if image.archive.exists():
        return image
    with exclusive(folder / "lock", purpose="making the base image"):
        if not image.archive.exists():
            _make_base(image, folder / "rootfs")
    return image


def buildah(*arguments: str | Path) -> str:
    """Run buildah with storage of our own in the cache; return its stdout, ClusterError when it fails.

    Without a daemon, user namespaces or a container runtime: `chroot` isolation works wherever root does. The
    system's own image store is never touched.
    """
    return run("buildah", *_storage(_storage_driver()), *arguments, env=_BUILD_ENVIRONMENT)


@cache
def _storage_driver() -> str:
    """`overlay`; where that can't be had `vfs`, which copies the whole base for every stage."""
    return "overlay" if succeeds("buildah", *_storage("overlay"), "info") else "vfs"


def _storage(driver: str) -> tuple[str, str, str]:
    folder = cache_folder() / "buildah" / driver
    return f"--root={folder / 'storage'}", f"--runroot={folder / 'run'}", f"--storage-driver={driver}"


def stored_base() -> Image:
    """The base image, also present in buildah's storage under its name, for `FROM` with `--pull-never`."""
    image = base_image()
    if image.ref not in buildah("images", "--format={{.Name}}:{{.Tag}}").split():
        buildah("pull", f"oci-archive:{image.archive}")
    return image


def _make_base(image: Image, rootfs: Path) -> None:
    if os.geteuid() != 0:
        raise ClusterError("making the base image needs root (debootstrap)")
    say(f"making {image.ref} with debootstrap")
    _delete(rootfs)
    rootfs.mkdir(parents=True)
    # The mirror is debootstrap's own default: the machine's first apt source may be another archive.
    run("debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", _SUITE, rootfs)
    for folder in _LEFT_BY_APT:
        _empty(rootfs / folder)
    write_image(image, partial(_add_tree, rootfs), config={"Env": [_PATH], "Cmd": ["/bin/sh"]})
    _delete(rootfs)


def _add_tree(rootfs: Path, tar: tarfile.TarFile) -> None:
    for entry in sorted(rootfs.iterdir()):
        tar.add(entry, arcname=entry.name)


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        run("rm", "-rf", "--one-file-system", entry)


def _delete(rootfs: Path) -> None:
    # An interrupted debootstrap leaves its /proc mounted.
    unmount_below(rootfs)
    run("rm", "-rf", "--one-file-system", rootfs)
