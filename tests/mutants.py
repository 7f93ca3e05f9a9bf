"""Documents in which something has been changed, as an attacker, an editor, or a damaged disk changes them.

A seed makes the same change everywhere. ``BATCHDECK_MUTANTS=5000`` lets each test try so many.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

FEW = 40
COUNT = int(os.environ.get("BATCHDECK_MUTANTS", FEW))
"""The number of mutants that a test tries."""


def _nested(depth: int, *, in_lists: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if in_lists else {"a": value}
    return value


ODD_TEXTS = (
    *("", " ", "x", "5", "-1", "null", "true", "- a", "{0}", "#", ": ", "é", "\x1b[31m", "\x00", "\x9b2J", "\x7f"),
    *("\u202eabc", "\u2028", "\ud800", "\ufeff", "a\nb", "'", '"', "\\", "../..", "a" * 70, "a" * 5_000, "9" * 5_000),
    *("2026-01-05T08:00:00Z", "2026-01-05", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2026-13-45T99:00:00Z"),
    *("PT0S", "PT5M", "-PT5M", "P1Y", "P10675199DT2H48M5.4775807S", f"PT{'9' * 30}S", f"PT{'9' * 5_000}S", "1 day"),
    *("completed", "active", "leavingpool", "Unusable", "deleting", "small", "standard_d2s_v3", "standard_d999999_v3"),
    *("taskcompletion", "TaskEnded", "failure", "jobschedule", "AllTasksCompleted", "tvm-1_20260105t080000z"),
)
ODD_NUMBERS = (0, 1, 2, -1, 7, 255, 257, 4_000, 10**6, 2**31, 2**63, -(2**63), 10**30, 10**59, 0.5, -0.5, 1e300, 5e-324)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, [], {}, [[]], [{}], [None], {"": 1}, {"a": 1}, {"id": "x"}, ["x", "x"], [1, "x", None]),
    *(_nested(depth, in_lists=in_lists) for depth in (5, 55, 110, 500) for in_lists in (True, False)),
)


def odd_value(random: Random) -> Any:
    """Return a value that hardly any property may have."""
    return copied(random.choice(random.choice((ODD_TEXTS, ODD_NUMBERS, ODD_VALUES))))


def copied(value: Any) -> Any:
    """Return a copy of JSON, however deep it is."""
    return json.loads(json.dumps(value))


def _containers(value: Any) -> list[Any]:
    """Return the lists and mappings in a value that have something in them."""
    found, level = [], [value]
    while level:
        level = [inner for inner in level if isinstance(inner, dict | list) and inner]
        found += level
        level = [each for inner in level for each in (inner.values() if isinstance(inner, dict) else inner)]
    return found


def _all_places(value: Any) -> Iterator[tuple[Any, Any]]:
    for container in _containers(value):
        yield from ((container, key) for key in (container if isinstance(container, dict) else range(len(container))))


def mutated(value: Any, random: Random, changes: int | None = None) -> Any:
    """Return a copy of JSON with one to four changes: values replaced, removed, said twice, exchanged, or nested."""
    value = copied(value)
    for _ in range(changes or random.choice((1, 1, 1, 2, 4))):
        places = list(_all_places(value))
        if not places:
            return value
        container, key = random.choice(places)
        match random.randrange(8):
            case 0:
                del container[key]
            case 1:
                other, name = random.choice(places)
                if name in other if isinstance(other, dict) else name < len(other):
                    container[key] = copied(other[name])
            case 2:
                container[key] = random.choice(([container[key]], {"value": container[key]}, str(container[key])[:99]))
            case 3 if isinstance(container, list):
                container.insert(key, copied(container[key]))
            case 3:
                container[random.choice((key.upper(), f"{key}x", "id", ""))] = container.pop(key)
            case 4 if isinstance(container[key], int | float):
                container[key] = container[key] * random.choice((-1, 0, 1_000, 10**12, 0.3))
            case 4 if isinstance(container[key], str):
                container[key] += random.choice(ODD_TEXTS)
            case _:
                container[key] = odd_value(random)
    return value


_PIECES = (
    *(
        b"\x00",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\n",
        b"\r\n",
        b"\r",
        b'"',
        b"{",
        b"}",
    ),
    *(
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"-",
        b"NaN",
        b"Infinity",
        b"1e999",
        b"9" * 5_000,
        b"[" * 3_000,
        b'{"a":' * 3_000,
        b"\\",
    ),
    *(
        b"\\u0000",
        b"\\ud800",
        b"\x1b]52;c;aGk=\x07",
        b"null",
        b"true",
        b"'",
        b"#",
        b"=",
        b" " * 10_000,
        b"0x" + b"f" * 5_000,
    ),
)


def mutated_bytes(content: bytes, random: Random) -> bytes:
    """Return a file with one to three changes: cut, encoded otherwise, or with pieces put in, removed, or repeated."""
    for _ in range(random.choice((1, 1, 2, 3))):
        at, to = sorted(random.randrange(len(content) + 1) for _ in range(2))
        match random.randrange(9):
            case 0:
                content = content[:at]
            case 1:
                content = content[:at] + content[to:]
            case 2:
                content = content[:to] + content[at:]
            case 3:
                codec = random.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-be", "latin-1"))
                content = content.decode("utf-8", "replace").encode(codec, "replace")
            case 4:
                lines = content.split(b"\n")
                random.shuffle(lines)
                content = b"\n".join(lines)
            case 5 if content:
                place = random.randrange(len(content))
                content = content[:place] + bytes([random.randrange(256)]) + content[place + 1 :]
            case _:
                content = content[:at] + random.choice(_PIECES) + content[at:]
    return content


def written(value: Any) -> str:
    """Return JSON with halves of surrogate pairs as escapes, so that any value can be written to a file."""
    return json.dumps(value)
