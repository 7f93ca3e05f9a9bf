"""The expressions of deployment templates: their functions, and values that only a deployment knows.

An expression is text between square brackets; its grammar is ``expression.lark``. What a deployment would look up in
Azure (the properties of another resource, its keys) is a stand-in, and so is the present time; each is named, so that
the importer can say what it assumed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache, reduce
from itertools import chain
from typing import Any
from urllib.parse import quote, unquote, urljoin
from uuid import NAMESPACE_URL, uuid5

from lark import Lark, Token, Tree
from lark.exceptions import LarkError, UnexpectedInput

from engine.base.values import quoted, shortened
from engine.scenario.text import nesting

LONGEST = 24_576
"""The most characters of an expression, as of the resource manager."""

_DEEPEST = 64
_MOST_ITEMS = 100_000  # of a range or a copy
SUBSCRIPTION = "00000000-0000-4000-8000-00000000ba7c"
GROUP = "batchdeck"

Value = Any
Function = Callable[..., Value]


class ExpressionError(Exception):
    """What is wrong with an expression."""


class Reference(dict[str, Any]):
    """What a deployment would look up about a resource: any property is a text made of the names."""

    def __init__(self, name: str, assume: Callable[[str], object]) -> None:
        super().__init__()
        self._name, self._assume = name, assume

    def __missing__(self, key: str) -> Value:
        if key in _KINDS:
            return f"https://{self._name}.{key}.core.windows.net/"
        is_part = key in ("keys", "primaryEndpoints", "outputs", "properties", "userAssignedIdentities")
        return self if is_part else self._text(key)

    def _text(self, key: str) -> str:
        self._assume(f"the {key} of {self._name} is a stand-in")
        return f"{key}-of-{self._name}"


_KINDS = ("blob", "queue", "table", "file")


@cache
def _parser() -> Lark:
    return Lark.open("expression.lark", rel_to=__file__, parser="lalr")


def is_expression(text: str) -> bool:
    """Return whether a text is an expression. One that begins with two brackets stands for itself."""
    return text.startswith("[") and text.endswith("]") and not text.startswith("[[")


def evaluate(text: str, functions: Mapping[str, Function]) -> Value:
    """Return the value of an expression.

    Args:
        text: The expression, with its brackets.
        functions: What the template has beside the common functions, by names in lower case.

    Raises:
        ExpressionError: It is malformed, names an unknown function, or has no value.
    """
    if len(text) > LONGEST or nesting(text, "([", ")]") > _DEEPEST:
        raise ExpressionError("the expression is too long or nested too deeply")
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise ExpressionError(f"{shortened(text)} is no expression: column {error.column} is not understood") from None
    except LarkError as error:
        raise ExpressionError(f"{shortened(text)} is no expression: {shortened(str(error))}") from None
    return _Evaluation(functions).of(tree.children[0])


class _Evaluation:
    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions

    def of(self, node: Any) -> Value:  # noqa: ANN401 - lark's trees have no better type
        assert isinstance(node, Tree)
        children = node.children
        match node.data:
            case "text":
                return str(children[0])[1:-1].replace("''", "'")
            case "number":
                return int(str(children[0]))
            case "word":
                if str(children[0]).lower() not in _WORDS:
                    raise ExpressionError(f"{quoted(str(children[0]))} is no function: it has no brackets")
                return _WORDS[str(children[0]).lower()]
            case "member":
                return _member(self.of(children[0]), str(children[1]))
            case "item":
                return _member(self.of(children[0]), self.of(children[1]))
        return self._call([child for child in children if child is not None])

    def _call(self, children: list[Any]) -> Value:
        name = ".".join(str(child) for child in children if isinstance(child, Token))
        arguments = [child for child in children if not isinstance(child, Token)]
        key = name.lower()
        if key == "if" and len(arguments) == 3:  # only one side is evaluated
            return self.of(arguments[1 if self.of(arguments[0]) else 2])
        function = self._functions.get(key) or COMMON.get(key) or (_keys if key.startswith("list") else None)
        if function is None:
            known = get_close_matches(key, (*self._functions, *COMMON), 1)
            hint = f": did you mean {known[0]}?" if known else ""
            raise ExpressionError(f"the function {quoted(name)} is not known{hint}")
        try:
            return function(*map(self.of, arguments))
        except ExpressionError:
            raise
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
            raise ExpressionError(f"{name} cannot be evaluated: {shortened(str(error))}") from None


_WORDS = {"true": True, "false": False, "null": None}


def _member(value: Value, key: Value) -> Value:
    if isinstance(value, Reference):
        return value if isinstance(key, int) else value[str(key)]
    if isinstance(value, Mapping) and isinstance(key, str):
        found = next((name for name in value if str(name).lower() == key.lower()), None)
        if found is None:
            raise ExpressionError(f"there is no property {quoted(key)}")
        return value[found]
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool) and -1 < key < len(value):
        return value[key]
    raise ExpressionError(f"{shortened(json.dumps(value, default=str))} has nothing at {quoted(str(key))}")


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), default=str)


def _concat(*parts: Value) -> Value:
    if parts and all(isinstance(part, list) for part in parts):
        return list(chain(*parts))
    return "".join(map(_text, parts))


def _format(pattern: str, *values: Value) -> str:
    def one(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        value = values[int(found["at"])]
        digits = re.fullmatch(r"[dD](\d{1,2})", found["how"] or "")
        return f"{int(value):0{digits[1]}d}" if digits else _text(value)

    return re.sub(r"\{\{|\}\}|\{(?P<at>\d{1,3})(?::(?P<how>[^}]*))?\}", one, pattern)


def _unique(*parts: Value) -> str:
    digest = hashlib.sha256("-".join(map(_text, parts)).encode()).digest()
    return base64.b32encode(digest).decode().lower()[:13]


def _resource_id(*parts: Value) -> str:
    names = [_text(part) for part in parts]
    at = next((index for index, name in enumerate(names) if "/" in name and "." in name.split("/")[0]), 0)
    provider, *kinds = names[at].split("/")
    pairs = "/".join(chain.from_iterable(zip(kinds, names[at + 1 :], strict=False)))
    head = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{names[at - 1] if at else GROUP}"
    return f"{head}/providers/{provider}/{pairs}"


def _keys(*parts: Value) -> Reference:
    name = _text(parts[0]).rpartition("/")[2] if parts else "resource"
    return Reference(name, lambda _: None)


def _union(*parts: Value) -> Value:
    if all(isinstance(part, Mapping) for part in parts):
        return reduce(lambda one, other: {**one, **other}, parts, {})
    return list(dict.fromkeys(chain(*parts)))


def _intersection(*parts: Value) -> Value:
    first, *rest = parts
    kept = [item for item in first if all(item in other for other in rest)]
    return {key: first[key] for key in kept} if isinstance(first, Mapping) else kept


def _range(first: int, count: int) -> list[int]:
    if not 0 <= count <= _MOST_ITEMS:
        raise ValueError(f"a range of {count} numbers")
    return list(range(first, first + count))


def _padded(value: Value, width: int, filler: str = " ") -> str:
    return _text(value).rjust(min(width, _MOST_ITEMS), filler)


def _split(text: str, by: Value) -> list[str]:
    return re.split("|".join(map(re.escape, [by] if isinstance(by, str) else by)), text)


def _quotient(one: int, other: int) -> int:
    return int(one / other) if abs(one) < 2**53 else one // other


def _as_bool(value: Value) -> bool:
    return value.strip().lower() in ("true", "1") if isinstance(value, str) else bool(value)


def _same(one: Value, other: Value) -> bool:
    return bool(one.lower() == other.lower() if isinstance(one, str) and isinstance(other, str) else one == other)


def _contains(whole: Value, part: Value) -> bool:
    if isinstance(whole, Mapping):
        return _text(part).lower() in (str(key).lower() for key in whole)
    return part in whole


COMMON: Mapping[str, Function] = {
    "concat": _concat,
    "format": _format,
    "string": _text,
    "int": int,
    "bool": _as_bool,
    "float": float,
    "json": json.loads,
    "null": lambda: None,
    "true": lambda: True,
    "false": lambda: False,
    "tolower": str.lower,
    "toupper": str.upper,
    "trim": str.strip,
    "replace": str.replace,
    "split": _split,
    "join": lambda parts, by: by.join(map(_text, parts)),
    "substring": lambda text, begin, length=None: text[begin:] if length is None else text[begin : begin + length],
    "padleft": _padded,
    "startswith": lambda text, part: text.lower().startswith(part.lower()),
    "endswith": lambda text, part: text.lower().endswith(part.lower()),
    "indexof": str.find,
    "lastindexof": str.rfind,
    "uri": urljoin,
    "uricomponent": lambda text: quote(text, safe=""),
    "uricomponenttostring": unquote,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64tostring": lambda text: base64.b64decode(text).decode(),
    "base64tojson": lambda text: json.loads(base64.b64decode(text)),
    "datauri": lambda text: f"data:text/plain;charset=utf8;base64,{base64.b64encode(text.encode()).decode()}",
    "uniquestring": _unique,
    "guid": lambda *parts: str(uuid5(NAMESPACE_URL, "-".join(map(_text, parts)))),
    "resourceid": _resource_id,
    "subscriptionresourceid": _resource_id,
    "tenantresourceid": _resource_id,
    "extensionresourceid": lambda whole, *parts: f"{whole}{_resource_id(*parts).partition(GROUP)[2]}",
    "createarray": lambda *items: list(items),
    "array": lambda one: one if isinstance(one, list) else [one],
    "createobject": lambda *items: dict(zip(items[::2], items[1::2], strict=True)),
    "union": _union,
    "intersection": _intersection,
    "range": _range,
    "length": len,
    "empty": lambda one: not one,
    "first": lambda items: items[0] if items else None,
    "last": lambda items: items[-1] if items else None,
    "take": lambda items, count: items[: max(0, count)],
    "skip": lambda items, count: items[max(0, count) :],
    "coalesce": lambda *items: next((item for item in items if item is not None), None),
    "contains": _contains,
    "equals": _same,
    "not": lambda one: not one,
    "and": lambda *items: all(items),
    "or": lambda *items: any(items),
    "less": lambda one, other: one < other,
    "lessorequals": lambda one, other: one <= other,
    "greater": lambda one, other: one > other,
    "greaterorequals": lambda one, other: one >= other,
    "add": lambda one, other: one + other,
    "sub": lambda one, other: one - other,
    "mul": lambda one, other: one * other,
    "div": _quotient,
    "mod": lambda one, other: one % other,
    "min": lambda *items: min(items[0] if isinstance(items[0], list) else items),
    "max": lambda *items: max(items[0] if isinstance(items[0], list) else items),
    "items": lambda whole: [{"key": key, "value": whole[key]} for key in sorted(whole)],
    "objectkeys": sorted,
    "flatten": lambda items: list(chain(*items)),
    "shallowmerge": lambda items: _union(*items),
    "tryget": lambda whole, key: whole.get(key) if isinstance(whole, Mapping) else None,
    "subscription": lambda: {
        "id": f"/subscriptions/{SUBSCRIPTION}",
        "subscriptionId": SUBSCRIPTION,
        "displayName": GROUP,
        "tenantId": str(uuid5(NAMESPACE_URL, "tenant")),
    },
    "tenant": lambda: {"tenantId": str(uuid5(NAMESPACE_URL, "tenant"))},
    "environment": lambda: {
        "suffixes": {"storage": "core.windows.net", "keyvaultDns": ".vault.azure.net", "acrLoginServer": ".azurecr.io"},
        "resourceManager": "https://management.azure.com/",
        "authentication": {"loginEndpoint": "https://login.microsoftonline.com/"},
    },
}
"""The functions that need nothing of a template, by names in lower case."""
