"""The project's two images for a cluster: built when what is in them changed, kept as archives, loaded.

An image's tag is a digest of everything that it is built from, so an unchanged checkout builds nothing, a
changed one never meets an old image under its name, and Pods need no pull policy to get the right one. Where
Docker works it builds from the public base; elsewhere buildah builds from the base that `e2e.cluster` makes,
with wheels that were fetched on the host, because a build may have neither a registry nor certificates.
"""

import argparse
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import kind
from e2e.cluster.cache import cache_folder, exclusive
from e2e.cluster.errors import ClusterError
from e2e.cluster.found import Cluster
from e2e.cluster.images import buildah, stored_base
from e2e.cluster.oci import Image
from e2e.cluster.process import run
from e2e.cluster.progress import say

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements-build.lock", "requirements-operator.lock")
_TAG_LENGTH = 16


@dataclass(frozen=True)
class Target:
    """One target of the Dockerfile; `inputs` are the files and folders that its content comes from."""

    name: str
    inputs: tuple[str, ...]
    needs_wheels: bool


AGENT = Target("agent", ("Dockerfile", "operator/bernstein_agent"), needs_wheels=False)
OPERATOR = Target(
    "operator",
    ("Dockerfile", *LOCKS, "pyproject.toml", "LICENSE", "operator"),
    needs_wheels=True,
)


@dataclass(frozen=True)
class Images:
    """Both images, built."""

    operator: Image
    agent: Image

    def load_into(self, cluster: Cluster) -> None:
        """Make them usable by a cluster's Pods."""
        for image in (self.operator, self.agent):
            cluster.load_image(image.archive, image.ref)


@dataclass(frozen=True)
class Engine:
    """A program that builds images; `prepare` returns the base's name, and makes it where it must."""

    name: str
    prepare: Callable[[], str]
    build: Callable[[Target, str, Image], None]


def build(*, prefix: str = "localhost") -> Images:
    """Build what is missing; names start with `prefix`. ClusterError says what went wrong."""
    engine = _docker() if kind.docker_works() else _buildah()
    base = engine.prepare()
    agent, operator = (_built(target, engine, base=base, prefix=prefix) for target in (AGENT, OPERATOR))
    return Images(operator=operator, agent=agent)


def digest(target: Target, *, base: str, root: Path = ROOT) -> str:
    """Return the tag for what `target` would be built from now: its base's name and its inputs."""
    state = hashlib.sha256(f"{target.name}\n{base}\n".encode())
    for path in _files(target, root):
        state.update(f"{path.relative_to(root).as_posix()}\n".encode())
        state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:_TAG_LENGTH]


def _files(target: Target, root: Path) -> Iterator[Path]:
    for name in target.inputs:
        path = root / name
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (one for one in found if one.is_file() and "__pycache__" not in one.parts)


def _built(target: Target, engine: Engine, *, base: str, prefix: str) -> Image:
    name = f"bernstein-{target.name}"
    ref = f"{prefix}/{name}:{digest(target, base=base)}"
    folder = cache_folder() / "images" / name
    image = Image(ref, folder / f"{hashlib.sha256(ref.encode()).hexdigest()[:_TAG_LENGTH]}.tar")
    with exclusive(folder / "lock", purpose=f"building {ref}"):
        if not image.archive.exists():
            say(f"building {ref} with {engine.name}")
            _drop_archives(folder)
            engine.build(target, base, image)
    return image


def _drop_archives(folder: Path) -> None:
    # Each holds a whole base; former versions are of no use to anybody.
    for archive in folder.glob("*.tar*"):
        archive.unlink()


# --- engines ------------------------------------------------------------------------------------------


def _docker() -> Engine:
    def build_image(target: Target, base: str, image: Image) -> None:
        options = (f"--build-arg=BASE_IMAGE={base}", f"--target={target.name}", f"--tag={image.ref}")
        run("docker", "build", *options, ROOT, env={**os.environ, "DOCKER_BUILDKIT": "1"})
        partial = image.archive.with_suffix(".tar.partial")
        run("docker", "save", f"--output={partial}", image.ref)
        partial.replace(image.archive)

    return Engine("docker", lambda: _default_base(ROOT / "Dockerfile"), build_image)


def _buildah() -> Engine:
    def build_image(target: Target, base: str, image: Image) -> None:
        arguments = [f"BASE_IMAGE={base}", *([f"WHEELS={_wheels()}"] if target.needs_wheels else [])]
        options = [f"--build-arg={argument}" for argument in arguments]
        buildah("build", "--pull-never", f"--target={target.name}", f"--tag={image.ref}", *options, ROOT)
        partial = image.archive.with_suffix(".tar.partial")
        # Uncompressed: it goes to a runtime of this machine, and compressing takes longer than all the rest.
        buildah("push", "--disable-compression", image.ref, f"oci-archive:{partial}:{image.ref}")
        buildah("rmi", image.ref)
        partial.replace(image.archive)

    return Engine("buildah", lambda: stored_base().ref, build_image)


def _default_base(dockerfile: Path) -> str:
    prefix = "ARG BASE_IMAGE="
    lines = (line for line in dockerfile.read_text().splitlines() if line.startswith(prefix))
    return next(lines).removeprefix(prefix)


def _wheels() -> str:
    """Fetch every wheel of the lock files for the base's Python; return their folder inside the context."""
    base = stored_base()
    locks = [ROOT / name for name in LOCKS]
    state = hashlib.sha256(base.ref.encode())
    for lock in locks:
        state.update(lock.read_bytes())
    folder = ROOT / "build" / "wheels" / state.hexdigest()[:_TAG_LENGTH]
    if not folder.exists():
        python = _python_of(base)
        say(f"fetching wheels for Python {python}")
        partial = folder.with_suffix(".partial")
        shutil.rmtree(folder.parent, ignore_errors=True)
        options = ("--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", f"--dest={partial}")
        requirements = [f"--requirement={lock}" for lock in locks]
        run(sys.executable, "-m", "pip", "download", f"--python-version={python}", *options, *requirements)
        partial.replace(folder)
    return str(folder.relative_to(ROOT))


def _python_of(image: Image) -> str:
    container = buildah("from", "--pull-never", image.ref).strip()
    try:
        command = "import sys; print('%d.%d' % sys.version_info[:2])"
        return buildah("run", container, "--", "python3", "-c", command).strip()
    finally:
        buildah("rm", container)


# --- command line -------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Build both images and print their names and archives; 0, or 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m e2e.images", description="Builds the project's images.")
    parser.add_argument("--prefix", default="localhost", help="what their names start with (a registry)")
    options = parser.parse_args(arguments)
    try:
        images = build(prefix=options.prefix)
    except ClusterError as error:
        say(f"error: {error}")
        return 1
    for image in (images.operator, images.agent):
        print(image.ref, image.archive)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
