"""Text with roles: spans and lines, and functions that cut, join and wrap them."""

from __future__ import annotations

from enum import Enum, auto
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from engine.base.lazy import lazy_regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Kind = Literal["node", "task", "job", "job schedule", "pool", "account"]


class ItemRef(NamedTuple):
    """A reference to an item of the run: nodes and tasks by row number, the others by id."""

    kind: Kind
    key: int | str


class Role(Enum):
    """The meaning of a piece of text. The first nine are the categories of states."""

    __hash__ = object.__hash__  # each exists once; an enumeration would hash the name, in Python

    QUIET = auto()
    RUNNING = auto()
    PREPARING = auto()
    RELEASING = auto()
    OK = auto()
    FAILED = auto()
    TRANSITION = auto()
    OFF = auto()
    PREEMPTED = auto()  # a Spot node whose VM was taken back, which is no failure
    PLAIN = auto()
    DIM = auto()  # labels, units, unused items
    STRONG = auto()
    DERIVED = auto()  # computed here, not reported by the service
    WARNING = auto()  # what is perhaps not meant, or less than was asked for
    KEY = auto()  # a key to press
    CURSOR = auto()
    ALERT = auto()  # the past, the end of the run


class Span(NamedTuple):
    """A piece of text. ``is_fill`` draws the role's colour as background; ``ground`` is the role of the background.

    A span with ``leads_to`` is a link: to the detail page of an item, or to an action of the main screen.
    """

    text: str
    role: Role = Role.PLAIN
    is_fill: bool = False
    is_underlined: bool = False
    ground: Role | None = None
    leads_to: ItemRef | str | None = None


Line = tuple[Span, ...]
_TEXT, _LOOK = itemgetter(0), itemgetter(slice(1, None))  # of a span
_LEAST_TEXT, _LEAST_NAME = 10, 8  # cells beside a label, and of an id that is cut
_PART = lazy_regex(r"[a-z0-9](?=[A-Z])|[-_/.:=,&?]")  # the end of a part of a long word


def line(*parts: Span | str) -> Line:
    """Return a line of spans. Plain text is accepted as it is."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def link(text: str, leads_to: ItemRef | str | None, role: Role = Role.PLAIN) -> Span:
    """Return text that is a link, or plain text if ``leads_to`` is None."""
    return Span(text, role, is_underlined=leads_to is not None, leads_to=leads_to)


def link_at(spans: Line, cell: int) -> ItemRef | str | None:
    """Return where the link at a cell leads to, or None."""
    for span in spans:
        if 0 <= cell < cell_len(span.text):
            return span.leads_to
        cell -= cell_len(span.text)
    return None


def plain(spans: Iterable[Span]) -> str:
    """Return the text of a line without roles."""
    return "".join(span.text for span in spans)


def width(spans: Iterable[Span]) -> int:
    """Return the number of cells that a line takes."""
    return sum([cell_len(span.text) for span in spans])


def one_line(text: str) -> str:
    """Return the text with single spaces in place of line breaks and indents."""
    return " ".join(text.split())


def clip(text: str, cells: int) -> str:
    """Return the text, cut to ``cells``; an ellipsis shows that something is missing."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(0, cells - 1)) + "…" if cells > 0 else ""


def fit(text: str, cells: int, *, right: bool = False) -> str:
    """Return the text in exactly ``cells`` cells."""
    text = clip(text, cells)
    gap = " " * (cells - cell_len(text))
    return gap + text if right else text + gap


def squeeze(text: str, cells: int) -> str:
    """Return an id, cut in the middle to ``cells``: its end distinguishes it from others."""
    if cells < 3 or cell_len(text) <= cells or len(text) != cell_len(text):
        return clip(text, cells)
    tail = cells // 2
    return f"{text[: cells - 1 - tail]}…{text[-tail:]}"


def squeezed(names: Sequence[str], cells: int) -> list[str]:
    """Return ids, the longest ones cut in the middle, so that together they take at most ``cells`` if they can."""
    sizes = [cell_len(name) for name in names]
    while sum(sizes) > cells and max(sizes, default=0) > _LEAST_NAME:
        sizes[sizes.index(max(sizes))] -= 1
    return [squeeze(name, size) for name, size in zip(names, sizes, strict=True)]


