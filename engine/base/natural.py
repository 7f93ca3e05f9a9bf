"""The natural order of ids, in which people count: n2 before n10."""

from __future__ import annotations

from engine.base.lazy import lazy_regex

_NUMBER = lazy_regex(r"0*(\d+)")


def natural_key(text: str) -> str:
    """Return the sort key of a text: each number counts by its value, not digit by digit."""
    return _NUMBER.sub(lambda found: f"0{chr(len(found[1]))}{found[1]}", text)
