"""Handlers that most operations share: create a resource, read it, act on it, delete it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from engine.rest.protocol import answers, bodies, conditions, paging, requests
from engine.rest.protocol.answers import Answer
from engine.specs.base import accepted_names
from engine.views.rest.common import etag

if TYPE_CHECKING:
    from engine.rest.protocol.calls import Call, Handler
    from engine.specs.command import Command
    from engine.state.records import NamedRecords
    from engine.world.world import World


class Target(NamedTuple):
    """An existing resource that a request names.

    ``path`` is its own, encoded, from the host on. ``changed_ms`` is the moment of its last modification; nodes, which
    have none, have no entity tag either.
    """

    path: str
    changed_ms: int | None = None


class Resources(NamedTuple):
    """The resources of one kind that have ids of their own: pools, jobs or job schedules.

    ``segment`` is the first one of their paths, ``parameter`` the name of the id in a path.
    """

    segment: str
    parameter: str
    table: Callable[[World], NamedRecords[Any]]

    def target_of(self, call: Call, name: str) -> Target | None:
        """Return the resource with this id, None if there is none."""
        found = self.table(call.world).find(name)
        return None if found is None else Target(path_of(self.segment, found.id), found.modified_ms)

    def named(self, call: Call) -> Target | None:
        """Return the resource that the path names, None if there is none."""
        return self.target_of(call, call.names[self.parameter])


Finder = Callable[["Call"], Target | None]
FinderById = Callable[["Call", str], Target | None]
Change = Callable[["Call", dict[str, Any]], Mapping[str, Any]]


def path_of(*parts: str) -> str:
    """Return the path of a resource from the parts of its address, encoded."""
    return "/" + "/".join(quote(part, safe=":") for part in parts)


def check_conditions(call: Call, target: Target | None) -> None:
    """Compare the conditions of the request with the target; without one the command itself will be refused."""
    if target is not None and target.changed_ms is not None:
        tag = etag(call.world, target.changed_ms)
        conditions.check(call.request, tag, call.moment(target.changed_ms))


def modified(call: Call, target: Target | None) -> dict[str, str]:
    """Return the headers ETag and Last-Modified of a target, if it has any."""
    if target is None or target.changed_ms is None:
        return {}
    return answers.modified_headers(etag(call.world, target.changed_ms), call.moment(target.changed_ms))


# -- writing ---------------------------------------------------------------------------------------------------------


def command_of(call: Call, command: type[Command], change: Change | None = None, **beside: object) -> Command:
    """Return the command of a call, read from its path, its body and ``beside``.

    Args:
        call: The call. Of its query, ``force`` counts if the command has such a property.
        command: The class of the command. Without properties of its own it has no body.
        change: Returns the body to read instead of the one that was sent.
        beside: More properties that stand beside the body, by their names on the wire.

    Raises:
        BatchError: The body or ``force`` is malformed.
    """
    known = {name for field in command.model_fields.values() for name in accepted_names(field)}
    names: dict[str, object] = {name: value for name, value in call.names.items() if name in known} | beside
    if "force" in known:
        names["force"] = requests.flag(call.query, "force")
    body: Mapping[str, Any] = call.body() if known - set(names) else {}
    if change is not None:
        body = change(call, dict(body))
    return bodies.read(command, body, names)


def creation(command: type[Command], find: FinderById, change: Change | None = None) -> Handler:
    """Return the handler that creates a resource; ``find`` finds it by its id."""

    def handle(call: Call) -> Answer:
        given = command_of(call, command, change)
        call.submit(given)
        return created(call, find(call, given.id))  # type: ignore[attr-defined]  # each such body has an id

    return handle


def created(call: Call, target: Target | None) -> Answer:
    """Return the answer to a creation: where the new resource is, without a body."""
    headers = modified(call, target)
    if target is not None:
        url = call.base + target.path
        headers |= {"Location": url, "DataServiceId": url}
    return Answer(call.route.status, headers=headers)


def action(command: type[Command], find: Finder, change: Change | None = None) -> Handler:
    """Return the handler that gives a command to the resource that ``find`` finds."""

    def handle(call: Call) -> Answer:
        check_conditions(call, find(call))
        call.submit(command_of(call, command, change))
        return acted(call, find(call))

    return handle


def acted(call: Call, target: Target | None) -> Answer:
    """Return the answer to an action or update, without a body."""
    url = call.base + call.request.path
    return Answer(call.route.status, headers={**modified(call, target), "DataServiceId": url})


def removal(command: type[Command], find: Finder) -> Handler:
    """Return the handler that deletes the resource that ``find`` finds."""

    def handle(call: Call) -> Answer:
        check_conditions(call, find(call))
        call.submit(command_of(call, command))
        return Answer(call.route.status)

    return handle


# -- reading ---------------------------------------------------------------------------------------------------------


def one(call: Call, name: str, body: answers.Body, target: Target | None, stats: answers.Body | None = None) -> Answer:
    """Return the answer with one resource.

    Args:
        call: The call.
        name: The name of its set in ``odata.metadata``.
        body: The resource.
        target: Where it is and when it was modified.
        stats: Its statistics, if ``$expand`` may ask for them.
    """
    check_conditions(call, target)
    if stats is not None:
        body = {**body, "stats": stats}
    head = {"odata.metadata": answers.metadata(call.base, f"{name}/@Element")}
    return answers.json_body(call.route.status, {**head, **paging.selection(call)(body)}, modified(call, target))


def existence(find: Finder) -> Handler:
    """Return the handler that says whether a resource exists; the answer has no body."""

    def handle(call: Call) -> Answer:
        target = find(call)
        if target is None:
            return Answer(404)
        check_conditions(call, target)
        return Answer(call.route.status, headers=modified(call, target))

    return handle
