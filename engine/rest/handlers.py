"""Handlers that most operations share: create a resource, read it, list it, act on it, delete it.

A handler gets a call: a request, its route, and the simulation. Lists have pages, ``$filter``, ``$select`` and
``$expand`` (GEN-8).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

from engine.base.errors import BatchError, ScenarioError
from engine.rest import messages
from engine.rest.filters import condition
from engine.rest.messages import Answer, bad_parameter, count, parameters
from engine.specs.base import accepted_names
from engine.views.log.latest import LatestTasks, TaskTransitions
from engine.views.rest.account import etag

if TYPE_CHECKING:
    from datetime import datetime

    from engine.rest.messages import Body, Request
    from engine.run.simulation import Simulation
    from engine.specs.command import Command
    from engine.state.tables import NamedRecords
    from engine.views.rest.nodes import DepartedDisk
    from engine.world import World


class Latest:
    """Readers of the log that are kept between calls, so that each call reads only new entries."""

    def __init__(self, simulation: Simulation, departed: Mapping[int, DepartedDisk]) -> None:
        """Create readers that have read nothing yet; ``departed`` are the disks of ``session.KeptFiles``."""
        self.departed = departed
        self.transitions = TaskTransitions(simulation.world)
        self.tasks = LatestTasks(simulation)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operation: its path parameters are in ``names``, its query parameters by lower-case name.

    ``read`` returns the JSON object of a body, with times as the service reads them.
    """

    simulation: Simulation
    latest: Latest
    request: Request
    route: Route
    names: Mapping[str, str]
    query: Mapping[str, str]
    read: Callable[[bytes], dict[str, Any]]

    @property
    def world(self) -> World:
        """The tables of the simulation."""
        return self.simulation.world

    @property
    def now_ms(self) -> int:
        """The simulated moment, in ms since the start of the run."""
        return self.simulation.now_ms

    def moment(self, ms: int) -> datetime:
        """Return the UTC time of a moment of the run."""
        return self.simulation.scenario.start + timedelta(milliseconds=ms)

    def body(self) -> dict[str, Any]:
        """Return the JSON object of the request's body. Raises BatchError: InvalidRequestBody."""
        return self.read(self.request.body)

    def submit(self, command: Command) -> None:
        """Submit a command, see ``submit``. Raises BatchError."""
        submit(self.simulation, command)


def submit(simulation: Simulation, command: Command) -> None:
    """Submit a command of a client, which takes effect at once.

    Raises:
        BatchError: The service refuses the command, its ``simulate`` cannot be read, or the run has ended.
    """
    if simulation.now_ms >= simulation.end_ms:
        raise BatchError("OperationInvalidForCurrentState", "the simulated time of this session is over")
    try:
        simulation.submit(command)
    except ScenarioError as error:
        raise BatchError("InvalidRequestBody", str(error.problems[0])) from None


Handler = Callable[[Call], Answer]


class Route(NamedTuple):
    """An operation: its method, its path with the names of parameters in braces, its id, and the status of success.

    ``handler`` answers its calls.
    """

    method: str
    path: str
    operation: str
    status: int
    handler: Handler


LARGEST_PAGE = 1000

MOST_LOOKED_AT = 2_000  # resources that one request compares with a filter: an empty page with a link is legal

Key = TypeVar("Key", int, str)
Item = TypeVar("Item")
Following = Callable[[Key], Iterable[tuple[Key, "Body"]]]


