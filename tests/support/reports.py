"""An agent's reports without an agent: real tokens, asked of the API server for a Pod, and real requests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import urllib3

from bernstein_operator.api.names import REPORT_AUDIENCE
from tests.support.kube import Kube
from tests.support.operator import OperatorProcess
from tests.support.pods import attempt_of

SETTINGS = {"BERNSTEIN_REPORT_URL": "http://reports.invalid:8081", "BERNSTEIN_REPORT_PORT": "0"}
"""Of an operator that takes reports at a free port."""

_SECONDS = 600
_TIMEOUT = 30.0


@dataclass(frozen=True)
class Answer:
    """What a report was answered with."""

    status: int
    text: str

    @property
    def instruction(self) -> dict[str, Any]:
        """The document that it is."""
        return dict(json.loads(self.text))


def token_for(kube: Kube, pod: Mapping[str, Any] | None, *, audience: str = REPORT_AUDIENCE) -> str:
    """Return a token of the namespace's default account, bound to ``pod`` if there is one."""
    spec: dict[str, Any] = {"audiences": [audience], "expirationSeconds": _SECONDS}
    if pod:
        meta = pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        spec["boundObjectRef"] = bound
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = f"/api/v1/namespaces/{kube.namespace}/serviceaccounts/default/token"
    return str(json.loads(kube.request("POST", path, body=body))["status"]["token"])


def make_report(
    pod: Mapping[str, Any], *, cost_usd: str = "0", tokens: int = 0, **further: Any
) -> dict[str, Any]:
    """Return the report of the attempt in ``pod``."""
    subject = {"id": pod["metadata"]["name"], "attempt": attempt_of(pod)}
    usage = {"inputTokens": tokens, "outputTokens": 0, "cachedTokens": 0, "costUsd": cost_usd}
    return {"contractVersion": "1.2", "subject": subject, "usage": usage, **further}


def post(
    operator: OperatorProcess, pod: str, body: Mapping[str, Any] | bytes, *, authorization: str | None
) -> Answer:
    """Post a report to the endpoint of the Pod called ``pod``."""
    answer = urllib3.request(
        "POST",
        f"http://127.0.0.1:{operator.report_port}/v1/attempts/{pod}/report",
        body=body if isinstance(body, bytes) else json.dumps(body).encode(),
        headers={"Authorization": authorization} if authorization is not None else {},
        timeout=_TIMEOUT,
        retries=False,
    )
    return Answer(answer.status, answer.data.decode())


def report(
    operator: OperatorProcess, kube: Kube, pod: Mapping[str, Any], *, cost_usd: str = "0", **further: Any
) -> Answer:
    """Post what the attempt in ``pod`` has spent in all, with a token of its own."""
    bearer = f"Bearer {token_for(kube, pod)}"
    body = make_report(pod, cost_usd=cost_usd, **further)
    return post(operator, pod["metadata"]["name"], body, authorization=bearer)
