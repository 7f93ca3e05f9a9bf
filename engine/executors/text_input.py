"""The texts that Linux programs read: their operands, standard input, and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.executors.commands import Call

WHOLE = re.compile(r"\d{1,9}")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their ends; a last one may have none."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def inputs(call: Call, paths: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each operand with its text, standard input for ``-`` and without operands; None if it cannot be read."""
    for path in paths or ["-"]:
        if path in ("-", "/dev/stdin"):
            text: str | None = call.stdin.read()
        else:
            text = call.process.read(path)
            if text is None:
                directory = call.process.files.is_dir(call.process.key(path))
                call.fail(f"{call.name}: {path}: {'Is a directory' if directory else 'No such file or directory'}")
        call.process.run.step(len(text or "") >> 6)
        yield path, text


def all_text(call: Call, paths: list[str]) -> tuple[str, int]:
    """Return the text of all operands together, and 1 if one of them cannot be read."""
    texts: list[str] = []
    status = 0
    for _, text in inputs(call, paths):
        status = status if text is not None else 1
        texts.append(text or "")
    return "".join(texts), status


def write_lines(call: Call, lines: list[str]) -> None:
    """Print lines."""
    if lines:
        call.out.append("\n".join(lines) + "\n")
