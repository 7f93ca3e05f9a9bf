"""Parts of messages: a short form of a value, and the nearest name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from engine.base.shortening import first_of, quoted

_LONGEST = 100  # the cost is the product of the lengths, and names are shorter than this


def shown(value: object) -> str:
    """Return a short form of a value as in the file."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return quoted(value)


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name most similar to ``word``, without regard to case, or None."""
    if len(word) > _LONGEST:
        return None
    by_folded = {name.casefold(): name for name in names}
    found = get_close_matches(word.casefold(), by_folded, 1)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``: did you mean 'x'?``, or an empty text if no name is near."""
    near = nearest(word, names)
    return f": did you mean {shown(near)}?" if near else ""


def one_of(word: str, names: Iterable[str]) -> str:
    """Return ``did_you_mean``, or a list of a few names if none is near."""
    listed = list(names)
    if nearest(word, listed) or not listed:
        return did_you_mean(word, listed)
    return f": can be {first_of(listed)}"


def does_not_exist(word: object, names: Iterable[str]) -> str:
    """Return the message about a word that is none of ``names``."""
    return f"{shown(word)} does not exist here" + one_of(word if isinstance(word, str) else "", names)
