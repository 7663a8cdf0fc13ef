"""A real Prometheus, Debian's, that scrapes what a test says of its nodes.

The package is unpacked into the cache and not installed: an installed one starts a service of its own, and
nothing here may. The exporter beside it speaks as node_exporter does, with the load that the test has set.
"""

import json
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from e2e.cluster.cache import cache_folder, exclusive
from e2e.cluster.ports import HeldPorts
from e2e.cluster.process import Children
from tests.support.kube import eventually

CPUS: Final = 4
QUERY: Final = '100 * node_load1 / on (node) count by (node) (node_cpu_seconds_total{mode="idle"})'
_CONFIG: Final = """\
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: nodes
    honor_labels: true
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


@dataclass
class Exporter:
    """Says what node_exporters would; ``percent`` is the load average for each CPU, by node."""

    percent: Mapping[str, float] = field(default_factory=dict)

    def text(self) -> str:
        """Return the exposition."""
        loads = [f'node_load1{{node="{node}"}} {CPUS * one / 100}' for node, one in self.percent.items()]
        idle = [
            f'node_cpu_seconds_total{{node="{node}",cpu="{cpu}",mode="idle"}} 1'
            for node in self.percent
            for cpu in range(CPUS)
        ]
        return "\n".join([*loads, *idle, ""])


@dataclass(frozen=True)
class Prometheus:
    """Where it listens, and what it scrapes."""

    url: str
    exporter: Exporter

    def ask(self, query: str) -> list[str]:
        """Return the values of an instant query, as texts."""
        with urlopen(f"{self.url}/api/v1/query?query={query}", timeout=5) as answer:
            return [one["value"][1] for one in json.load(answer)["data"]["result"]]


@contextmanager
def prometheus(folder: Path) -> Iterator[Prometheus]:
    """Run one for the body of a with statement; its data is below ``folder``."""
    program = binary()
    exporter = Exporter()
    with _serving(exporter) as scraped:
        config = folder / "prometheus.yml"
        config.write_text(_CONFIG % scraped)
        ports = HeldPorts(1, rng=random.SystemRandom())
        [port] = ports.numbers
        children = Children(folder)
        children.start("prometheus", _command(program, config, folder / "data", port))
        found = Prometheus(f"http://127.0.0.1:{port}", exporter)
        try:
            eventually(lambda: _is_up(found), what="Prometheus")
            yield found
        finally:
            children.kill_all()
            ports.release()


def binary() -> Path:
    """Return the program: the one on the PATH, else the package's; skip where there is neither."""
    installed = shutil.which("prometheus")
    if installed:
        return Path(installed)
    folder = cache_folder() / "prometheus"
    program = folder / "usr" / "bin" / "prometheus"
    with exclusive(folder / ".lock", purpose="unpacking Prometheus", unless=program.exists):
        if not program.exists():
            _unpack(folder)
    if not program.exists():
        pytest.skip("there is no prometheus on the PATH, and Debian's package can't be had")
    return program


def _unpack(folder: Path) -> None:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return
    # Without fresh lists the version that they name may be no more.
    if not _succeeds("apt-get", "download", "-qq", "prometheus", folder=folder):
        _succeeds("apt-get", "update", "-qq", folder=folder)
        _succeeds("apt-get", "download", "-qq", "prometheus", folder=folder)
    for package in folder.glob("*.deb"):
        _succeeds("dpkg-deb", "--extract", str(package), str(folder), folder=folder)
        package.unlink()


def _succeeds(*command: str, folder: Path) -> bool:
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False).returncode == 0


def _command(program: Path, config: Path, data: Path, port: int) -> list[str]:
    return [
        str(program),
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.console.templates=",
        "--web.console.libraries=",
    ]


def _is_up(found: Prometheus) -> bool:
    try:
        return found.ask("up") == ["1"]
    except (URLError, ConnectionError, TimeoutError):
        return False


@contextmanager
def _serving(exporter: Exporter) -> Iterator[int]:
    """Serve the exposition on any free port of loopback; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = exporter.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
