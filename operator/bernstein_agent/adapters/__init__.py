"""Adapters: how each kind of agent program is started and understood, one file each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from bernstein_agent.adapters.base import Adapter
from bernstein_agent.adapters.command import CommandAdapter
from bernstein_agent.adapters.script import ScriptAdapter
from bernstein_agent.contract import Reason
from bernstein_agent.failure import contract_error

_ADAPTERS: Final[Mapping[str, Callable[[], Adapter]]] = MappingProxyType(
    {"command": CommandAdapter, "script": ScriptAdapter}
)


def adapter_for(name: str) -> Adapter:
    """Return the adapter of that name.

    Raises:
        AttemptError: this runner has none.
    """
    if name not in _ADAPTERS:
        known = ", ".join(sorted(_ADAPTERS))
        raise contract_error(Reason.UNKNOWN_ADAPTER, f"this runner has no adapter {name!r}; it has {known}")
    return _ADAPTERS[name]()
