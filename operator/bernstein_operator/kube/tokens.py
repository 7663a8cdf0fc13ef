"""Whose token it is: the Pod that the API server bound it to.

Reports are many, so their tokens are checked here, against the keys that the API server publishes for that
purpose. Where those can't be read it is asked about each token instead (TokenReview). Either way only tokens
count that were made for this audience: nobody can get in with one that is good for the API server.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jwt
import msgspec

from bernstein_operator.api.names import REPORT_AUDIENCE
from bernstein_operator.kube.api import KubeApi
from bernstein_operator.kube.errors import ApiError, NotFoundError, RefusedError
from bernstein_operator.kube.resources import TOKEN_REVIEWS

DISCOVERY: Final = "/.well-known/openid-configuration"
KEYS: Final = "/openid/v1/jwks"
KEEP_SECONDS: Final = 600.0
"""Keys that are older are read again, so that one which was withdrawn is good for nothing soon."""
LEAST_SECONDS: Final = 5.0
"""An unknown key has them read again, but not more often: anybody can invent one."""
LEEWAY_SECONDS: Final = 10.0
"""By so much the API server's clock may differ."""
ALGORITHMS: Final = ("RS256", "ES256", "ES384", "ES512")
"""What API servers sign with."""
_POD_NAME: Final = "authentication.kubernetes.io/pod-name"
_POD_UID: Final = "authentication.kubernetes.io/pod-uid"
_ACCOUNT: Final = "system:serviceaccount:"


class TokenError(Exception):
    """A token that is none of ours, or no more; the text says why, and holds nothing of it."""


@dataclass(frozen=True, slots=True)
class PodIdentity:
    """The Pod that a token was made for."""

    namespace: str
    name: str
    uid: str


class _Named(msgspec.Struct):
    name: str
    uid: str


class _Bound(msgspec.Struct):
    namespace: str
    pod: _Named


class _Discovery(msgspec.Struct):
    issuer: str


class _User(msgspec.Struct):
    username: str = ""
    extra: dict[str, list[str]] = {}


class _Review(msgspec.Struct):
    authenticated: bool = False
    audiences: list[str] = []
    user: _User = msgspec.field(default_factory=_User)
    error: str = ""


class _Reviewed(msgspec.Struct):
    status: _Review


@dataclass(frozen=True, slots=True)
class _Keys:
    """What tokens are signed with, by key id; none where the API server doesn't publish it to us."""

    issuer: str
    by_id: dict[str, jwt.PyJWK]
    read_at: float


class Tokens:
    """Checks tokens; ``clock`` gives monotonic seconds."""

    def __init__(self, api: KubeApi, *, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock
        self._keys: _Keys | None = None
        self._reading = asyncio.Lock()

    async def identify(self, token: str) -> PodIdentity:
        """Return the Pod that ``token`` was made for.

        Raises:
            TokenError: expired, of another audience or issuer, signed by nobody we know, bound to no Pod.
            ApiError: the API server could not be asked.
        """
        try:
            key_id = str(jwt.get_unverified_header(token).get("kid", ""))
        except jwt.PyJWTError as error:
            raise TokenError(f"not a token: {error}") from None
        keys = await self._keys_with(key_id)
        if not keys.by_id:
            return await self._reviewed(token)
        key = keys.by_id.get(key_id)
        if not key:
            raise TokenError("signed with an unknown key")
        return _verified(token, key, issuer=keys.issuer)

    async def _keys_with(self, key_id: str) -> _Keys:
        """Return the keys, read again where they are old or lack one."""
        async with self._reading:
            known = self._keys
            age = self._clock() - known.read_at if known else KEEP_SECONDS
            longest = KEEP_SECONDS if known and key_id in known.by_id else LEAST_SECONDS
            if known and age < longest:
                return known
            self._keys = await self._read(known)
            return self._keys

    async def _read(self, known: _Keys | None) -> _Keys:
        """Read the keys; where the API server doesn't answer, those that are known go on for a while."""
        now = self._clock()
        try:
            issuer = msgspec.json.decode(await self._api.read(DISCOVERY), type=_Discovery).issuer
            published = jwt.PyJWKSet.from_json((await self._api.read(KEYS)).decode())
        except (RefusedError, NotFoundError, msgspec.DecodeError, jwt.PyJWTError):
            return _Keys("", {}, now)
        except ApiError:
            if known and now - known.read_at < 2 * KEEP_SECONDS:
                return known
            raise
        return _Keys(issuer, {str(one.key_id): one for one in published.keys if one.key_id}, now)

    async def _reviewed(self, token: str) -> PodIdentity:
        spec = {"token": token, "audiences": [REPORT_AUDIENCE]}
        body = {"apiVersion": TOKEN_REVIEWS.api_version, "kind": TOKEN_REVIEWS.kind, "spec": spec}
        answer = await self._api.create(TOKEN_REVIEWS, "", body)
        found = msgspec.json.decode(answer, type=_Reviewed).status
        if not found.authenticated or REPORT_AUDIENCE not in found.audiences:
            raise TokenError("the API server doesn't take it")
        names, uids = found.user.extra.get(_POD_NAME), found.user.extra.get(_POD_UID)
        if not (names and uids and found.user.username.startswith(_ACCOUNT)):
            raise TokenError("bound to no Pod")
        namespace = found.user.username.removeprefix(_ACCOUNT).partition(":")[0]
        return PodIdentity(namespace, names[0], uids[0])


def _verified(token: str, key: jwt.PyJWK, *, issuer: str) -> PodIdentity:
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(ALGORITHMS),
            audience=REPORT_AUDIENCE,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "aud", "iss"]},
        )
        bound = msgspec.convert(claims.get("kubernetes.io"), _Bound)
    except jwt.PyJWTError as error:
        raise TokenError(str(error)) from None
    except msgspec.ValidationError:
        raise TokenError("bound to no Pod") from None
    return PodIdentity(bound.namespace, bound.pod.name, bound.pod.uid)
