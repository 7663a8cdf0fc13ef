"""Complete and consistent lists, page by page.

Lists are read without a resourceVersion, so from etcd and not from a cache that may lie behind: what is
concluded from them (that an object is gone, that a slot is free) must not be undone by an older answer.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import orjson
from msgspec import Raw, Struct, json

from bernstein_operator.kube.api import METADATA_ONLY, KubeApi
from bernstein_operator.kube.errors import GoneError
from bernstein_operator.kube.resources import Resource

PAGE: Final = 500
_Item = TypeVar("_Item")


class _Page(Struct):
    metadata: dict[str, Any]
    items: list[Raw] | None = None


@dataclass(frozen=True, slots=True)
class Listing(Generic[_Item]):
    """All objects of a kind as they were at one moment, ``version``."""

    items: list[_Item]
    version: int


_PAGES: Final = json.Decoder(_Page)


async def list_all(
    api: KubeApi,
    resource: Resource,
    *,
    namespaces: Iterable[str],
    decode: Callable[[bytes], _Item],
    selector: str = "",
    page: int = PAGE,
) -> Listing[_Item]:
    """Read all objects of a kind; ``namespaces`` holds one empty text for the whole cluster.

    ``page`` is how many are asked for at once: fewer of big ones. The version is that of the oldest of the
    lists, where there are several.
    """
    listings = [
        await _list(api, resource, one, decode=decode, selector=selector, page=page) for one in namespaces
    ]
    items = [item for listing in listings for item in listing.items]
    return Listing(items=items, version=min(listing.version for listing in listings))


async def list_versions(
    api: KubeApi, resource: Resource, *, namespaces: Iterable[str], fields: str = "", selector: str = ""
) -> dict[tuple[str, str], int]:
    """Return each object's version by namespace and name: a cheap way to find what was missed.

    ``fields`` is a field selector, ``selector`` one of labels.
    """
    found: dict[tuple[str, str], int] = {}
    for namespace in namespaces:
        listing = await _list(
            api,
            resource,
            namespace,
            decode=orjson.loads,
            selector=selector,
            fields=fields,
            accept=METADATA_ONLY,
        )
        for item in listing.items:
            meta = item["metadata"]
            found[meta["namespace"], meta["name"]] = int(meta["resourceVersion"])
    return found


async def _list(
    api: KubeApi,
    resource: Resource,
    namespace: str,
    *,
    decode: Callable[[bytes], _Item],
    selector: str = "",
    fields: str = "",
    accept: str = "application/json",
    page: int = PAGE,
) -> Listing[_Item]:
    items: list[_Item] = []
    token = ""
    while True:
        params = {"limit": str(page)}
        if selector:
            params["labelSelector"] = selector
        if fields:
            params["fieldSelector"] = fields
        if token:
            params["continue"] = token
        try:
            found = _PAGES.decode(await api.list_page(resource, namespace, params=params, accept=accept))
        except GoneError:
            # The list took so long that its version is no longer kept: what was read is worth nothing.
            items, token = [], ""
            continue
        items += [decode(bytes(raw)) for raw in found.items or ()]
        token = found.metadata.get("continue", "")
        if not token:
            return Listing(items=items, version=int(found.metadata["resourceVersion"]))
