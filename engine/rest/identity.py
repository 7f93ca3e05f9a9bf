"""Logins: tokens of service principals and managed identities, issued here and known again.

Programs that log in find the paths of Microsoft Entra, of the identity endpoint that App Service gives a program, and
of the metadata service of a virtual machine. A token is signed with a key that is made at each start, so nothing that
another server has issued holds here. Roles are not modelled: whoever has a token may do everything that its audience
allows.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from engine.base.errors import BatchError
from engine.base.hosts import DOMAINS
from engine.base.values import quoted
from engine.rest import messages
from engine.rest.messages import Answer, query_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jwt.types import Options

    from engine.rest.messages import Answering, Request

BATCH = tuple(f"https://batch.{domain}" for domain in DOMAINS)
"""The audiences of tokens for the data plane of each cloud, without the slash at the end."""

LOGIN = "https://login.microsoftonline.com"
"""Where programs log in, unless they are told otherwise."""

MANAGED = (APP_SERVICE, METADATA) = ("/msi/token", "/metadata/identity/oauth2/token")
"""The paths that give a token to whoever reaches them, so they are served on loopback alone."""

_LIFETIME_S = 86_400  # of a token of a managed identity
_PRINCIPAL_LIFETIME_S = 3_599
_KEY_BITS = 2048
_NOBODY = "00000000-0000-4000-8000-000000000001"
_LONGEST = 200  # characters of what a client names
_LOGINS = ("login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net")
_PATH = re.compile(
    r"/(?P<tenant>[^/]{1,100})(?P<v2>/v2\.0|/oauth2/v2\.0)?"
    r"/(?P<what>(?<=v2\.0/)token|oauth2/token|\.well-known/openid-configuration|discovery/(?:v2\.0/)?keys|discovery/instance)"
)
_ONLY_SIGNATURE: Options = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False}
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class _Refused(Exception):
    """A login that is refused: the error of OAuth, the number that Entra gives it, and a sentence."""

    def __init__(self, error: str, number: int, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.error, self.number, self.status = error, number, status


class Identity:
    """Issues tokens, and says of a token whether it was issued here and is still good."""

    def __init__(self, client_secret: str | None = None, utc_s: Callable[[], float] = time.time) -> None:
        """Make the key. Service principals log in with any secret or certificate, or with ``client_secret`` alone."""
        self.header = secrets.token_urlsafe(32)  # what a program has to show to the endpoint of App Service
        self._client_secret = client_secret
        self._utc_s = utc_s
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=_KEY_BITS)
        self._key_id = secrets.token_urlsafe(16)

    def variables(self, login_url: str, managed_url: str) -> dict[str, str]:
        """Return the environment variables with which the libraries of Azure find these logins."""
        return {
            "IDENTITY_ENDPOINT": managed_url + APP_SERVICE,
            "IDENTITY_HEADER": self.header,
            "AZURE_POD_IDENTITY_AUTHORITY_HOST": managed_url,
            "AZURE_AUTHORITY_HOST": login_url,
        }

    def fault(self, token: str, audiences: Sequence[str] = BATCH) -> str:
        """Return what is wrong with a token that a request shows, "" if it is good."""
        try:
            # Whether it has expired is asked of the clock that has issued it.
            claims = jwt.decode(token, self._key.public_key(), ["RS256"], _ONLY_SIGNATURE)
        except jwt.InvalidTokenError:
            return "this server has not issued the token: log in anew (az account clear); --any-key accepts any"
        if claims["exp"] <= self._utc_s():
            return "the token has expired"
        if claims["aud"].rstrip("/") not in audiences:
            return f"the token is for {quoted(claims['aud'])}, not for {audiences[0]}/"
        return ""

    def login(self, request: Request) -> Answer | None:
        """Return the answer to a request that Entra would answer, None for any other request."""
        known = _PATH.fullmatch(unquote(request.path, errors="replace").rstrip("/"))
        if known is None:
            return None
        what, tenant = known["what"], known["tenant"]
        if what.endswith("token"):
            return self._answered(lambda: self._principal(request, tenant, is_v2=bool(known["v2"])))
        if what.endswith("keys"):
            public = RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
            return _json({"keys": [{**public, "use": "sig", "kid": self._key_id, "x5t": self._key_id}]})
        if what.endswith("instance"):
            return _json(_instances(request.base, tenant))
        return _json(_configuration(request.base, tenant))

    def managed(self, request: Request) -> Answer | None:
        """Return the answer to a request of a managed identity, None for any other request."""
        path = request.path.rstrip("/")
        if path not in MANAGED:
            return None
        return self._answered(lambda: self._managed(request, is_app_service=path == APP_SERVICE))

    def _answered(self, give: Callable[[], Mapping[str, object]]) -> Answer:
        """Return the answer with what is given, or the refusal as Entra writes it."""
        try:
            return _json(give())
        except _Refused as refusal:
            return self._refusal(refusal)

    def _managed(self, request: Request, *, is_app_service: bool) -> Mapping[str, object]:
        """Return what a managed identity is given. Raises _Refused."""
        query, headers = _query(request), request.headers
        if is_app_service and not hmac.compare_digest(
            headers.get("x-identity-header", "").encode(), self.header.encode()
        ):
            raise _Refused("invalid_client", 0, "the header X-IDENTITY-HEADER is not the value of IDENTITY_HEADER", 401)
        if not is_app_service and headers.get("metadata", "").lower() != "true":
            raise _Refused("invalid_request", 0, "Required metadata header not specified")
        for name in ("api-version", "resource"):
            if not query.get(name):
                raise _Refused("invalid_request", 0, f"Required query parameter {name} not specified")
        client = next(
            (query[name] for name in ("client_id", "clientid", "object_id", "mi_res_id") if query.get(name)), _NOBODY
        )
        given = self._given(query["resource"], "organizations", client, _LIFETIME_S) | {"client_id": client}
        return given if is_app_service else given | {"ext_expires_in": given["expires_in"]}

    def _principal(self, request: Request, tenant: str, *, is_v2: bool) -> Mapping[str, object]:
        """Return what a service principal is given. Raises _Refused."""
        form = _form(request)
        client, scope = form.get("client_id", ""), form.get("scope" if is_v2 else "resource", "")
        if request.method != "POST":
            raise _Refused("invalid_request", 900561, "The endpoint only accepts POST requests.", 405)
        if form.get("grant_type") != "client_credentials":
            raise _Refused(
                "unsupported_grant_type",
                70003,
                f"the grant type is {quoted(form.get('grant_type', ''))}: client_credentials is served",
            )
        for name, value in (("client_id", client), ("scope" if is_v2 else "resource", scope)):
            if not value:
                sentence = f"The request body must contain the following parameter: '{name}'."
                raise _Refused("invalid_request", 900144, sentence)
        if is_v2 and not scope.endswith("/.default"):
            raise _Refused("invalid_scope", 1002012, f"the scope {quoted(scope)} must end with /.default")
        self._check_secret(form)
        given = self._given(scope.removesuffix("/.default"), tenant, client, _PRINCIPAL_LIFETIME_S)
        if not is_v2:
            return given
        return {name: given[name] for name in ("token_type", "access_token")} | dict.fromkeys(
            ("expires_in", "ext_expires_in"), _PRINCIPAL_LIFETIME_S
        )

    def _check_secret(self, form: Mapping[str, str]) -> None:
        """Refuse a login without a secret or certificate, or with another secret than the one that is asked for."""
        given = form.get("client_secret", "")
        if form.get("client_assertion_type") == _ASSERTION and self._client_secret is None:
            try:
                jwt.decode(form.get("client_assertion", ""), options={"verify_signature": False})
            except jwt.InvalidTokenError:
                raise _Refused("invalid_client", 50027, "the client assertion is no signed token", 401) from None
        elif not given:
            raise _Refused(
                "invalid_client",
                7000216,
                "'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.",
                401,
            )
        elif self._client_secret is not None and not hmac.compare_digest(given.encode(), self._client_secret.encode()):
            raise _Refused(
                "invalid_client", 7000215, "Invalid client secret provided: it is not that of --client-secret.", 401
            )

    def _given(self, resource: str, tenant: str, client: str, lifetime_s: int) -> dict[str, str]:
        """Return a signed token with what Entra says beside it."""
        now_s = int(self._utc_s())
        tenant_id, who = _guid(tenant), str(uuid5(NAMESPACE_URL, client))
        claims = {
            "aud": resource,
            "iss": f"https://sts.windows.net/{tenant_id}/",
            "iat": now_s,
            "nbf": now_s,
            "exp": now_s + lifetime_s,
            "appid": client,
            "idtyp": "app",
            "oid": who,
            "sub": who,
            "tid": tenant_id,
            "ver": "1.0",
        }
        token = jwt.encode(claims, self._key, "RS256", {"kid": self._key_id, "x5t": self._key_id})
        return {
            "token_type": "Bearer",
            "access_token": token,
            "expires_in": str(lifetime_s),
            "expires_on": str(now_s + lifetime_s),
            "not_before": str(now_s),
            "resource": resource,
        }

    def _refusal(self, refusal: _Refused) -> Answer:
        """Return the answer to a login that is refused, as Entra writes it."""
        when = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self._utc_s()))
        sentence = f"AADSTS{refusal.number}: {refusal}" if refusal.number else str(refusal)
        body = {
            "error": refusal.error,
            "error_description": sentence,
            "error_codes": [refusal.number],
            "timestamp": when,
            "trace_id": str(uuid4()),
            "correlation_id": str(uuid4()),
        }
        return _json(body, refusal.status, refusal.error)


def _instances(base: str, tenant: str) -> Mapping[str, object]:
    """Return which hosts are one and the same login service: those of Microsoft, and this server."""
    hosts = list(dict.fromkeys((base.partition("://")[2], *_LOGINS)))
    return {
        "tenant_discovery_endpoint": f"{base}/{tenant}/v2.0/.well-known/openid-configuration",
        "api-version": "1.1",
        "metadata": [{"preferred_network": hosts[0], "preferred_cache": hosts[0], "aliases": hosts}],
    }


def _configuration(base: str, tenant: str) -> Mapping[str, object]:
    """Return where the login service of a tenant is."""
    here = f"{base}/{tenant}"
    return {
        "issuer": f"https://sts.windows.net/{_guid(tenant)}/",
        "authorization_endpoint": f"{here}/oauth2/v2.0/authorize",
        "token_endpoint": f"{here}/oauth2/v2.0/token",
        "jwks_uri": f"{here}/discovery/v2.0/keys",
        "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt"],
        "response_types_supported": ["code", "token"],
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "tenant_region_scope": "EU",
        "cloud_instance_name": "microsoftonline.com",
    }


def _guid(tenant: str) -> str:
    """Return the id of a tenant, which may be named by its domain."""
    try:
        return str(UUID(tenant))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, tenant.lower()))


def _query(request: Request) -> dict[str, str]:
    try:
        return {name: value[:_LONGEST] for name, value in query_of(request).items()}
    except BatchError as error:
        raise _Refused("invalid_request", 0, error.message) from None


def _form(request: Request) -> dict[str, str]:
    try:
        return dict(parse_qsl(request.body.decode(), max_num_fields=32))
    except ValueError:
        raise _Refused("invalid_request", 900144, "The request body must be a form in UTF-8.") from None


def _json(body: Mapping[str, Any], status: int = 200, code: str = "") -> Answer:
    return messages.json_answer(body, status, code, **{"Cache-Control": "no-store"})


class Front:
    """Answers what one of some doors knows, and leaves the rest to what stands behind them."""

    def __init__(self, doors: Iterable[Callable[[Request], Answer | None]], behind: Answering) -> None:
        """Ask the doors in this order."""
        self._doors = tuple(doors)
        self._behind = behind

    def answer(self, request: Request, refused: BatchError | None = None) -> Answer:
        """Return the answer to a request, see ``Service.answer``."""
        found = (door(request) for door in self._doors) if refused is None else ()
        return next((answer for answer in found if answer is not None), None) or self._behind.answer(request, refused)


class Nothing:
    """Stands behind doors beside which there is nothing."""

    def answer(self, request: Request, refused: BatchError | None = None) -> Answer:
        """Return the refusal of a request."""
        error = refused or BatchError("ResourceNotFound", "there is no such path")
        return messages.refused(error, request.base, str(uuid4()), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
