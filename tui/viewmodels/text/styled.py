"""Text with roles: what a view model says, and how it is meant, before anybody thinks of colours."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Kind = Literal["node", "task", "job", "job schedule", "pool"]


class ItemRef(NamedTuple):
    """A reference to an item of the run: nodes and tasks by row number, the others by id."""

    kind: Kind
    key: int | str


class Role(Enum):
    """What a piece of text means. The first eight are the categories of states."""

    QUIET = auto()
    RUNNING = auto()
    PREPARING = auto()
    RELEASING = auto()
    OK = auto()
    FAILED = auto()
    TRANSITION = auto()
    OFF = auto()
    PLAIN = auto()
    DIM = auto()  # labels, units, what is not in use
    STRONG = auto()
    DERIVED = auto()  # ours, not the service's
    KEY = auto()  # a key to press
    CURSOR = auto()
    ALERT = auto()  # the past, the end: not to be overlooked


class Span(NamedTuple):
    """A piece of text. ``is_fill`` makes the role's colour the background, ``ground`` that of another one.

    One that leads somewhere is a link: to the blade of a subject, or to what an action of the deck does.
    """

    text: str
    role: Role = Role.PLAIN
    is_fill: bool = False
    is_underlined: bool = False
    ground: Role | None = None
    leads_to: ItemRef | str | None = None


Line = tuple[Span, ...]


def line(*parts: Span | str) -> Line:
    """A line of spans; plain text may be given as it is."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def link(text: str, leads_to: ItemRef | str | None, role: Role = Role.PLAIN) -> Span:
    """Text that leads somewhere; plain text where that is nowhere."""
    return Span(text, role, is_underlined=leads_to is not None, leads_to=leads_to)


def plain(spans: Iterable[Span]) -> str:
    """The text of a line without roles."""
    return "".join(span.text for span in spans)


def width(spans: Iterable[Span]) -> int:
    """How many cells a line takes."""
    return sum(cell_len(span.text) for span in spans)


def clip(text: str, cells: int, mark: str = "…") -> str:
    """The text, cut to so many cells; a mark shows that something is missing."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(0, cells - 1)) + mark if cells > 0 else ""


def fit(text: str, cells: int, *, right: bool = False) -> str:
    """The text in exactly so many cells."""
    text = clip(text, cells)
    gap = " " * (cells - cell_len(text))
    return gap + text if right else text + gap


def heading(text: str, cells: int) -> str:
    """The name of a column, cut to so many cells; whole words need no mark."""
    return text[:cells] if text[cells : cells + 1] == " " else clip(text, cells)


def between(left: Line, right: Line, cells: int) -> Line:
    """Two lines in one of so many cells; where both do not fit, the left one is cut."""
    room = max(0, cells - width(right))
    left = cut(left, max(0, room - 1))
    return (*left, Span(" " * (room - width(left))), *right)


def cut(spans: Line, cells: int) -> Line:
    """The line, cut to so many cells."""
    room = cells
    for number, span in enumerate(spans):
        wide = cell_len(span.text)
        if wide > room:
            return (*spans[:number], span._replace(text=clip(span.text, room)))
        room -= wide
    return spans


def beside(left: Sequence[Line], right: Sequence[Line], cells: int, gap: int = 3) -> list[Line]:
    """Two columns of lines, the left one in so many cells."""
    lines: list[Line] = []
    for at in range(max(len(left), len(right))):
        one = cut(left[at], cells) if at < len(left) else ()
        other = right[at] if at < len(right) else ()
        lines.append((*one, Span(" " * (cells - width(one) + gap)), *other) if other else one)
    return lines


def common_beginning(texts: Sequence[str]) -> str:
    """What all of the texts begin with; empty where there are none."""
    alike = 0
    for letters in zip(*texts, strict=False):
        if len(set(letters)) > 1:
            break
        alike += 1
    return texts[0][:alike] if texts else ""


def wrapped(text: str, cells: int, indent: str = "") -> list[str]:
    """The text in lines of at most so many cells, cut at blanks where there are some."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        current = ""
        for word in paragraph.split(" "):
            candidate = f"{current} {word}" if current else word
            if cell_len(candidate) <= cells - len(indent):
                current = candidate
                continue
            if current:
                lines.append(current)
            while cell_len(word) > cells - len(indent) > 0:
                lines.append(word[: cells - len(indent)])
                word = word[cells - len(indent) :]  # noqa: PLW2901  # the rest of a word longer than a line
            current = word
        lines.append(current)
    return [indent + each for each in lines]


def bar(parts: Sequence[tuple[int, Role, str]], cells: int) -> Line:
    """A bar of so many cells, split in proportion; whatever is not zero has at least one cell."""
    total = sum(count for count, _, _ in parts)
    if total == 0 or cells <= 0:
        return ()
    sizes = [max(1, count * cells // total) if count else 0 for count, _, _ in parts]
    while sum(sizes) != cells:
        step = 1 if sum(sizes) < cells else -1
        sizes[sizes.index(max(sizes))] += step
    return tuple(Span(fill * size, role) for size, (_, role, fill) in zip(sizes, parts, strict=True) if size)
