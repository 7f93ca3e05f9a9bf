"""The text of a YAML file before it is parsed, and what the parser says of it, in words for people."""

from __future__ import annotations

import re

import yaml

from engine.base.errors import Position
from engine.base.lazy import lazy_regex
from engine.base.shortening import shortened

MESSAGE_LIMIT = 240
"""The most characters of a message of the parser's, which may quote the file."""

_UNPRINTABLE = lazy_regex("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATES = lazy_regex(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
_LEADING_BLANKS = lazy_regex(r"^[ \t]+", re.MULTILINE)


def unprintable(text: str) -> tuple[str, Position] | None:
    """Return what is wrong with the first character that YAML does not allow, and its position; None if all are."""
    found = _UNPRINTABLE.search(text)
    if found is None:
        return None
    return f"the character U+{ord(found[0]):04X} is not allowed in YAML", _position_of(text, found.start())


def _position_of(text: str, index: int) -> Position:
    line = text.count("\n", 0, index)
    return Position(line + 1, index - (text.rfind("\n", 0, index) + 1) + 1)


def _joined(surrogates: re.Match[str]) -> str:
    high, low = int(surrogates[2], 16), int(surrogates[3], 16)
    return f"{surrogates[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def as_yaml(text: str) -> str:
    """Return JSON as valid YAML: without tabs for indentation and surrogate pairs in escapes."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    text = _LEADING_BLANKS.sub(lambda blanks: blanks[0].replace("\t", " "), text)
    return _SURROGATES.sub(_joined, text)


def syntax_message(error: yaml.MarkedYAMLError, position: Position, text: str) -> str:
    """Return the parser's message as a sentence, with advice for the most common mistakes."""
    message = ", ".join(part for part in (error.context, error.problem) if part) or "this is not YAML"
    lines = text.splitlines()[: position.line]
    if len(lines) == position.line and lines[-1][position.column - 1 : position.column] == "\t":
        message = "a tab: YAML is indented with spaces only"
    elif "mapping values are not allowed" in message:
        message += ": is the indentation right, or does text with ': ' need quotes?"
    elif "expected <document start>" in message:
        message = "the scenario has ended before this line: a file is one mapping, of YAML or of JSON"
    return shortened(message, MESSAGE_LIMIT)
