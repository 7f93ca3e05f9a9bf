"""Ids that Batch allows, made of names that it does not allow (GEN-1)."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LONGEST = 64
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_LONGEST_SUFFIX = 8
_DIGITS = 8  # of the hash that tells shortened names apart


def batch_id(name: str) -> str:
    """Return an id that is as similar to the name as Batch allows."""
    text = _NOT_ALLOWED.sub("-", name).strip("-") or "unnamed"
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{text[: LONGEST - _DIGITS - 1]}-{digest}"


def file_name(name: str) -> str:
    """Return a name for a file that is as similar as a file, a blob and a pattern allow."""
    stem, dot, suffix = name.rpartition(".")
    is_suffix = bool(stem) and len(suffix) <= _LONGEST_SUFFIX and not _NOT_ALLOWED.search(suffix)
    return f"{batch_id(stem)}{dot}{suffix}" if is_suffix else batch_id(name)


def batch_ids(names: Iterable[str], make: Callable[[str], str] = batch_id) -> dict[str, str]:
    """Return a different id for each name. A name that is an id already keeps it, unless another differs by case.

    ``make`` makes the id of one name.
    """
    every = list(dict.fromkeys(names))
    wanted = {name: make(name) for name in every}
    found: dict[str, str] = {}
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # the last one that an id of this beginning has got
    for name in sorted(every, key=lambda one: wanted[one] != one):
        text = wanted[name]
        while text.casefold() in taken:
            key = wanted[name].casefold()
            numbers[key] = numbers.get(key, 1) + 1
            ending = f"-{numbers[key]}"
            text = wanted[name][: LONGEST - len(ending)] + ending
        taken.add(text.casefold())
        found[name] = text
    return {name: found[name] for name in every}
