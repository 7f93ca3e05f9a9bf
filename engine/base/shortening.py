"""Shortening of values that messages, error values and tables quote.

A value may be as long as its author likes, a message may not: ids, keys and command lines are cut in the middle, since
their ends tell them apart. Logs, states and saved scenarios hold values whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.base.lazy import lazy_regex

LONGEST = 80
"""The most characters of a value in a message or table, the dots and quotes included (GEN-19)."""

_DOTS = "..."
_LONG_WORD = lazy_regex(rf"[^\s/\\]{{{LONGEST + 11},}}")  # a quoted value has punctuation around it


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return the text, cut in the middle to ``longest`` characters."""
    if len(text) <= longest:
        return text
    kept = longest - len(_DOTS)
    tail = kept // 2
    return f"{text[: kept - tail]}{_DOTS}{text[len(text) - tail :]}"


def quoted(value: object, longest: int = LONGEST) -> str:
    """Return a value as Python writes it, but null, true and false, cut in the middle to ``longest`` characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str) and len(value) > 2 * longest:
        value = shortened(value, 2 * longest)  # the representation of a long text takes a while
    return shortened(repr(value), longest)


def first_of(texts: Sequence[str]) -> str:
    """Return the first twelve texts, shortened, for a message."""
    return ", ".join(map(shortened, texts[:12])) + (", ..." if len(texts) > 12 else "")


def with_short_words(message: str) -> str:
    """Return a message of another library with its long words cut; the directories of a path are words of their own."""
    return _LONG_WORD.sub(lambda word: shortened(word[0]), message)
