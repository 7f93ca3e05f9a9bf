"""Paths and filters of requests: the routing table, and the grammar and meaning of ``$filter``.

The table has every operation of API 2025-06-01, and those that only older clients know (GEN-11, GEN-18). A filter is a
condition on the body of a resource (GEN-8).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from lark import Lark, Token, Transformer
from lark.exceptions import LarkError, VisitError

from engine.base.errors import BatchError
from engine.base.values import parse_utc
from engine.rest.messages import bad_parameter

if TYPE_CHECKING:
    from collections.abc import Iterable


class Route(NamedTuple):
    """An operation: its method, its path with the names of parameters in braces, its id, and the status of success."""

    method: str
    path: str
    operation: str
    status: int


_HOOKS = "jobpreparationandreleasetaskstatus"

CURRENT = (
    Route("GET", "/applications", "list_applications", 200),
    Route("GET", "/applications/{applicationId}", "get_application", 200),
    Route("POST", "/jobs", "create_job", 201),
    Route("GET", "/jobs", "list_jobs", 200),
    Route("DELETE", "/jobs/{jobId}", "delete_job", 202),
    Route("GET", "/jobs/{jobId}", "get_job", 200),
    Route("PATCH", "/jobs/{jobId}", "update_job", 200),
    Route("PUT", "/jobs/{jobId}", "replace_job", 200),
    Route("POST", "/jobs/{jobId}/addtaskcollection", "create_task_collection", 200),
    Route("POST", "/jobs/{jobId}/disable", "disable_job", 202),
    Route("POST", "/jobs/{jobId}/enable", "enable_job", 202),
    Route("GET", f"/jobs/{{jobId}}/{_HOOKS}", "list_job_preparation_and_release_task_status", 200),
    Route("GET", "/jobs/{jobId}/taskcounts", "get_job_task_counts", 200),
    Route("POST", "/jobs/{jobId}/tasks", "create_task", 201),
    Route("GET", "/jobs/{jobId}/tasks", "list_tasks", 200),
    Route("DELETE", "/jobs/{jobId}/tasks/{taskId}", "delete_task", 200),
    Route("GET", "/jobs/{jobId}/tasks/{taskId}", "get_task", 200),
    Route("PUT", "/jobs/{jobId}/tasks/{taskId}", "replace_task", 200),
    Route("GET", "/jobs/{jobId}/tasks/{taskId}/files", "list_task_files", 200),
    Route("DELETE", "/jobs/{jobId}/tasks/{taskId}/files/{filePath}", "delete_task_file", 200),
    Route("GET", "/jobs/{jobId}/tasks/{taskId}/files/{filePath}", "download_task_file", 200),
    Route("HEAD", "/jobs/{jobId}/tasks/{taskId}/files/{filePath}", "get_task_file_properties", 200),
    Route("POST", "/jobs/{jobId}/tasks/{taskId}/reactivate", "reactivate_task", 204),
    Route("GET", "/jobs/{jobId}/tasks/{taskId}/subtasksinfo", "list_subtasks", 200),
    Route("POST", "/jobs/{jobId}/tasks/{taskId}/terminate", "terminate_task", 204),
    Route("POST", "/jobs/{jobId}/terminate", "terminate_job", 202),
    Route("POST", "/jobschedules", "create_job_schedule", 201),
    Route("GET", "/jobschedules", "list_job_schedules", 200),
    Route("HEAD", "/jobschedules/{jobScheduleId}", "job_schedule_exists", 200),
    Route("DELETE", "/jobschedules/{jobScheduleId}", "delete_job_schedule", 202),
    Route("GET", "/jobschedules/{jobScheduleId}", "get_job_schedule", 200),
    Route("PATCH", "/jobschedules/{jobScheduleId}", "update_job_schedule", 200),
    Route("PUT", "/jobschedules/{jobScheduleId}", "replace_job_schedule", 200),
    Route("POST", "/jobschedules/{jobScheduleId}/disable", "disable_job_schedule", 204),
    Route("POST", "/jobschedules/{jobScheduleId}/enable", "enable_job_schedule", 204),
    Route("GET", "/jobschedules/{jobScheduleId}/jobs", "list_jobs_from_schedule", 200),
    Route("POST", "/jobschedules/{jobScheduleId}/terminate", "terminate_job_schedule", 202),
    Route("GET", "/nodecounts", "list_pool_node_counts", 200),
    Route("POST", "/pools", "create_pool", 201),
    Route("GET", "/pools", "list_pools", 200),
    Route("DELETE", "/pools/{poolId}", "delete_pool", 202),
    Route("HEAD", "/pools/{poolId}", "pool_exists", 200),
    Route("GET", "/pools/{poolId}", "get_pool", 200),
    Route("PATCH", "/pools/{poolId}", "update_pool", 200),
    Route("POST", "/pools/{poolId}/disableautoscale", "disable_pool_auto_scale", 200),
    Route("POST", "/pools/{poolId}/enableautoscale", "enable_pool_auto_scale", 200),
    Route("POST", "/pools/{poolId}/evaluateautoscale", "evaluate_pool_auto_scale", 200),
    Route("GET", "/pools/{poolId}/nodes", "list_nodes", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}", "get_node", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/deallocate", "deallocate_node", 202),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/disablescheduling", "disable_node_scheduling", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/enablescheduling", "enable_node_scheduling", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/extensions", "list_node_extensions", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/extensions/{extensionName}", "get_node_extension", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/files", "list_node_files", 200),
    Route("DELETE", "/pools/{poolId}/nodes/{nodeId}/files/{filePath}", "delete_node_file", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/files/{filePath}", "download_node_file", 200),
    Route("HEAD", "/pools/{poolId}/nodes/{nodeId}/files/{filePath}", "get_node_file_properties", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/reboot", "reboot_node", 202),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/reimage", "reimage_node", 202),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/remoteloginsettings", "get_node_remote_login_settings", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/start", "start_node", 202),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/uploadbatchservicelogs", "upload_node_logs", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/users", "create_node_user", 201),
    Route("DELETE", "/pools/{poolId}/nodes/{nodeId}/users/{userName}", "delete_node_user", 200),
    Route("PUT", "/pools/{poolId}/nodes/{nodeId}/users/{userName}", "replace_node_user", 200),
    Route("POST", "/pools/{poolId}/removenodes", "remove_nodes", 202),
    Route("POST", "/pools/{poolId}/resize", "resize_pool", 202),
    Route("POST", "/pools/{poolId}/stopresize", "stop_pool_resize", 202),
    Route("POST", "/pools/{poolId}/updateproperties", "replace_pool_properties", 204),
    Route("GET", "/poolusagemetrics", "list_pool_usage_metrics", 200),
    Route("GET", "/supportedimages", "list_supported_images", 200),
)
"""The operations of API version 2025-06-01, by their ids in its schema."""

_CERTIFICATE = "/certificates(thumbprintAlgorithm={thumbprintAlgorithm},thumbprint={thumbprint})"

OLDER = (
    Route("POST", "/certificates", "add_certificate", 201),
    Route("GET", "/certificates", "list_certificates", 200),
    Route("GET", _CERTIFICATE, "get_certificate", 200),
    Route("DELETE", _CERTIFICATE, "delete_certificate", 202),
    Route("POST", f"{_CERTIFICATE}/canceldelete", "cancel_certificate_deletion", 204),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/rdp", "get_remote_desktop_file", 200),
    Route("POST", "/pools/{poolId}/upgradeos", "upgrade_pool_os", 202),
)
"""The operations that later API versions have dropped (GEN-15)."""

ROUTES = CURRENT + OLDER


class Match(NamedTuple):
    """A route and the values of its path parameters, decoded."""

    route: Route
    names: Mapping[str, str]


_PARAMETER = re.compile(r"\\\{(\w+)\\\}")
_LONGEST_PATH = 8192


def _pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of a path that is still percent-encoded.

    A parameter is one segment. Only the path of a file may contain slashes: some clients do not encode them.
    """

    def group(parameter: re.Match[str]) -> str:
        name = parameter[1]
        characters = "." if name == "filePath" else "[^/,)]" if name.startswith("thumbprint") else "[^/]"
        return f"(?P<{name}>{characters}+)"

    return re.compile(_PARAMETER.sub(group, re.escape(path)) + "/?", re.IGNORECASE | re.DOTALL)