def page(
    call: Call, name: str, items: Following[Key], first: Key, stats: Callable[[Key], Body] | None = None
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
    result: dict[str, Any] = {"value": found}
    if last is not None and next(rest, None) is not None:
        result["odata.nextLink"] = next_link(call.request, last)
    return described(call, name, result)


def described(call: Call, name: str, body: Body, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer with a body and its ``odata.metadata``, in which its set or type is called ``name``."""
    head = {"odata.metadata": messages.metadata(call.request.base, name)}
    if call.query["api-version"] < _SLOTS_SINCE:
        body = _before_slots({**body, **body.get("taskCounts", {})})
    return messages.json_body(call.route.status, {**head, **body}, headers)


_SLOTS_SINCE = "2020-09-01"


def _before_slots(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a body in the words of API versions that had no task slots (GEN-15)."""
    if isinstance(value, list):
        return [_before_slots(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    renamed = {"taskSlotsPerNode": "maxTasksPerNode"}
    return {renamed.get(name, name): _before_slots(each) for name, each in value.items() if "Counts" not in name}


def present(rows: Sequence[Any], body: Callable[[Any], Body]) -> Following[int]:
    """Return a function that yields row and body of the records after a row that are not deleted."""
    return lambda row: ((each.row, body(each)) for each in islice(rows, row + 1, None) if each.state is not None)


def after(items: Iterable[tuple[Key, Item]], body: Callable[[Item], Body]) -> Following[Key]:
    """Return a function that yields keys and bodies of the items after a key."""
    return lambda last: ((key, body(item)) for key, item in items if key > last)


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
    kept.append(("$skiptoken", base64.urlsafe_b64encode(json.dumps(key).encode()).decode()))
    query = "&".join(f"{quote(name, safe='$')}={quote(value, safe='')}" for name, value in kept)
    return f"{request.base}{request.path}?{query}"


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


class Target(NamedTuple):
    """An existing resource that a request names.

    ``path`` is its own, encoded, from the host on. ``changed_ms`` is the moment of its last modification; nodes, which
    have none, have no entity tag either.
    """

    path: str
    changed_ms: int | None = None


class Resources(NamedTuple):
    """The resources of one kind that have ids of their own: pools, jobs or job schedules.

    ``segment`` is the first one of their paths, ``parameter`` the name of the id in a path. ``record`` returns the one
    that the path names, or refuses the call.
    """

    segment: str
    parameter: str
    table: Callable[[World], NamedRecords[Any]]
    record: Callable[[Call], Any]
    body: Callable[[Call, Any], Body]
    stats: Callable[[Call, Any], Body]

    def _target(self, call: Call, name: str) -> Target | None:
        found = self.table(call.world).find(name)
        return None if found is None else Target(path_of(self.segment, found.id), found.modified_ms)

    def made(self, call: Call, command: Any) -> Target | None:  # noqa: ANN401 - each such command has an id
        """Return the resource that a command has created."""
        return self._target(call, command.id)

    def named(self, call: Call) -> Target | None:
        """Return the resource that the path names, None if there is none."""
        return self._target(call, call.names[self.parameter])

    def get(self, call: Call) -> Answer:
        """Answer with one resource. Raises BatchError if there is none."""
        record = self.record(call)
        stats = self.stats(call, record) if wants_stats(call) else None
        return one(call, self.segment, self.body(call, record), self.named(call), stats)

    def list(self, call: Call) -> Answer:
        """Answer with a page of the resources."""
        rows = self.table(call.world).rows
        listed = present(rows, partial(self.body, call))
        return page(call, self.segment, listed, -1, lambda row: self.stats(call, rows[row]))


Finder = Callable[["Call"], Target | None]


def _nothing(_: Call) -> Target | None:
    """Find nothing: the time of the resource's last modification is not known."""
    return None


FinderOfNew = Callable[["Call", Any], Target | None]
Change = Callable[["Call", dict[str, Any]], Mapping[str, Any]]


def path_of(*parts: str) -> str:
    """Return the path of a resource from the parts of its address, encoded."""
    return "/" + "/".join(quote(part, safe=":") for part in parts)


def check_conditions(call: Call, target: Target | None) -> None:
    """Compare the conditions of the request with the target; without one the command itself will be refused."""
    if target is not None and target.changed_ms is not None:
        tag = etag(call.world, target.changed_ms)
        messages.check_preconditions(call.request, tag, call.moment(target.changed_ms))


def modified(call: Call, target: Target | None) -> dict[str, str]:
    """Return the headers ETag and Last-Modified of a target, if it has any."""
    if target is None or target.changed_ms is None:
        return {}
    return messages.modified_headers(etag(call.world, target.changed_ms), call.moment(target.changed_ms))


_FLAGS = ("force", "recursive")


# -- writing ---------------------------------------------------------------------------------------------------------


def command_of(call: Call, command: type[Command], change: Change | None = None) -> Command:
    """Return the command of a call, read from its path and its body.

    Args:
        call: The call. Of its query, ``force`` and ``recursive`` count if the command has such a property.
        command: The class of the command. Without properties of its own it has no body.
        change: Returns the body to read instead of the one that was sent.

    Raises:
        BatchError: The body or the query is malformed.
    """
    known = {name for field in command.model_fields.values() for name in accepted_names(field)}
    names: dict[str, object] = {name: value for name, value in call.names.items() if name in known}
    names |= {name: messages.flag(call.query, name) for name in _FLAGS if name in known}
    body: Mapping[str, Any] = call.body() if known - set(names) else {}
    if change is not None:
        body = change(call, dict(body))
    return messages.read_body(command, body, names)


def without(*names: str) -> Change:
    """Return the change of a body that leaves out these properties, which are in lower case."""
    return lambda _, body: {name: value for name, value in body.items() if name.lower() not in names}


def creation(command: type[Command], find: FinderOfNew, change: Change | None = None) -> Handler:
    """Return the handler that creates a resource; ``find`` finds it by the command that has created it."""

    def handle(call: Call) -> Answer:
        given = command_of(call, command, change)
        call.submit(given)
        return created(call, find(call, given))

    return handle


def created(call: Call, target: Target | None) -> Answer:
    """Return the answer to a creation: where the new resource is, without a body."""
    headers = modified(call, target)
    if target is not None:
        url = call.request.base + target.path
        headers |= {"Location": url, "DataServiceId": url}
    return Answer(call.route.status, headers=headers)


def action(command: type[Command], find: Finder = _nothing, change: Change | None = None) -> Handler:
    """Return the handler that gives a command to the resource that ``find`` finds."""

    def handle(call: Call) -> Answer:
        check_conditions(call, find(call))
        call.submit(command_of(call, command, change))
        url = call.request.base + call.request.path
        return Answer(call.route.status, headers={**modified(call, find(call)), "DataServiceId": url})

    return handle


def removal(command: type[Command], find: Finder = _nothing) -> Handler:
    """Return the handler that deletes the resource that ``find`` finds."""

    def handle(call: Call) -> Answer:
        check_conditions(call, find(call))
        call.submit(command_of(call, command))
        return Answer(call.route.status)

    return handle


# -- reading ---------------------------------------------------------------------------------------------------------


def one(
    call: Call, name: str, body: messages.Body, target: Target | None, stats: messages.Body | None = None
) -> Answer:
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
    return described(call, f"{name}/@Element", selection(call)(body), modified(call, target))


def existence(find: Finder) -> Handler:
    """Return the handler that says whether a resource exists; the answer has no body."""

    def handle(call: Call) -> Answer:
        target = find(call)
        if target is None:
            return Answer(404)
        check_conditions(call, target)
        return Answer(call.route.status, headers=modified(call, target))

    return handle
