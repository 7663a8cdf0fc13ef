"""Whose token it is: checked against the published keys, or else by asking about it."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from bernstein_operator.api.names import REPORT_AUDIENCE
from bernstein_operator.kube.errors import ApiError, UnavailableError
from bernstein_operator.kube.tokens import (
    DISCOVERY,
    KEEP_SECONDS,
    KEYS,
    LEAST_SECONDS,
    LEEWAY_SECONDS,
    PodIdentity,
    TokenError,
    Tokens,
)
from tests.unit.control.ticking import Ticking
from tests.unit.kube.server import Asked, Server, serving

ISSUER = "https://issuer.invalid"
POD = PodIdentity(namespace="ns", name="p", uid="p-uid")
BOUND: dict[str, Any] = {
    "namespace": "ns",
    "pod": {"name": "p", "uid": "p-uid"},
    "serviceaccount": {"name": "default"},
}
PERSON = {
    "username": "ada",
    "extra": {
        "authentication.kubernetes.io/pod-name": ["p"],
        "authentication.kubernetes.io/pod-uid": ["p-uid"],
    },
}
FIRST, SECOND = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
ACCOUNT = "system:serviceaccount:ns:default"
REVIEW: dict[str, Any] = {
    "authenticated": True,
    "audiences": [REPORT_AUDIENCE],
    "user": {
        "username": ACCOUNT,
        "extra": {
            "authentication.kubernetes.io/pod-name": ["p"],
            "authentication.kubernetes.io/pod-uid": ["p-uid"],
        },
    },
}


class Authority(Server):
    """An API server that publishes keys (by id) or reviews tokens, or doesn't answer."""

    def __init__(self, **keys: ec.EllipticCurvePrivateKey) -> None:
        super().__init__()
        self.keys = keys
        self.status = 200
        self.review: dict[str, Any] = {}

    @property
    def reads(self) -> int:
        """How often the keys were read."""
        return sum(one.path == KEYS for one in self.asked)

    def next(self, asked: Asked, /) -> tuple[int, Any, dict[str, str]]:
        if asked.method == "POST":
            return 201, {"status": self.review}, {}
        if self.status != 200:
            return self.status, {"reason": "Whatever"}, {}
        if asked.path == DISCOVERY:
            return 200, {"issuer": ISSUER}, {}
        return 200, {"keys": list(self._published())}, {}

    def _published(self) -> Iterator[dict[str, Any]]:
        for key_id, key in self.keys.items():
            public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
            yield {**public, "kid": key_id, "alg": "ES256", "use": "sig"}


def token(
    key_id: str | None = "first",
    key: Any = FIRST,
    *,
    algorithm: str = "ES256",
    bound: dict[str, Any] | None = BOUND,
    **claims: Any,
) -> str:
    """Return a token that is good for an hour; ``claims`` replace its own, None leaves one out."""
    now = datetime.now(UTC)  # noqa: TID251 - the library that checks it reads the clock by itself
    whole = {
        "iss": ISSUER,
        "aud": [REPORT_AUDIENCE],
        "iat": now,
        "exp": now + timedelta(hours=1),
        "kubernetes.io": bound,
        **claims,
    }
    told = {name: value for name, value in whole.items() if value is not None}
    return jwt.encode(told, key, algorithm=algorithm, headers={"kid": key_id} if key_id else {})


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)  # noqa: TID251


async def test_a_token_leads_to_the_pod_that_it_was_made_for() -> None:
    server = Authority(first=FIRST)
    async with serving(server):
        tokens = Tokens(server.api, clock=Ticking())
        assert await tokens.identify(token()) == POD
        just_expired = token(exp=ago(LEEWAY_SECONDS - 5), iat=ago(600))
        assert await tokens.identify(just_expired) == POD, "clocks differ a little"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        pytest.param(lambda: token(aud=["vault"]), "Audience", id="another audience's"),
        pytest.param(lambda: token(aud=None), "aud", id="nobody's"),
        pytest.param(lambda: token(iss="https://else.invalid"), "issuer", id="another issuer's"),
        pytest.param(lambda: token(exp=ago(LEEWAY_SECONDS + 1)), "expired", id="expired"),
        pytest.param(lambda: token(exp=None), "exp", id="good for ever"),
        pytest.param(lambda: token(key=SECOND), "Signature", id="signed with another key"),
        pytest.param(lambda: token("second", SECOND), "unknown key", id="signed with an unknown key"),
        pytest.param(lambda: token(None), "unknown key", id="of no key"),
        pytest.param(lambda: token(key=None, algorithm="none"), "alg", id="not signed"),
        pytest.param(lambda: token(key="x" * 32, algorithm="HS256"), "alg", id="signed with a shared secret"),
        pytest.param(lambda: token(bound=None), "bound to no Pod", id="bound to nothing"),
        pytest.param(lambda: token(bound={"namespace": "ns"}), "bound to no Pod", id="bound to no Pod"),
        pytest.param(lambda: "x.y.z", "not a token", id="none at all"),
    ],
)
async def test_a_token_that_does_not_count_is_refused(bad: Any, why: str) -> None:
    server = Authority(first=FIRST)
    async with serving(server):
        with pytest.raises(TokenError, match=why):
            await Tokens(server.api, clock=Ticking()).identify(bad())


