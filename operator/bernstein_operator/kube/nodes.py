"""Nodes and their measurements, read from the API server and from what it aggregates.

The metrics API answers like any other one, but its lists have no pages and no version, and its items come
from somebody else's program: one that can't be read is left out and stops none of the others.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Annotated, Final

from msgspec import DecodeError, Meta, Raw, Struct, json

from bernstein_operator.api.load import Node, Sample, Taint
from bernstein_operator.api.pod import Metadata, PodCondition, Record
from bernstein_operator.decisions.quantity import exact
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import UnavailableError
from bernstein_operator.kube.lists import list_all
from bernstein_operator.kube.resources import NODE_METRICS, NODES

log = logging.getLogger(__name__)

_SECONDS: Final = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_PART: Final = r"([0-9]+\.?[0-9]*|\.[0-9]+)(h|ms|m|s|us|µs|ns)"
_DURATION: Final = re.compile(f"(?:{_PART})+")


class _Taint(Record, frozen=True):
    key: str
    effect: str
    value: str = ""


class _Spec(Record, frozen=True):
    unschedulable: bool = False
    taints: list[_Taint] | None = None


class _Status(Record, frozen=True):
    allocatable: dict[str, str] | None = None
    conditions: list[PodCondition] | None = None


class _Node(Record, frozen=True):
    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Measured(Record, frozen=True):
    metadata: Metadata
    timestamp: Annotated[datetime, Meta(tz=True)]
    window: str
    usage: dict[str, str]


class _Items(Struct):
    items: list[Raw] | None = None


_NODE: Final = json.Decoder(_Node)
_ITEMS: Final = json.Decoder(_Items)
_MEASURED: Final = json.Decoder(_Measured)


async def read_nodes(api: KubeApi) -> dict[str, Node]:
    """Return all nodes by name."""
    try:
        listing = await list_all(api, NODES, namespaces=[""], decode=_NODE.decode)
    except (DecodeError, KeyError) as error:
        raise _no_list("nodes", error) from error
    return {one.metadata.name: _node(one) for one in listing.items}


async def read_usage(api: KubeApi) -> dict[str, Sample]:
    """Return the cores in use on each node, as far as the metrics API knows them."""
    answer = await api.list_page(NODE_METRICS, "", params={})
    try:
        items = _ITEMS.decode(answer).items or ()
    except DecodeError as error:
        raise _no_list("NodeMetrics", error) from error
    return dict(_samples(items))


def duration(text: str) -> timedelta:
    """Return what a Go duration says: "15s", "1m0.5s", "500ms".

    Raises:
        ValueError: it isn't one, or it is negative.
    """
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is no duration")
    parts = re.findall(_PART, text)
    seconds = sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction(0))
    return timedelta(microseconds=int(seconds * 10**6))


def _no_list(kind: str, error: Exception) -> UnavailableError:
    """Say that something in between answered, with success and with something else."""
    return UnavailableError(status=0, reason="", message=f"no list of {kind}: {error}")


def _samples(items: Iterable[Raw]) -> Iterator[tuple[str, Sample]]:
    for raw in items:
        try:
            one = _MEASURED.decode(bytes(raw))
            yield one.metadata.name, Sample(exact(one.usage["cpu"]), one.timestamp, duration(one.window))
        except (DecodeError, KeyError, ValueError, OverflowError) as error:
            log.debug("sample ignored", extra={"error": str(error)})


def _node(wire: _Node) -> Node:
    ready = any(one.type == "Ready" and one.status == "True" for one in wire.status.conditions or ())
    return Node(
        labels=wire.metadata.labels or {},
        taints=tuple(Taint(one.key, one.effect, one.value) for one in wire.spec.taints or ()),
        usable=ready and not wire.spec.unschedulable,
        cpu=_cores((wire.status.allocatable or {}).get("cpu", "0")),
    )


def _cores(quantity: str) -> Fraction:
    try:
        return exact(quantity)
    except ValueError:
        return Fraction(0)
