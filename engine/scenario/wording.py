"""Words for problems: what was given, in short, and the nearest right name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 100  # comparing takes the product of the lengths; nobody misspells a name as long as this


def shown(value: object) -> str:
    """A value in a message: short, and as the file would have it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name most like ``word``, compared without regard to case; None when none is like it."""
    if len(word) > _LONGEST:
        return None
    by_folded = {name.casefold(): name for name in names}
    found = get_close_matches(word.casefold(), by_folded, 1)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """``: did you mean 'x'?``, to be put behind a message; empty when no name is near."""
    near = nearest(word, names)
    return f": did you mean {shown(near)}?" if near else ""


def one_of(word: str, names: Iterable[str]) -> str:
    """Like ``did_you_mean``, but lists a few names when none is near."""
    listed = list(names)
    if nearest(word, listed) or not listed:
        return did_you_mean(word, listed)
    shown = ", ".join(listed[:12]) + (", ..." if len(listed) > 12 else "")
    return f": can be {shown}"