async def test_keys_are_read_once_and_again_when_they_are_old() -> None:
    server = Authority(first=FIRST)
    async with serving(server):
        clock = Ticking()
        tokens = Tokens(server.api, clock=clock)
        for passed, reads in [(0, 1), (KEEP_SECONDS - 1, 1), (1, 2)]:
            clock.now += passed
            await tokens.identify(token())
            assert server.reads == reads


async def test_an_unknown_key_has_them_read_again_but_not_at_once() -> None:
    server = Authority(first=FIRST)
    async with serving(server):
        clock = Ticking()
        tokens = Tokens(server.api, clock=clock)
        await tokens.identify(token())
        server.keys = {"first": FIRST, "second": SECOND}
        for _ in range(3):
            with pytest.raises(TokenError, match="unknown key"):
                await tokens.identify(token("second", SECOND))
        assert server.reads == 1
        clock.now += LEAST_SECONDS
        assert await tokens.identify(token("second", SECOND)) == POD
        assert server.reads == 2


async def test_a_key_that_was_withdrawn_is_good_for_nothing_soon() -> None:
    server = Authority(first=FIRST)
    async with serving(server):
        clock = Ticking()
        tokens = Tokens(server.api, clock=clock)
        await tokens.identify(token())
        server.keys = {"second": SECOND}
        clock.now += KEEP_SECONDS
        with pytest.raises(TokenError, match="unknown key"):
            await tokens.identify(token())


@pytest.mark.parametrize("status", [403, 404])
@pytest.mark.parametrize(
    ("review", "why"),
    [
        pytest.param(REVIEW, "", id="taken"),
        pytest.param({"authenticated": False, "error": "expired"}, "doesn't take it", id="not taken"),
        pytest.param({**REVIEW, "audiences": ["vault"]}, "doesn't take it", id="of another audience"),
        pytest.param({**REVIEW, "user": {"username": ACCOUNT}}, "bound to no Pod", id="bound to none"),
        pytest.param(
            {**REVIEW, "user": {**REVIEW["user"], "username": "ada"}}, "bound to no Pod", id="a person's"
        ),
    ],
)
async def test_where_the_keys_may_not_be_read_each_token_is_asked_about(
    status: int, review: dict[str, Any], why: str
) -> None:
    server = Authority(first=FIRST)
    async with serving(server):
        server.status, server.review = status, review
        tokens = Tokens(server.api, clock=Ticking())
        if not why:
            assert await tokens.identify(token()) == POD
        else:
            with pytest.raises(TokenError, match=why):
                await tokens.identify(token())
        assert server.asked[-1].body["spec"]["audiences"] == [REPORT_AUDIENCE]


async def test_keys_go_on_for_a_while_where_nobody_answers() -> None:
    server = Authority(first=FIRST)
    async with serving(server):
        clock = Ticking()
        tokens = Tokens(server.api, clock=clock)
        await tokens.identify(token())
        server.status = 500
        clock.now += 2 * KEEP_SECONDS - 1
        assert await tokens.identify(token()) == POD
        clock.now += 1
        with pytest.raises(UnavailableError):
            await tokens.identify(token())


async def test_a_token_that_cannot_be_checked_is_not_refused_for_good() -> None:
    server = Authority(first=FIRST)
    async with serving(server):
        tokens = Tokens(server.api, clock=Ticking())
        server.status = 500
        with suppress(ApiError):
            await tokens.identify(token())
        server.status = 200
        assert await tokens.identify(token()) == POD
