"""Adapters: how each kind of agent program is started and understood, one file each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from bernstein_agent.adapters.base import Adapter
from bernstein_agent.adapters.command import CommandAdapter
from bernstein_agent.adapters.script import ScriptAdapter
from bernstein_agent.contract import Payload, Reason
from bernstein_agent.failure import contract_error

_ADAPTERS: Final[Mapping[str, Callable[[Payload], Adapter]]] = MappingProxyType(
    {
        "command": lambda payload: CommandAdapter(payload.command),
        "script": lambda _payload: ScriptAdapter(),
    }
)


def adapter_for(payload: Payload) -> Adapter:
    """Return the adapter that an attempt's payload names.

    Raises:
        AttemptError: this runner has none.
    """
    name = payload.adapter
    if name not in _ADAPTERS:
        known = ", ".join(sorted(_ADAPTERS))
        raise contract_error(Reason.UNKNOWN_ADAPTER, f"this runner has no adapter {name!r}; it has {known}")
    return _ADAPTERS[name](payload)
