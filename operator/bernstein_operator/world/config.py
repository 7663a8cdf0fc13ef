"""What the ConfigMaps say that runs name in spec.configFrom, as last read.

A run whose ConfigMap hasn't been read yet must start nothing: its limits aren't known.
"""

from collections.abc import Iterable

from bernstein_operator.api.objects import Key, RunObject
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES
from bernstein_operator.world.marks import Marks

_SILENT = RunConfig()


class Configs:
    """What was read, by namespace and name of the ConfigMap."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._read: dict[Key, RunConfig] = {}

    def of(self, run: RunObject) -> RunConfig | None:
        """Return what a run's ConfigMap says; None where it has one that hasn't been read yet."""
        key = source_of(run)
        return self._read.get(key) if key else _SILENT

    def known(self, key: Key) -> bool:
        """Whether a ConfigMap has been read."""
        return key in self._read

    def put(self, key: Key, config: RunConfig, *, runs: Iterable[RunObject]) -> None:
        """Take note of what a ConfigMap says, and mark those of ``runs`` that it says something new to."""
        if self._read.get(key) == config:
            return
        self._read[key] = config
        for run in runs:
            if source_of(run) == key:
                self._marks.run(run.meta.key)

    def keep_only(self, keys: Iterable[Key]) -> None:
        """Forget what no run asks for any more: one that asks again waits for it to be read again."""
        wanted = frozenset(keys)
        self._read = {key: config for key, config in self._read.items() if key in wanted}


def source_of(run: RunObject) -> Key | None:
    """Return namespace and name of the ConfigMap that a run names, None where it names none."""
    named = run.spec.config_from if run.spec else None
    return (run.meta.namespace, named.config_map_ref.name) if named else None


def asked_for(runs: Iterable[RunObject]) -> frozenset[Key]:
    """Return the ConfigMaps that are to be read: those of runs that haven't ended."""
    sources = (source_of(run) for run in runs if run.status.phase not in ENDED_RUN_PHASES)
    return frozenset(key for key in sources if key)
