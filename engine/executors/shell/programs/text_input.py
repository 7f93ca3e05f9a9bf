"""The texts that Linux programs read: their operands, standard input, and lines."""

from __future__ import annotations

from collections.abc import Iterator

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Call

WHOLE = lazy_regex(r"\d{1,9}")

_MISSING = "No such file or directory"
_DIRECTORY = "Is a directory"
_REASONS = {
    "head": ("cannot open '{path}' for reading: {reason}", "error reading '{path}': {reason}"),
    "tail": ("cannot open '{path}' for reading: {reason}", "error reading '{path}': {reason}"),
    "sort": ("cannot read: {path}: {reason}", "read failed: {path}: {reason}"),
}
"""The messages of programs with their own words, about a missing file and about a directory."""


def lines_of(text: str, end: str = "\n") -> list[str]:
    """Return the lines of a text without their ends; a last one may have none."""
    lines = text.split(end)
    if not lines[-1]:
        lines.pop()
    return lines


def with_ends(text: str) -> list[str]:
    """Return the lines of a text with their ends, which are line feeds only."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def inputs(call: Call, paths: list[str], *, quiet: bool = False) -> Iterator[tuple[str, str | None]]:
    """Yield each operand with its text, standard input for ``-`` and without operands.

    The text is None if it cannot be read, which is reported unless ``quiet``.
    """
    for path in paths or ["-"]:
        if path in ("-", "/dev/stdin"):
            text: str | None = call.stdin.read()
        else:
            text = call.process.read(path)
            if text is None and not quiet:
                _complain(call, path)
        call.process.run.step(len(text or "") >> 6)
        yield path, text


def _complain(call: Call, path: str) -> None:
    is_directory = call.process.files.is_dir(call.process.key(path))
    form = _REASONS.get(call.name, ("{path}: {reason}",) * 2)[is_directory]
    call.fail(f"{call.name}: {form.format(path=path, reason=_DIRECTORY if is_directory else _MISSING)}")


def all_text(call: Call, paths: list[str]) -> tuple[str, int]:
    """Return the text of all operands together, and 1 if one of them cannot be read."""
    texts: list[str] = []
    status = 0
    for _, text in inputs(call, paths):
        status = status if text is not None else 1
        texts.append(text or "")
    return "".join(texts), status