def _collection(path: str) -> str:
    """Return the first segment of a path in lower case, without the parameters of a certificate."""
    return path.split("/", 2)[1].partition("(")[0].lower() if path.startswith("/") else ""


def _by_collection(routes: Iterable[Route]) -> dict[str, list[tuple[re.Pattern[str], Route]]]:
    table: dict[str, list[tuple[re.Pattern[str], Route]]] = {}
    for route in routes:
        table.setdefault(_collection(route.path), []).append((_pattern(route.path), route))
    return table


_TABLE = _by_collection(ROUTES)


def find_route(method: str, path: str) -> Match:
    """Return the route of a request and its path parameters.

    Args:
        method: The HTTP method.
        path: The path as it stood in the request line, percent-encoded, so that an encoded slash is not a separator.
            An endpoint that a client has with a slash at the end brings in a second one at the beginning.

    Raises:
        BatchError: ResourceNotFound if no operation has this path, UnsupportedHttpVerb if none has it with this method.
    """
    if len(path) > _LONGEST_PATH:
        raise BatchError("InvalidUri", "the path is too long")
    path = "/" + path.lstrip("/")
    allowed: list[str] = []
    for pattern, route in _TABLE.get(_collection(path), ()):
        found = pattern.fullmatch(path)
        if found is None:
            continue
        if route.method == method:
            return Match(route, {name: _decoded(value) for name, value in found.groupdict().items()})
        allowed.append(route.method)
    if allowed:
        raise BatchError("UnsupportedHttpVerb", f"allowed here: {', '.join(sorted(set(allowed)))}")
    raise BatchError("ResourceNotFound", "there is no such path")


