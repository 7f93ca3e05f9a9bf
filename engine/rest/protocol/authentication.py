"""Authentication of requests: the scheme SharedKey, and bearer tokens, which are taken as they are (ACC-1)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, unquote_plus

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engine.rest.protocol.requests import Request

DEFAULT_ACCOUNT = "localbatch"
DEFAULT_KEY = "bG9jYWwtYmF0Y2gta2V5LTAxMjM0NTY3ODk="

_SIGNED_HEADERS = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)


class Credentials(NamedTuple):
    """The name and key of the account. With ``any_key`` every signature is valid, and so is every account."""

    account: str = DEFAULT_ACCOUNT
    key: str = DEFAULT_KEY
    any_key: bool = False


def check(request: Request, credentials: Credentials) -> None:
    """Refuse a request that is not signed with the account's key.

    Raises:
        BatchError: Unauthorized without a header, InvalidAuthenticationInfo for an unreadable one, AuthenticationFailed
            for another account or signature.
    """
    header = request.headers.get("authorization")
    if header is None:
        if credentials.any_key:
            return
        raise BatchError("Unauthorized", "the request has no Authorization header")
    scheme, _, given = header.partition(" ")
    if scheme.lower() == "bearer" and given.strip():
        return
    account, colon, signature = given.strip().rpartition(":")
    if scheme.lower() != "sharedkey" or not (account and colon):
        raise BatchError("InvalidAuthenticationInfo", "must be SharedKey ACCOUNT:SIGNATURE, or Bearer TOKEN")
    try:
        sent = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        raise BatchError("InvalidAuthenticationInfo", "the signature is not base64") from None
    if credentials.any_key:
        return
    if account.lower() != credentials.account.lower():
        raise BatchError("AuthenticationFailed", f"the account here is {credentials.account}")
    key = base64.b64decode(credentials.key)
    for text in texts_to_sign(request, account):
        if hmac.compare_digest(_digest(key, text), sent):
            return
    raise BatchError("AuthenticationFailed", "the signature does not match the request and the account's key")


def signature(request: Request, account: str, key: str) -> str:
    """Return the signature of a request as the Python clients compute it."""
    return base64.b64encode(_digest(base64.b64decode(key), next(texts_to_sign(request, account)))).decode()


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)


def texts_to_sign(request: Request, account: str) -> Iterator[str]:
    """Yield the texts of which clients compute the signature of the same request.

    Python and JavaScript keep the case of parameter names; .NET and Java put names and account in lower case. In a
    value, a plus is a blank for those that encode forms and a plus for the others.
    """
    headers = request.headers
    signed = [request.method, *(headers.get(name, "") for name in _SIGNED_HEADERS)]
    signed += [f"{name}:{value.strip()}" for name, value in sorted(headers.items()) if name.startswith("ocp-")]
    decoders = (unquote_plus, unquote) if "+" in request.query_string else (unquote_plus,)
    for decode in decoders:
        yield "\n".join([*signed, f"/{account}{request.path}", *_parameter_lines(request, str, decode)])
        for name in {account, account.lower()}:
            yield "\n".join([*signed, f"/{name}{request.path}", *_parameter_lines(request, str.lower, decode)])


def _parameter_lines(request: Request, spell: Callable[[str], str], decode: Callable[[str], str]) -> list[str]:
    pairs = (part.partition("=") for part in request.query_string.split("&") if part)
    named = sorted((spell(decode(name)), decode(value)) for name, _, value in pairs)
    return [f"{name}:{value}" for name, value in named]
