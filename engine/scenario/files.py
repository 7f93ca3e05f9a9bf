"""Finding the text of a scenario: a file, or the name of a bundled one."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import yaml

from engine.base.errors import Problem, ScenarioError
from engine.base.shortening import quoted, with_short_words
from engine.scenario.wording import nearest

BYTE_LIMIT = 64 * 1024 * 1024
_MOST_NAMED = 6
_LONGEST_NAME = 100  # the cost of comparing is the product of the lengths
SUFFIXES = (".yaml", ".yml", ".json")
_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


@dataclass(frozen=True, slots=True)
class ScenarioSource:
    """The source of a scenario: a path or bundled name, and the text."""

    path: str
    text: str = field(repr=False)


def bundled() -> dict[str, Traversable]:
    """Return the bundled scenarios by name, in alphabetical order."""
    found = {
        path.name.removesuffix(".yaml"): path for path in files("scenarios").iterdir() if path.name.endswith(".yaml")
    }
    return dict(sorted(found.items()))


def headline(text: str) -> tuple[str, list[str]]:
    """Return the description of a scenario, without reading the rest of it, and the comments at its beginning."""
    lines = text.splitlines()
    body = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith(("#", "---"))), len(lines))
    comments = [line.removeprefix("#").removeprefix(" ") for line in lines[:body] if line.startswith("#")]
    first = next((at for at in range(body, len(lines)) if lines[at].startswith("description:")), None)
    if first is None:
        return "", comments
    rest = range(first + 1, len(lines))
    stop = next((at for at in rest if lines[at].strip() and not lines[at].startswith((" ", "\t"))), len(lines))
    try:
        described = yaml.safe_load("\n".join(lines[first:stop]))
    except yaml.YAMLError:
        return "", comments
    about = described.get("description") if isinstance(described, dict) else None
    return " ".join(about.split()) if isinstance(about, str) else "", comments


def read_source(path_or_name: str) -> ScenarioSource:
    """Return the text of a scenario; an existing path wins over a bundled name.

    Raises:
        ScenarioError: There is no such scenario, or it is not UTF-8 text.
    """
    content = _read_path(path_or_name)
    if content is None:
        shipped = bundled()
        if path_or_name not in shipped:
            raise _failure(
                with_short_words(path_or_name),
                f"no such file, and no bundled scenario of this name{_near(path_or_name, shipped)}",
            )
        content = shipped[path_or_name].read_bytes()
    return ScenarioSource(path_or_name, decode(content, path_or_name))


def decode(content: bytes, file: str) -> str:
    """Decode a file's bytes as UTF-8; raise ScenarioError with the position of the first wrong byte."""
    if len(content) > BYTE_LIMIT:
        raise _failure(file, f"larger than {BYTE_LIMIT // 1024 // 1024} MB, which no scenario is")
    for mark, name in _OTHER_ENCODINGS:
        if content.startswith(mark):
            raise _failure(file, f"is written in {name}: save it as UTF-8", 1, 1)
    zero = content.find(0)
    if zero >= 0:
        raise _failure(file, "is a binary file, not YAML: it contains a zero byte", *_position(content, zero))
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: the byte 0x{content[error.start]:02x} fits no character; save it as UTF-8"
        raise _failure(file, message, *_position(content, error.start)) from None


def _position(content: bytes, index: int) -> tuple[int, int]:
    begin = content.rfind(b"\n", 0, index) + 1
    return content.count(b"\n", 0, index) + 1, len(content[begin:index].decode("utf-8", "replace")) + 1


def _failure(file: str, message: str, line: int = 0, column: int = 0) -> ScenarioError:
    return ScenarioError([Problem(message, "", line, column, file)])


def _read_path(path: str) -> bytes | None:
    """Return the bytes of a file, at most one more than the limit, or None if there is none."""
    try:
        with open(path, "rb") as stream:
            return stream.read(BYTE_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        raise _failure(path, "is a directory, not a scenario" + _scenarios_in(path)) from None
    except PermissionError:
        if Path(path).is_dir():  # Windows reports a directory this way
            raise _failure(path, "is a directory, not a scenario" + _scenarios_in(path)) from None
        raise _failure(path, "may not be read: permission denied") from None
    except (OSError, ValueError) as error:
        raise _failure(with_short_words(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _scenarios_in(directory: str) -> str:
    names = listed(Path(directory))
    return f": name one of the files in it, such as {Path(directory) / names[0]}" if names else ""


def listed(directory: Path) -> list[str]:
    """Return the names of the files in a directory that may be scenarios; none if it cannot be read."""
    try:
        return sorted(path.name for path in directory.iterdir() if path.suffix in SUFFIXES)
    except OSError:
        return []


def _near(path_or_name: str, shipped: dict[str, Traversable]) -> str:
    """Return which scenarios may be meant: those whose names begin so, else the most similar ones."""
    path = Path(path_or_name)
    file = nearest(path.name, listed(path.parent))
    names = [name for name in shipped if path_or_name and name.startswith(path_or_name.casefold())]
    if not names:
        names = get_close_matches(path_or_name.casefold()[:_LONGEST_NAME], shipped)
    candidates = ([str(path.parent / file)] if file else []) + names
    every = "`batchdeck scenarios` lists the bundled ones"
    if not candidates:
        return f"; {every}"
    return f": did you mean {' or '.join(map(quoted, candidates[:_MOST_NAMED]))}? {every}"
