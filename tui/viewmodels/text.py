"""Text with roles: spans and lines, functions that cut, join and wrap them, and blocks of properties laid out as lines.

The rules of the service are lines too: their text, where they come from, and the code behind them. Citations of rules
in a text, such as ``(PREP-16)``, are dimmed, so that the sentence can be read without them.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import cache, lru_cache
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from engine.base import rulebook
from engine.base.rulebook import Chapter
from engine.base.values import lazy_regex, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engine.base.rulebook import Rule


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
    """A piece of text. ``is_fill`` draws the role's colour as background; ``is_pale`` mixes it with the background.

    A span with ``leads_to`` is a link: to the detail page of an item, or to an action of the main screen.
    """

    text: str
    role: Role = Role.PLAIN
    is_fill: bool = False
    is_underlined: bool = False
    is_pale: bool = False
    leads_to: ItemRef | str | None = None


Line = tuple[Span, ...]
WHOLE = 10_000  # cells, in which any line has room
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
    return "".join(map(_TEXT, spans))


def width(spans: Iterable[Span]) -> int:
    """Return the number of cells that a line takes."""
    return sum([cell_len(span.text) for span in spans])


_BLANKS = {ord("\n"): " ", ord("\t"): " "}


def shown(text: str) -> str:
    """Return the text as one line of cells: control characters as escapes, line breaks and tabs as spaces."""
    return text if text.isprintable() else visible(text).translate(_BLANKS)


def shown_spans(spans: Line) -> Line:
    """Return a line with the texts of its spans as they are shown."""
    return tuple(span if span.text.isprintable() else span._replace(text=shown(span.text)) for span in spans)


def one_line(text: str) -> str:
    """Return the text with single spaces in place of line breaks and indents."""
    return " ".join(text.split())


def clip(text: str, cells: int) -> str:
    """Return the text, cut to ``cells``; an ellipsis shows that something is missing."""
    if not text.isprintable():
        text = shown(text)
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(0, cells - 1)) + "…" if cells > 0 else ""


def fit(text: str, cells: int, *, right: bool = False) -> str:
    """Return the text in exactly ``cells`` cells."""
    text = clip(text, cells)
    gap = " " * (cells - cell_len(text))
    return gap + text if right else text + gap


def squeeze(text: str, cells: int) -> str:
    """Return an id, cut to ``cells`` where fewest digits go, best after a third: these tell it from others."""
    if not text.isprintable():
        text = shown(text)
    if cells < 3 or cell_len(text) <= cells or len(text) != cell_len(text):
        return clip(text, cells)
    gone, third = len(text) + 1 - cells, (cells - 1) // 3
    digits = (sum(map(str.isdigit, text[at : at + gone])) for at in range(1, cells - 1))
    _, _, head = min((count, abs(at - third), at) for at, count in enumerate(digits, start=1))
    return f"{text[:head]}…{text[head + gone :]}"


def squeezed(names: Sequence[str], cells: int) -> list[str]:
    """Return ids, the longest ones cut in the middle, so that together they take at most ``cells`` if they can."""
    names = list(map(shown, names))
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
    left, right = shown_spans(left), shown_spans(right)
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


def as_fits(parts: Sequence[Line], cells: int, left_out: Callable[[int], str]) -> Line:
    """Return the first of the parts that fit, and what ``left_out`` says of the others, from so many on."""
    for shown in range(len(parts), 0, -1):
        more = (Span(left_out(shown), Role.DIM),) if shown < len(parts) else ()
        found = (*chain.from_iterable(parts[:shown]), *more)
        text = plain(found)
        if len(text) <= cells:
            return found
        if len(text.rstrip()) <= cells:
            return cut(found, cells)
    return cut((Span(left_out(0), Role.DIM),), cells) if parts else ()


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
    for paragraph in visible(text).replace("\t", " ").split("\n"):
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


def paragraph(text: str, cells: int, role: Role = Role.PLAIN, indent: str = "") -> list[Line]:
    """Return a text in lines of at most so many cells, all in one role."""
    return [line(Span(f"{indent}{each}", role)) for each in wrapped(text, cells - len(indent))]


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


_MOST_LABEL = 22
_LEAST_COLUMN, _COLUMN_GAP = 36, 3  # cells of blocks beside one another
_MOST_BESIDE = 2  # lines of a value beside its label
_LONGEST_VALUE = 2_000  # characters; Y copies the whole value


class Block(NamedTuple):
    """A heading with the label and value of each property."""

    title: str
    rows: tuple[tuple[str, Span], ...]


def row(label: str, value: object, role: Role = Role.PLAIN) -> tuple[str, Span]:
    """Return a property of a block. None and empty text are shown as a dash."""
    text = "–" if value is None or value == "" else str(value)
    return shown(label), Span(text, role if value is not None else Role.DIM)


def block(title: str, *rows: tuple[str, Span]) -> Block:
    """Return a block with these rows."""
    return Block(title, rows)


def block_of(title: str, rows: Iterable[tuple[str, Span]]) -> list[Block]:
    """Return a block with these rows; nothing without rows."""
    kept = tuple(rows)
    return [Block(title, kept)] if kept else []


def error_blocks(title: str, errors: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]) -> list[Block]:
    """Return code, message and values of each error; nothing if there is none."""
    rows = []
    for code, message, values in errors:
        rows += [row(code, message, Role.FAILED), *(row(f"  {name}", value) for name, value in values)]
    return block_of(title, rows)


def block_lines(blocks: Iterable[Block], cells: int) -> list[Line]:
    """Return the blocks below one another.

    Long values continue on the next line, or stand below their label if that takes fewer lines. Very long ones are
    shortened.
    """
    lines: list[Line] = []
    for block in blocks:
        if lines:
            lines.append(())
        lines.append(line(Span(block.title, Role.STRONG)))
        longest = max((len(label) for label, _ in block.rows), default=0)
        label_cells = min(longest, _MOST_LABEL, cells * 3 // 5)
        indent = label_cells + 2 if longest else 2
        for label, value in block.rows:
            lines += _row_lines(label, value, indent, cells)
    return lines


@lru_cache(maxsize=1024)
def _row_lines(label: str, value: Span, indent: int, cells: int) -> Sequence[Line]:
    """Return the lines of a property; of one block few change from frame to frame."""
    heading = f"{label} ".ljust(indent)
    text = shortened(value.text, _LONGEST_VALUE)
    texts = wrapped(text, max(8, cells - len(heading)))
    if len(texts) > _MOST_BESIDE and len(below := wrapped(text, max(8, cells - 2))) + 1 < len(texts):
        texts, indent = ["", *below], 2
    first = line(Span(heading, Role.DIM), value._replace(text=texts[0]))
    return first, *(line(" " * indent, value._replace(text=rest)) for rest in texts[1:])


def block_columns(blocks: Sequence[Block], cells: int) -> list[Line]:
    """Return the blocks in as many columns of about the same height as there is room for.

    Columns are equally wide unless one of them has longer values: it gets what the others do not need.
    """
    number = max(1, min(len(blocks), (cells + _COLUMN_GAP) // (_LEAST_COLUMN + _COLUMN_GAP)))
    if number == 1:
        return block_lines(blocks, cells)
    equal = (cells - _COLUMN_GAP * (number - 1)) // number
    heights = [len(block_lines([block], equal)) + 1 for block in blocks]
    columns: list[list[Block]] = [[]]
    height, left = 0, sum(heights)
    for block, lines in zip(blocks, heights, strict=True):
        rest = number - len(columns)
        if columns[-1] and rest and height + lines // 2 > (left + height) / (rest + 1):
            columns.append([])
            height = 0
        columns[-1].append(block)
        height, left = height + lines, left - lines
    widths = _shared(cells - _COLUMN_GAP * (len(columns) - 1), [max(map(_natural_width, each)) for each in columns])
    found: list[Line] = []
    for column, width in zip(reversed(columns), reversed(widths), strict=True):
        lines_of_it = block_lines(column, width)
        found = beside(lines_of_it, found, width, _COLUMN_GAP) if found else lines_of_it
    return found


def _natural_width(block: Block) -> int:
    """Return the cells of a block in which no value continues on another line."""
    label_cells = min(max((len(label) for label, _ in block.rows), default=0), _MOST_LABEL)
    return max((max(label_cells, len(label)) + 2 + cell_len(value.text) for label, value in block.rows), default=0)


def _shared(cells: int, needs: Sequence[int]) -> list[int]:
    """Return the width of each column: equal ones, but those that need less leave it to the others."""
    widths = [0] * len(needs)
    by_need = sorted(range(len(needs)), key=needs.__getitem__)
    is_tight = max(needs) > cells // len(needs)
    for number, at in enumerate(by_need):
        share = (cells - sum(widths)) // (len(needs) - number)
        widths[at] = min(needs[at], share) if is_tight and number + 1 < len(needs) else share
    return widths


_LIKE_AN_ID = lazy_regex(r"[A-Z]-[1-9]")  # without it the rulebook need not be read


def dim_citations(spans: Line, text: str) -> Line:
    """Return the line, whose plain text is given, with ids of rules dimmed where they stand in brackets."""
    if not _LIKE_AN_ID.search(text) or not any(_citation().search(span.text) for span in spans):
        return spans
    return tuple(piece for span in spans for piece in _cited_pieces(span))


def _cited_pieces(span: Span) -> Iterator[Span]:
    if span.is_fill or span.role is Role.DIM:
        yield span
        return
    for number, text in enumerate(_citation().split(span.text)):
        if text:
            yield span._replace(text=text, role=Role.DIM) if number % 2 else span._replace(text=text)


@cache
def _citation() -> re.Pattern[str]:
    """Return the pattern of an id with its brackets; a list of ids may begin on the line before."""
    prefixes = "|".join(chapter.prefix for chapter in rulebook.chapters())
    return re.compile(rf"((?:^ *|[(\[]|(?<=, ))(?:{prefixes})-[1-9][0-9]*[)\],])")


_ID_CELLS, _NOTE_CELLS = 11, 8
_NARROWEST = 10


def rule_lines(parts: Sequence[Chapter | Rule], cells: int, *, with_code: bool = False) -> list[Line]:
    """Return chapters and rules in so many cells: a chapter as the texts of its rules, a rule with all about it.

    The modules behind a rule are named if ``with_code``.
    """
    lines: list[Line] = []
    for part in parts:
        if lines:
            lines.append(())
        lines += _chapter(part, cells) if isinstance(part, Chapter) else _rule(part, cells, with_code=with_code)
    return lines


def _chapter(chapter: Chapter, cells: int) -> list[Line]:
    lines = [line(Span(f"{chapter.prefix}: {chapter.title}", Role.STRONG))]
    lines += [line(each) for each in wrapped(_plain(chapter.about), cells)]
    lines.append(())
    for rule in chapter.rules:
        lines += _text(rule, cells) + _note("Option", _plain(rule.option), cells)
    return lines


def _rule(rule: Rule, cells: int, *, with_code: bool) -> list[Line]:
    code = ", ".join(rule.modules) or rule.reason
    return [
        *_text(rule, cells),
        *_note("Source", ", ".join(rule.sources), cells),
        *_note("Seen in", ", ".join(rule.recordings), cells),
        *_note("Reports", ", ".join(rule.reports), cells),
        *_note("Option", _plain(rule.option), cells),
        *_note("Code", code if with_code else "", cells),
    ]


def _text(rule: Rule, cells: int) -> list[Line]:
    """Return the id, and beside it what the rule says."""
    return labelled(Span(rule.id, Role.STRONG), _ID_CELLS, _plain(rule.text), cells)


def _note(name: str, said: str, cells: int) -> list[Line]:
    """Return a remark under a rule, in dim letters; nothing where there is nothing to say."""
    lead_cells = _ID_CELLS + _NOTE_CELLS
    texts = wrapped(said, max(_NARROWEST, cells - lead_cells)) if said else []
    leads = [f"{'':{_ID_CELLS}}{name:<{_NOTE_CELLS}}", *[" " * lead_cells] * len(texts)]
    return [line(Span(lead + text, Role.DIM)) for lead, text in zip(leads, texts, strict=False)]


def _plain(markdown: str) -> str:
    return markdown.replace("`", "")
