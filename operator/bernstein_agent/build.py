"""Packing this package into one file that any Python can run.

``zipapp`` stores the files' times and the order in which the file system lists them, so two builds of the
same source differ. Images should be the same when their source is, so the archive is written here, with
everything fixed.
"""

import argparse
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SHEBANG: Final = b"#!/usr/bin/env python3\n"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_FILE_MODE: Final = 0o100644 << 16
_KEPT_SUFFIXES: Final = frozenset({".py", ".json", ".typed"})
_ENTRY: Final = """\
import sys

from bernstein_agent.__main__ import main

sys.exit(main())
"""


def build_zipapp(target: Path) -> None:
    """Write the executable archive of this package to ``target``, replacing it whole.

    Raises:
        OSError: the place can't be written to.
    """
    scratch = target.with_name(f".{target.name}.new")
    with scratch.open("wb") as stream:
        stream.write(_SHEBANG)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, content in _members():
                archive.writestr(_entry(name), content)
    scratch.chmod(0o755)
    scratch.replace(target)


def _members() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _ENTRY.encode()
    package = Path(__file__).parent
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix in _KEPT_SUFFIXES:
            yield path.relative_to(package.parent).as_posix(), path.read_bytes()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = _FILE_MODE
    entry.create_system = 3
    return entry


def main() -> int:
    """Build the archive that ``--output`` names."""
    parser = argparse.ArgumentParser(prog="bernstein_agent.build", description="Packs bernstein-agent.")
    parser.add_argument("--output", type=Path, required=True)
    build_zipapp(parser.parse_args().output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
