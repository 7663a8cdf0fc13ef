"""The load average of nodes, asked of a Prometheus: the one door to a server that isn't the API server.

An instant query gives one value for each node (told by its label ``node``, else by ``instance`` without the
port), or one for all. Prometheus may be slow, away, or say NaN: all of it is one kind of answer, namely none.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final

import aiohttp
from msgspec import DecodeError, Struct, convert, json

from bernstein_operator.api.load import Sample

_LARGEST_ANSWER: Final = 16 * 2**20
_OK: Final = 200


class LoadSourceError(Exception):
    """The load source gave no answer that can be used; the text says why, for people."""


@dataclass(frozen=True, slots=True)
class Loads:
    """An answer: a sample for each node that was told by its name, or one for all."""

    by_node: dict[str, Sample] = field(default_factory=dict)
    everywhere: Sample | None = None


class _Series(Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(Struct, rename="camel"):
    result_type: str
    result: Any


class _Answer(Struct):
    status: str
    data: _Data | None = None
    error: str = ""


_ANSWER: Final = json.Decoder(_Answer)
_VECTOR: Final = list[_Series]


class LoadQuery:
    """An instant query of the Prometheus at ``url``; close it with ``close``."""

    def __init__(self, url: str, query: str, *, timeout: float) -> None:
        self._url = f"{url.rstrip('/')}/api/v1/query"
        self._query = query
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._session:
            await self._session.close()

    async def ask(self, *, now: datetime, window: timedelta) -> Loads:
        """Return the load now; ``window`` is how often it is asked, and so how long an answer is news.

        Raises:
            LoadSourceError: there is none.
        """
        answer = await self._answer()
        if answer.status != "success" or not answer.data:
            raise LoadSourceError(f"the query failed: {answer.error[:200]}")
        values = _values(answer.data)
        return _loads(values, now=now, window=window)

    async def _answer(self) -> _Answer:
        self._session = self._session or aiohttp.ClientSession()
        form = {"query": self._query}
        try:
            async with self._session.post(self._url, data=form, timeout=self._timeout) as response:
                return _decoded(await _whole(response.content), status=response.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # Its text may hold the URL, and with it a password.
            raise LoadSourceError(f"no answer ({type(error).__name__})") from error


async def _whole(content: aiohttp.StreamReader) -> bytes:
    """Return a body of any number of chunks.

    Raises:
        LoadSourceError: it is longer than any answer should be.
    """
    body = bytearray()
    async for chunk in content.iter_any():
        body += chunk
        if len(body) > _LARGEST_ANSWER:
            raise LoadSourceError(f"its answer has more than {_LARGEST_ANSWER // 2**20} MiB")
    return bytes(body)


def _decoded(body: bytes, *, status: int) -> _Answer:
    try:
        return _ANSWER.decode(body)
    except DecodeError as error:
        said = "" if status == _OK else f" with status {status}"
        raise LoadSourceError(f"it answered{said} and not as a Prometheus does") from error


def _values(data: _Data) -> Iterable[tuple[str, float]]:
    """Return names of nodes and values; the name is empty for a value that is everybody's."""
    try:
        if data.result_type == "scalar":
            _, value = convert(data.result, tuple[float, str])
            return [("", float(value))]
        if data.result_type == "vector":
            return [(_node_of(one.metric), float(one.value[1])) for one in convert(data.result, _VECTOR)]
    except (DecodeError, ValueError) as error:
        raise LoadSourceError("its answer has no number") from error
    raise LoadSourceError(f"the query gives a {data.result_type}, and no value or vector")


def _node_of(labels: dict[str, str]) -> str:
    return labels.get("node") or labels.get("instance", "").rpartition(":")[0] or labels.get("instance", "")


def _loads(values: Iterable[tuple[str, float]], *, now: datetime, window: timedelta) -> Loads:
    highest: dict[str, float] = {}
    for name, value in values:
        if math.isfinite(value) and value >= 0:
            highest[name] = max(value, highest.get(name, 0.0))
    samples = dict(_samples(highest, now=now, window=window))
    if not samples:
        raise LoadSourceError("the query gives no number")
    everywhere = samples.pop("", None)
    return Loads(by_node=samples, everywhere=None if samples else everywhere)


def _samples(values: dict[str, float], *, now: datetime, window: timedelta) -> Iterator[tuple[str, Sample]]:
    for name, value in values.items():
        yield name, Sample(Fraction(value), now, window)
