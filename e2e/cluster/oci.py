"""Writes OCI image archives of one layer, without a registry, a daemon or a build tool.

The sandbox image is one static program and the base image one root file system; both are a tar file with
three JSON documents around it.
"""

import hashlib
import io
import json
import platform
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any

from e2e.cluster.errors import ClusterError

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True)
class Image:
    """An image in an OCI archive: how Pods name it, and the file that holds it."""

    ref: str
    archive: Path


def write_image(image: Image, fill: Callable[[tarfile.TarFile], None], *, config: dict[str, Any]) -> None:
    """Write an image whose only layer is what `fill` puts into the tar; `config` is OCI's own part."""
    image.archive.parent.mkdir(parents=True, exist_ok=True)
    partial = image.archive.with_suffix(".partial")
    with tempfile.TemporaryFile(dir=image.archive.parent) as layer:
        with tarfile.open(fileobj=layer, mode="w") as tar:
            fill(tar)
        with tarfile.open(partial, "w") as archive:
            _write_blobs(archive, image.ref, layer, config)
    partial.replace(image.archive)


def architecture(machine: str) -> str:
    """OCI's name of a machine type as `uname -m` has it; ClusterError for one that nobody tried."""
    if machine not in _ARCHITECTURES:
        raise ClusterError(f"no images for machine type {machine}; known: {', '.join(_ARCHITECTURES)}")
    return _ARCHITECTURES[machine]


def _write_blobs(archive: tarfile.TarFile, ref: str, layer: BufferedRandom, config: dict[str, Any]) -> None:
    layer_descriptor = _add_layer(archive, layer)
    image_config = {
        "architecture": architecture(platform.machine()),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [layer_descriptor["digest"]]},
        # Optional in OCI's words, but buildah counts it against the layers.
        "history": [{"created_by": "e2e.cluster"}],
    }
    config_descriptor = _add_json(archive, _CONFIG, image_config)
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": config_descriptor,
        "layers": [layer_descriptor],
    }
    entry = _add_json(archive, _MANIFEST, manifest)
    # containerd and buildah each read a name of their own.
    names = {"io.containerd.image.name": ref, "org.opencontainers.image.ref.name": ref}
    index = {"schemaVersion": 2, "manifests": [{**entry, "annotations": names}]}
    _add_bytes(archive, "index.json", _encode(index))
    _add_bytes(archive, "oci-layout", _encode({"imageLayoutVersion": "1.0.0"}))


def _add_layer(archive: tarfile.TarFile, layer: BufferedRandom) -> dict[str, Any]:
    size = layer.seek(0, io.SEEK_END)
    layer.seek(0)
    digest = hashlib.file_digest(layer, "sha256").hexdigest()
    layer.seek(0)
    info = tarfile.TarInfo(f"blobs/sha256/{digest}")
    info.size = size
    archive.addfile(info, layer)
    return {"mediaType": _LAYER, "digest": f"sha256:{digest}", "size": size}


def _add_json(archive: tarfile.TarFile, media_type: str, document: dict[str, Any]) -> dict[str, Any]:
    data = _encode(document)
    digest = hashlib.sha256(data).hexdigest()
    _add_bytes(archive, f"blobs/sha256/{digest}", data)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def _encode(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True).encode()


def add_file(tar: tarfile.TarFile, source: Path, name: str) -> None:
    """Add an executable owned by root with a fixed time, so that the same file gives the same digest."""
    info = tarfile.TarInfo(name)
    info.size = source.stat().st_size
    info.mode = 0o755
    with source.open("rb") as handle:
        tar.addfile(info, handle)