def heading(name: str, cells: int, sign: str = "") -> str:
    """Return the name of a column with its ``sign`` in at most ``cells``: whole words of it if one has room."""
    room = cells - len(sign)
    if len(name) > room:
        ends = [at for at, letter in enumerate(name) if letter in " /" and at <= room]
        name = name[: ends[-1]] if ends else clip(name, room)
    return name + sign


def between(left: Line, right: Line, cells: int) -> Line:
    """Return one line of ``cells`` with ``left`` and ``right`` at its ends. The left one is cut if both do not fit."""
    room = max(0, cells - width(right))
    left = cut(left, max(0, room - 1))
    return (*left, Span(" " * (room - width(left))), *right)


def cut(spans: Line, cells: int) -> Line:
    """Return the line, cut to ``cells``."""
    room = cells
    for number, span in enumerate(spans):
        wide = cell_len(span.text)
        if wide > room:
            return (*spans[:number], span._replace(text=clip(span.text, room)))
        room -= wide
    return spans


def split_at(spans: Iterable[Span], cell: int) -> tuple[list[Span], list[Span]]:
    """Return the spans before a cell, and those from it on. All letters must be one cell wide."""
    left: list[Span] = []
    right: list[Span] = []
    for span in spans:
        room = max(0, cell)
        if span.text[:room]:
            left.append(span._replace(text=span.text[:room]))
        if span.text[room:]:
            right.append(span._replace(text=span.text[room:]))
        cell -= len(span.text)
    return left, right


def beside(left: Sequence[Line], right: Sequence[Line], cells: int, gap: int = 3) -> list[Line]:
    """Return two columns of lines, the left one ``cells`` wide."""
    lines: list[Line] = []
    for at in range(max(len(left), len(right))):
        one = cut(left[at], cells) if at < len(left) else ()
        other = right[at] if at < len(right) else ()
        lines.append((*one, Span(" " * (cells - width(one) + gap)), *other) if other else one)
    return lines


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the spans with equally drawn neighbours joined, without empty ones."""
    found: list[Span] = []
    for _, alike in groupby((span for span in spans if span.text), key=_LOOK):
        first, *others = alike
        found.append(first._replace(text="".join([first.text, *map(_TEXT, others)])) if others else first)
    return found


def wrapped(text: str, cells: int) -> list[str]:
    """Return the text in lines of at most ``cells`` cells, broken at spaces where possible."""
    if len(text) <= cells and text.isascii() and text.isprintable() and text[:1] != " ":
        return [text]
    lines: list[str] = []
    for paragraph in text.split("\n"):
        current = ""
        for word in paragraph.split(" "):
            candidate = f"{current} {word}" if current else word
            if len(candidate) <= 2 * cells and cell_len(candidate) <= cells:
                current = candidate
                continue
            if current:
                lines.append(current)
            *whole, current = _pieces(word, cells)
            lines += whole
        lines.append(current)
    return lines


def _pieces(word: str, cells: int) -> list[str]:
    """Return a word in pieces of at most ``cells`` cells."""
    if cells <= 0 or not word:
        return [word]
    if not word.isascii():
        return chop_cells(word, cells)
    found = []
    while len(word) > cells:
        parts = [each.end() for each in _PART.finditer(word, 0, cells + 1) if cells // 2 <= each.end() <= cells]
        end = parts[-1] if parts else cells
        found.append(word[:end])
        word = word[end:]
    return [*found, word]


def labelled(label: Span, label_cells: int, text: str, cells: int) -> list[Line]:
    """Return a label with its text beside it, in as many lines as needed."""
    first, *rest = wrapped(text, max(_LEAST_TEXT, cells - label_cells))
    begin = label._replace(text=fit(label.text, label_cells))
    return [line(begin, first), *(line(" " * label_cells, each) for each in rest)]


def bar(parts: Sequence[tuple[int, Role, str]], cells: int) -> Line:
    """Return a bar of ``cells``, divided in proportion. Every part that is not zero gets at least one cell."""
    total = sum(count for count, _, _ in parts)
    if total == 0 or cells <= 0:
        return ()
    sizes = [max(1, count * cells // total) if count else 0 for count, _, _ in parts]
    while sum(sizes) != cells:
        step = 1 if sum(sizes) < cells else -1
        sizes[sizes.index(max(sizes))] += step
    return tuple(Span(fill * size, role) for size, (_, role, fill) in zip(sizes, parts, strict=True) if size)
