"""Reading the files of an import, plain or packed with gzip, with what is wrong at its place."""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn, cast

from engine.base.errors import Problem, ScenarioError
from engine.base.shortening import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"
LINE_LIMIT = 4_096
"""The most bytes of a line. Longer ones are no log, and could fill the memory."""

JSON_LIMIT = 256 << 20
"""The most bytes of a file that is read as a whole."""

_GZIP = b"\x1f\x8b"


class Line(NamedTuple):
    """A line of a file, counted from 1, without its end."""

    number: int
    content: bytes


def name_of(path: str) -> str:
    """Return the name of a file in messages."""
    return "standard input" if path == STDIN else shortened(path, 200)


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked if it is packed with gzip; ``-`` is standard input.

    Raises:
        ScenarioError: It cannot be read, or its packed content is damaged.
    """
    try:
        with open(0 if path == STDIN else path, "rb", closefd=path != STDIN) as stream:
            if stream.peek(2)[:2] == _GZIP:
                with gzip.GzipFile(fileobj=stream) as unpacked:
                    yield cast("BinaryIO", unpacked)
            else:
                yield stream
    except EOFError:
        _fail(path, "ends in the middle of its packed content: get the file again")
    except (gzip.BadGzipFile, zlib.error):
        _fail(path, "its packed content is damaged: get the file again")
    except FileNotFoundError:
        _fail(path, "there is no such file")
    except IsADirectoryError:
        _fail(path, "is a directory: name a file")
    except PermissionError:
        _fail(path, "may not be read: permission denied")
    except (OSError, ValueError) as error:
        _fail(path, f"cannot be read: {getattr(error, 'strerror', None) or error}")


def numbered_lines(stream: BinaryIO, path: str) -> Iterator[Line]:
    """Yield the lines of a file. Raises ScenarioError for one that no log has."""
    number = 0
    while content := stream.readline(LINE_LIMIT + 1):
        number += 1
        if len(content) > LINE_LIMIT:
            _fail(path, f"has more than {LINE_LIMIT:,} bytes: this is no log", number)
        if b"\0" in content:
            _fail(path, "has a zero byte: this is a binary file", number)
        yield Line(number, content.rstrip(b"\r\n"))


def json_document(path: str) -> Any:  # noqa: ANN401 - whatever JSON has
    """Return the JSON of a whole file, plain or packed with gzip. Raises ScenarioError if it is none."""
    with opened(path) as stream:
        content = stream.read(JSON_LIMIT + 1)
    if len(content) > JSON_LIMIT:
        _fail(path, f"has more than {JSON_LIMIT >> 20} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = error.start - before.rfind(b"\n")
        _fail(
            path,
            f"is not UTF-8: the byte 0x{content[error.start]:02x} fits no character",
            before.count(b"\n") + 1,
            column,
        )
    del content
    if not text.strip():
        _fail(path, "the file is empty")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        _fail(path, f"this is not JSON: {error.msg[0].lower()}{error.msg[1:]}", error.lineno, error.colno)
    except (RecursionError, ValueError):  # a number of too many digits
        _fail(path, "this JSON is nested too deep, or has a number of too many digits")


def readable(text: str) -> str:
    """Return text of a file with a sign in place of each half of a character, which no file can be written with."""
    return text.encode("utf-8", "replace").decode()


def _fail(path: str, message: str, line: int = 0, column: int = 1) -> NoReturn:
    raise ScenarioError([Problem(message, "", line, column if line else 0, name_of(path))]) from None
