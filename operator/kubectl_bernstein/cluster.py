"""The only door to the API server: the official client, with the user's kubeconfig and current context.

Credential plugins, OIDC and client certificates work as with kubectl. Whatever goes wrong here becomes one
line: the API server's own words where it has answered.
"""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException

from bernstein_operator import __version__
from bernstein_operator.api import kinds
from bernstein_operator.api.kinds import Kind
from bernstein_operator.api.names import GROUP, LABEL_LEDGER, VERSION, shorten
from bernstein_operator.api.objects import ProfileObject, RunObject, TaskObject
from kubectl_bernstein.errors import CommandError
from kubectl_bernstein.naming import kind_of
from kubectl_bernstein.orders import Order
from kubectl_bernstein.scene import Scene

_PROGRAM: Final = "kubectl-bernstein"
_PAGE: Final = 500
_LEDGER_PAGE: Final = 10
"""A ConfigMap of the ledger may have a megabyte."""
_TIMEOUT: Final = (10, 60)
"""Seconds to connect, and to wait for an answer."""


class Cluster:
    """A cluster and the namespace that commands are about; everything raises CommandError."""

    def __init__(self, *, kubeconfig: str | None, context: str | None, namespace: str | None) -> None:
        with _told():
            configuration = client.Configuration()
            config.load_kube_config(kubeconfig, context, configuration)
            self.namespace = namespace or _namespace(kubeconfig, context)
        configuration.retries = False
        self._api = client.ApiClient(configuration)
        self._api.user_agent = f"{_PROGRAM}/{__version__}"
        _accept_what_kubectl_accepts(self._api, verify=configuration.verify_ssl)

    def runs(self, *, everywhere: bool = False) -> list[RunObject]:
        """Return all runs."""
        return [RunObject.parse(raw) for raw in self._list(kinds.RUN, everywhere=everywhere)]

    def scene(self, *, everywhere: bool = False) -> Scene:
        """Return everything there is."""
        return Scene.of(
            tasks=map(TaskObject.parse, self._list(kinds.TASK, everywhere=everywhere)),
            runs=self.runs(everywhere=everywhere),
            profiles=map(ProfileObject.parse, self._list(kinds.PROFILE, everywhere=everywhere)),
        )

    def ledger(self, *, everywhere: bool = False, run: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the ConfigMaps of the ledger, with ``run`` those that may have rows of runs of that name."""
        api = client.CoreV1Api(self._api)
        listed = (
            api.list_config_map_for_all_namespaces
            if everywhere
            else partial(api.list_namespaced_config_map, self.namespace)
        )
        selector = f"{LABEL_LEDGER}={shorten(run)}" if run else LABEL_LEDGER

        def fetch(**page: object) -> dict[str, Any]:
            answer = listed(label_selector=selector, _preload_content=False, **page)
            found: dict[str, Any] = json.loads(answer.data)
            return found

        yield from _paged(fetch, size=_LEDGER_PAGE)

    def carry_out(self, order: Order) -> None:
        """Write what an order says, if it says anything new."""
        if order.patch is None:
            return
        meta, kind = order.target.meta, kind_of(order.target)
        with _told():
            client.CustomObjectsApi(self._api).patch_namespaced_custom_object(
                *(GROUP, VERSION, meta.namespace, kind.plural, meta.name, order.patch),
                field_manager=_PROGRAM,
                _request_timeout=_TIMEOUT,
            )

    def log(self, pod: str, *, container: str, follow: bool) -> Iterator[bytes]:
        """Yield the log of a container piece by piece; with ``follow`` as long as it runs."""
        with _told():
            answer = client.CoreV1Api(self._api).read_namespaced_pod_log(
                *(pod, self.namespace),
                container=container,
                follow=follow,
                _preload_content=False,
                _request_timeout=None if follow else _TIMEOUT,
            )
            yield from answer.stream(decode_content=False)

    def _list(self, kind: Kind, *, everywhere: bool) -> Iterator[dict[str, Any]]:
        api, where = client.CustomObjectsApi(self._api), (GROUP, VERSION)
        return _paged(
            partial(api.list_cluster_custom_object, *where, kind.plural)
            if everywhere
            else partial(api.list_namespaced_custom_object, *where, self.namespace, kind.plural),
            size=_PAGE,
        )


def _paged(fetch: Callable[..., dict[str, Any]], *, size: int) -> Iterator[dict[str, Any]]:
    """Yield the items of a list that is asked for page by page."""
    after = None
    while True:
        with _told():
            found = fetch(limit=size, _continue=after, _request_timeout=_TIMEOUT)
        yield from found["items"]
        after = found["metadata"].get("continue")
        if not after:
            return


def _namespace(kubeconfig: str | None, context: str | None) -> str:
    contexts, current = config.list_kube_config_contexts(kubeconfig)
    chosen = next((one for one in contexts if one["name"] == context), current) if context else current
    return str(chosen["context"].get("namespace") or "default")


def _accept_what_kubectl_accepts(api: client.ApiClient, *, verify: bool) -> None:
    """Check certificates as strictly as kubectl: from 3.13 on Python asks for more than many CAs have."""
    context = urllib3.util.create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if verify else ssl.CERT_NONE)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    api.rest_client.pool_manager.connection_pool_kw["ssl_context"] = context


@contextmanager
def _told() -> Iterator[None]:
    """Turn what may go wrong on the way to the API server into a CommandError."""
    try:
        yield
    except (ConfigException, yaml.YAMLError, OSError) as error:
        raise CommandError(f"the kubeconfig can't be used: {_one_line(error)}") from None
    except ApiException as error:
        raise CommandError(_answer(error)) from None
    except urllib3.exceptions.HTTPError as error:
        raise CommandError(f"the API server can't be reached: {_one_line(error)}") from None


def _answer(error: ApiException) -> str:
    """Return the API server's own words; it has none for a kind that it doesn't know."""
    try:
        return _one_line(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        if error.status == HTTPStatus.NOT_FOUND:
            return f"the cluster doesn't serve {GROUP}/{VERSION}: are the CRDs installed?"
        return f"{error.status} {error.reason}"


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