def _decoded(value: str) -> str:
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise BatchError("InvalidUri", "the path is not UTF-8") from None


Body = Mapping[str, Any]
Condition = Callable[[Body], bool]
Value = str | int | float | bool | datetime | None

LONGEST = 4096
"""The most characters of a filter."""

_DEEPEST = 32  # brackets within each other

_GRAMMAR = r"""
?start: either
?either: both (_OR both)*
?both: term (_AND term)*
?term: "(" either ")"
     | comparison
     | _NOT "(" either ")"                                      -> negation
     | FUNCTION "(" argument "," argument ")" (OPERATOR literal)?   -> call
comparison: operand OPERATOR operand
?argument: operand
?operand: literal | property
property: NAME ("/" NAME)*
literal: MOMENT | TEXT | NUMBER | CONSTANT

_OR.3: /or\b/i
_AND.3: /and\b/i
_NOT.3: /not\b/i
OPERATOR.3: /(eq|ne|gt|ge|lt|le)\b/i
FUNCTION.3: /(startswith|endswith|substringof|contains)(?=\s*\()/i
CONSTANT.3: /(true|false|null)\b/i
MOMENT.4: /datetime(offset)?'[^']*'/i
TEXT: /'([^']|'')*'/
NUMBER: /-?\d{1,18}(\.\d{1,18})?(?![\w.])/
NAME: /[A-Za-z_][\w.@]*/
%ignore /\s+/
"""

_PARSER = Lark(_GRAMMAR, parser="lalr", maybe_placeholders=False)

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
_FUNCTIONS: dict[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda text, part: part in text,
    "substringof": lambda part, text: part in text,
}
_MOMENT = re.compile(r"datetime(?:offset)?'([^']*)'", re.IGNORECASE)


