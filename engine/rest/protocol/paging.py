"""Lists: pages, ``$filter``, ``$select`` and ``$expand`` (GEN-8)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from engine.rest.protocol import answers
from engine.rest.protocol.filters import condition
from engine.rest.protocol.requests import bad_parameter, count, parameters

if TYPE_CHECKING:
    from engine.rest.protocol.answers import Answer, Body
    from engine.rest.protocol.calls import Call
    from engine.rest.protocol.requests import Request

LARGEST_PAGE = 1000

MOST_LOOKED_AT = 2_000  # resources that one request compares with a filter: an empty page with a link is legal

Key = TypeVar("Key", bound=int | str)


def page(
    call: Call,
    name: str,
    items: Callable[[Key], Iterable[tuple[Key, Body]]],
    first: Key,
    stats: Callable[[Key], Body] | None = None,
) -> Answer:
    """Return a page of a list.

    Args:
        call: The call of the list operation.
        name: The name of the set in ``odata.metadata``.
        items: Yields keys and bodies of what follows a key, in ascending order of keys. A key is never used again, so
            that a list can be continued while items are added and removed.
        first: A key before all others; its type is that of all keys.
        stats: Returns ``stats`` of an item, for ``$expand=stats``.
    """
    size = count(call.query, "maxresults", LARGEST_PAGE)
    text = call.query.get("$filter", "")
    holds = condition(text) if text.strip() else None
    found: list[Body] = []
    chosen = selection(call)
    stats = stats if wants_stats(call) else None
    rest = iter(items(_continued(call, first)))
    last: Key | None = None
    for key, body in islice(rest, MOST_LOOKED_AT if holds is not None else size):
        last = key
        if holds is None or holds(body):
            found.append(chosen(body if stats is None else {**body, "stats": stats(key)}))
            if len(found) == size:
                break
    result: dict[str, Any] = {"odata.metadata": answers.metadata(call.base, name), "value": found}
    if last is not None and next(rest, None) is not None:
        result["odata.nextLink"] = next_link(call.request, last)
    return answers.json_body(call.route.status, result)


def after(rows: Iterable[Any], row: int) -> Iterator[Any]:
    """Yield the records with a higher row number."""
    return islice(rows, row + 1, None)


def selection(call: Call) -> Callable[[Body], Body]:
    """Return a function that keeps the properties that ``$select`` names; unknown names are ignored, none keep all."""
    text = call.query.get("$select", "")
    if not text.strip():
        return lambda body: body
    wanted = {name.strip().lower() for name in text.split(",")}
    return lambda body: {name: value for name, value in body.items() if name.lower() in wanted}


def wants_stats(call: Call) -> bool:
    """Return whether ``$expand`` asks for statistics."""
    return "stats" in {name.strip().lower() for name in call.query.get("$expand", "").split(",")}


def next_link(request: Request, key: int | str) -> str:
    """Return the absolute URL of the next page: the same query, with a token that names the last item."""
    kept = [(name, value) for name, value in parameters(request.query_string) if name.lower() != "$skiptoken"]
    query = "&".join(f"{quote(name, safe='$')}={quote(value, safe='')}" for name, value in [*kept, _token(key)])
    return f"{request.base}{request.path}?{query}"


def _token(key: int | str) -> tuple[str, str]:
    return "$skiptoken", base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def _continued(call: Call, first: Key) -> Key:
    """Return the key after which the page begins: that of the token, or ``first``."""
    token = call.query.get("$skiptoken")
    if token is None:
        return first
    try:
        key = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, binascii.Error, RecursionError):
        key = None
    if type(key) is type(first):
        continued: Key = key
        return continued
    raise bad_parameter("$skiptoken", token, "this is no token of this list")
