"""Writes the abandonment ledger: each abandoned task's row once, whatever happens in between.

Whether a row is there is known from the ledger itself, never from a mark on the task: it is read at the start
and after every write of somebody else. So a row may be asked for any number of times, a late one is found
missing at the next start, and one that was stored though its answer was lost is found to be there.

No row holds anything up. A request is given up after a few seconds, and rows that come while a write of their
run is under way are written together by the next one.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from bernstein_operator.api.names import (
    ANNOTATION_NEXT_SEGMENT,
    ANNOTATION_RUN_NAME,
    ANNOTATION_RUN_UID,
    LABEL_LEDGER,
    ledger_labels,
)
from bernstein_operator.api.objects import Key
from bernstein_operator.api.pod import Metadata
from bernstein_operator.decisions.ledger import Append, Open, Row, Seal, Step, line, plan
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    NotFoundError,
    UnavailableError,
)
from bernstein_operator.kube.lists import list_all, list_versions
from bernstein_operator.kube.resources import CONFIG_MAPS
from bernstein_operator.world.books import Book, BookKey, Books, Leaf, read

log = logging.getLogger(__name__)

ANSWER_SECONDS: Final = 5.0
"""A request for a row that takes longer is given up; whether it was carried out is seen at the next one."""
READY_SECONDS: Final = 20.0
"""So long a start waits for the ledger to be read; then it goes on without, and no row is written yet."""
LOAD_PAUSE_SECONDS: Final = 5.0
CHECK_SECONDS: Final = (120.0, 240.0)
_PAGE: Final = 10
"""A segment may have a megabyte: a page of them must still fit into memory."""
_TRIES: Final = 5
_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class _Batch:
    """Rows that are written together, and what became of them."""

    rows: list[Row]
    done: "asyncio.Future[ApiError | None]" = field(default_factory=asyncio.Future)


class Ledger:
    """The ledger in the watched namespaces; ``namespaces`` holds one empty text for the whole cluster."""

    def __init__(self, api: KubeApi, *, namespaces: tuple[str, ...]) -> None:
        self._lost = asyncio.Event()
        self._asked = asyncio.Event()
        self.books = Books(self._lost.set)
        self._api = api
        self._namespaces = namespaces
        self._waiting: dict[BookKey, _Batch] = {}
        self._writing: dict[BookKey, asyncio.Lock] = {}
        self._unread = "the ledger is still being read"

    async def load(self) -> None:
        """Read all segments there are.

        Raises:
            ApiError: they can't be read; until they can, no row is written either.
        """
        listing = await list_all(
            self._api,
            CONFIG_MAPS,
            namespaces=self._namespaces,
            decode=_read,
            selector=LABEL_LEDGER,
            page=_PAGE,
        )
        leaves = [leaf for leaf in listing.items if leaf]
        self.books.keep_only(leaves)
        for leaf in leaves:
            self._put(leaf)
        self.books.known = True

    async def ready(self) -> None:
        """Return once ``watch`` has read the ledger, or was refused, or is taking too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                await self._asked.wait()

    async def record(self, row: Row) -> None:
        """Write a row unless it is there; safe to repeat.

        Raises:
            ApiError: it isn't there, as far as anybody knows; ``books`` has the reason for the run.
        """
        key = BookKey(row.namespace, row.run, row.run_uid)
        try:
            if not self.books.known:
                raise UnavailableError(status=0, reason="", message=self._unread)
            if not self.books.has(row.task_uid):
                await self._write_together(self.books.book(key), row)
        except ApiError as error:
            self.books.refused(key, row.task_uid, str(error))
            raise

    async def watch(self, changed: Callable[[], None]) -> None:
        """Read the ledger, then look for ever for what others did to it; tells ``changed`` of news."""
        while not self.books.known:
            await self._try_to_read()
        changed()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(random.uniform(*CHECK_SECONDS)):
                    await self._lost.wait()
            if self._lost.is_set() or await self._differs():
                self._lost.clear()
                changed()

    async def _try_to_read(self) -> None:
        """Read the ledger; where that is refused, return only when it may be tried again."""
        try:
            await self.load()
        except ApiError as error:
            self._unread = f"the ledger can't be read: {error}"
            log.warning("ledger not read", extra={"error": str(error)})
            self._asked.set()
            await asyncio.sleep(LOAD_PAUSE_SECONDS)
        self._asked.set()

    async def _differs(self) -> bool:
        try:
            return await self.check()
        except ApiError as error:
            log.warning("ledger not checked", extra={"error": str(error)})
            return False

    async def check(self) -> bool:
        """Read again every segment that isn't as it is known; returns whether there was one."""
        known = self.books.versions()
        found = await list_versions(
            self._api, CONFIG_MAPS, namespaces=self._namespaces, selector=LABEL_LEDGER
        )
        newer = [key for key, version in found.items() if version > known.get(key, 0)]
        stale = [*newer, *(key for key in known if key not in found)]
        for key in stale:
            await self._read_again(key)
        return bool(stale)

    # --- one write for many rows ----------------------------------------------------------------------

    async def _write_together(self, book: Book, row: Row) -> None:
        batch = self._waiting.get(book.key)
        if batch:
            batch.rows.append(row)
            error = await asyncio.shield(batch.done)
        else:
            batch = self._waiting[book.key] = _Batch([row])
            error = await self._write_batch(book, batch)
        if error:
            raise error

    async def _write_batch(self, book: Book, batch: _Batch) -> ApiError | None:
        error: ApiError | None = UnavailableError(status=0, reason="", message="the row was not written")
        try:
            async with self._writing.setdefault(book.key, asyncio.Lock()):
                del self._waiting[book.key]
                await self._write(book, batch.rows)
            error = None
        except ApiError as caught:
            error = caught
        finally:
            # Whoever waits must hear of the end, whatever it was.
            batch.done.set_result(error)
        return error

    async def _write(self, book: Book, rows: list[Row]) -> None:
        unsure = False
        for _ in range(_TRIES):
            missing = [row for row in rows if not self.books.has(row.task_uid)]
            try:
                if await self._carry_out(book, plan(book.segments, missing, names=book.names())):
                    return
            except UnavailableError:
                # Perhaps only the answer was lost: what is there tells.
                if unsure:
                    raise
                unsure = True
                await self.check()
        text = f"the ledger of run {book.key.run} was changed by others again and again"
        raise ConflictError(status=409, reason="Conflict", message=text)

    # --- the steps ------------------------------------------------------------------------------------

    async def _carry_out(self, book: Book, steps: tuple[Step, ...]) -> bool:
        """Take one step after the other; returns False where the plan has become outdated."""
        for step in steps:
            match step:
                case Append():
                    done = await self._append(book, step)
                case Open():
                    done = await self._open(book, step)
                case Seal():
                    done = await self._seal(book, step)
            if not done:
                return False
        return True

    async def _append(self, book: Book, step: Append) -> bool:
        leaf = book.leaves.get(step.segment)
        if not leaf:
            return False
        meta = leaf.meta
        try:
            answer = await self._patch(meta, {}, {"data": _data(step.rows)})
        except ConflictError:
            await self._read_again(meta.key)
            return False
        except NotFoundError:
            self.books.drop(meta.key)
            return False
        self._put(_read(answer))
        return True

    async def _open(self, book: Book, step: Open) -> bool:
        namespace, run, run_uid = book.key
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": step.segment,
                "labels": ledger_labels(run),
                "annotations": {ANNOTATION_RUN_NAME: run, ANNOTATION_RUN_UID: run_uid},
            },
            "data": _data(step.rows),
        }
        try:
            answer = await _within(ANSWER_SECONDS, self._api.create(CONFIG_MAPS, namespace, body))
        except AlreadyExistsError:
            await self._claim(book, step.segment)
            return False
        self._put(_read(answer))
        return True

    async def _claim(self, book: Book, name: str) -> None:
        """Find out whose a ConfigMap is that was in the way: ours is filled, another's is left alone."""
        await self._read_again((book.key.namespace, name))
        if name not in book.leaves:
            book.taken.add(name)
            log.warning("ledger name taken", extra={"namespace": book.key.namespace, "object": name})

    async def _seal(self, book: Book, step: Seal) -> bool:
        """Seal a full segment; its rows are safe without, so what keeps it from that is only told."""
        leaf = book.leaves.get(step.segment)
        if not leaf:
            return False
        meta = leaf.meta
        try:
            answer = await self._patch(meta, {ANNOTATION_NEXT_SEGMENT: step.successor}, {"immutable": True})
        except (ConflictError, NotFoundError):
            await self._read_again(meta.key)
        except ApiError as error:
            log.warning("segment not sealed yet", extra={"object": step.segment, "error": str(error)})
        else:
            self._put(_read(answer))
        return True

    async def _patch(self, meta: Metadata, annotations: dict[str, str], changes: dict[str, Any]) -> bytes:
        """Change the segment that is known, or nothing (409)."""
        marks: dict[str, Any] = {"annotations": annotations} if annotations else {}
        known = {"resourceVersion": meta.resource_version, "uid": meta.uid, **marks}
        patch = {"metadata": known, **changes}
        return await _within(ANSWER_SECONDS, self._api.patch(CONFIG_MAPS, meta.namespace, meta.name, patch))

    # --- reading --------------------------------------------------------------------------------------

    async def _read_again(self, key: Key) -> None:
        try:
            answer = await _within(ANSWER_SECONDS, self._api.get(CONFIG_MAPS, *key))
        except NotFoundError:
            self.books.drop(key)
            return
        leaf = _read(answer)
        if leaf:
            self._put(leaf)
        else:
            self.books.drop(key)

    def _put(self, leaf: Leaf | None) -> None:
        if not leaf:
            return
        for uid in sorted(self.books.put(leaf)):
            where = {"namespace": leaf.meta.namespace, "object": leaf.meta.name, "task_uid": uid}
            log.warning("row of the ledger was changed by somebody else", extra=where)


def _read(raw: bytes) -> Leaf | None:
    meta, leaf = read(raw)
    if not leaf:
        log.warning(
            "not a segment of the ledger, though it may look so",
            extra={"namespace": meta.namespace, "object": meta.name},
        )
    return leaf


def _data(rows: tuple[Row, ...]) -> dict[str, str]:
    return {row.task_uid: line(row) for row in rows}


async def _within(seconds: float, request: Awaitable[_Answer]) -> _Answer:
    try:
        async with asyncio.timeout(seconds):
            return await request
    except TimeoutError:
        text = f"the ledger's request got no answer within {seconds:.0f} s"
        raise UnavailableError(status=0, reason="", message=text) from None