def condition(text: str) -> Condition:
    """Return the condition that a filter states.

    Raises:
        BatchError: InvalidQueryParameterValue for a filter that is too long, nested too deeply, or not understood.
    """
    if len(text) > LONGEST or _depth(text) > _DEEPEST:
        raise bad_parameter("$filter", text, "the filter is too long or nested too deeply")
    return _parsed(text)


@lru_cache(maxsize=64)
def _parsed(text: str) -> Condition:
    try:
        tree = _PARSER.parse(text)
        made: Condition = _Conditions().transform(tree)
    except VisitError as error:
        raise bad_parameter("$filter", text, str(error.orig_exc)) from None
    except LarkError as error:
        column = getattr(error, "column", -1)
        where = f" at character {column}" if isinstance(column, int) and column > 0 else ""
        raise bad_parameter("$filter", text, f"the filter is not understood{where}") from None
    return made


def _depth(text: str) -> int:
    """Return how deep brackets are nested, those within literals included."""
    depth = deepest = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest


class _Conditions(Transformer[Token, Condition]):
    """Makes a function of the syntax tree. An operand is a function from a body to a value."""

    def literal(self, parts: list[Token]) -> Callable[[Body], Value]:
        (token,) = parts
        value = _literal(token)
        return lambda _: value

    def property(self, parts: list[Token]) -> Callable[[Body], Value]:
        names = [str(part) for part in parts]
        return lambda body: _property(body, names)

    def comparison(self, parts: list[Any]) -> Condition:
        left, name, right = parts
        compare = _OPERATORS[name.lower()]
        return lambda body: _compared(compare, left(body), right(body))

    def call(self, parts: list[Any]) -> Condition:
        name, first, second, *expected = parts
        function = _FUNCTIONS[name.lower()]

        def holds(body: Body) -> bool:
            left, right = first(body), second(body)
            if not (isinstance(left, str) and isinstance(right, str)):
                return False
            return function(left.lower(), right.lower())

        if not expected:
            return holds
        compare, value = _OPERATORS[expected[0].lower()], expected[1]
        return lambda body: _compared(compare, holds(body), value(body))

    def negation(self, parts: list[Condition]) -> Condition:
        (inner,) = parts
        return lambda body: not inner(body)

    def either(self, parts: list[Condition]) -> Condition:
        return lambda body: any(part(body) for part in parts)

    def both(self, parts: list[Condition]) -> Condition:
        return lambda body: all(part(body) for part in parts)


def _literal(token: Token) -> Value:
    text = str(token)
    if token.type == "TEXT":
        return text[1:-1].replace("''", "'")
    if token.type == "NUMBER":
        return float(text) if "." in text else int(text)
    if token.type == "CONSTANT":
        return {"true": True, "false": False, "null": None}[text.lower()]
    moment = _MOMENT.fullmatch(text)
    assert moment is not None
    return parse_utc(moment[1])


def _property(body: Any, names: list[str]) -> Any:  # noqa: ANN401 - any JSON
    value = body
    for name in names:
        if not isinstance(value, Mapping):
            return None
        value = value[name] if name in value else _in_any_case(value, name)
    return value


def _in_any_case(body: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - any JSON
    return next((value for key, value in body.items() if key.lower() == name.lower()), None)


def _compared(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:  # noqa: ANN401 - any JSON
    """Compare two values. The case of text is ignored, as in ids and options; null is neither greater nor less."""
    if isinstance(left, datetime) or isinstance(right, datetime):
        left, right = _moment(left), _moment(right)
    if isinstance(left, str) and isinstance(right, str):
        return compare(left.lower(), right.lower())
    is_equality = compare in (operator.eq, operator.ne)
    if left is None or right is None:
        return is_equality and compare(left, right)
    if _is_number(left) and _is_number(right):
        return compare(left, right)
    if type(left) is not type(right) or not isinstance(left, bool | datetime):
        return compare is operator.ne
    return compare(left, right)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _moment(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_utc(value)
    except ValueError:
        return None
