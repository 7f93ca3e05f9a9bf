"""The values of YAML scalars by the core schema of YAML 1.2, which is JSON's."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TypeAlias

import yaml

from engine.base.errors import Position
from engine.base.lazy import lazy_regex
from engine.scenario.wording import shown

DIGIT_LIMIT = 60

Scalar: TypeAlias = "bool | int | float | str | None"
Report: TypeAlias = Callable[[str, Position], None]

_CORE = (
    (lazy_regex(r"~|null|Null|NULL|"), lambda _: None),
    (lazy_regex(r"true|True|TRUE"), lambda _: True),
    (lazy_regex(r"false|False|FALSE"), lambda _: False),
    (lazy_regex(r"[-+]?[0-9]+"), int),
    (lazy_regex(r"0o[0-7]+"), lambda text: int(text[2:], 8)),
    (lazy_regex(r"0x[0-9a-fA-F]+"), lambda text: int(text, 16)),
    (lazy_regex(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
    (lazy_regex(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), lambda text: float(text.replace(".", ""))),
)
_TAGS: dict[str, type | tuple[type, ...]] = {
    "tag:yaml.org,2002:null": type(None),
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": (int, float),
}
_STR_TAGS = ("tag:yaml.org,2002:str", "!")


def scalar_of(event: yaml.ScalarEvent, position: Position, report: Report) -> Scalar:
    """Return the value of a scalar; report one that does not fit its tag."""
    text: str = event.value
    if event.tag in _STR_TAGS or (event.tag is None and not event.implicit[0]):
        return text
    value = _resolved(text, position, report)
    if event.tag is None:
        return value
    wanted = _TAGS.get(event.tag)
    if wanted is None:
        report(f"the tag {shown(event.tag)} has no meaning here: remove it", position)
    elif not isinstance(value, wanted):
        report(f"{shown(text)} is no {event.tag.rpartition(':')[2]}, as its tag says", position)
    return value


def _resolved(text: str, position: Position, report: Report) -> Scalar:
    if text and text[0] not in "~nNtTfF-+.0123456789":
        return text
    for expression, make in _CORE:
        if not expression.fullmatch(text):
            continue
        if len(text) > DIGIT_LIMIT:
            report(f"a number of {len(text)} digits; put it in quotes if text is meant", position)
            return 0
        value = make(text)
        if isinstance(value, float) and not isfinite(value):
            report(f"{text} is not a finite number; put it in quotes if text is meant", position)
            return 0
        return value
    return text
