"""The files on a node: the tree, and the file or directory under its cursor.

Sentences say how long a directory's files are kept, and what will delete them. Of the text of a file only the visible
lines are drawn.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engine.base.paths import APPLICATIONS, MOUNTS, SHARED, STARTUP, VOLATILE, WORKITEMS, name_of, parent
from engine.base.values import natural_key, printable
from engine.views.resources.processes import Deletion, FilePage, Item
from engine.views.resources.processes import DeletionCause as Cause
from tui.viewmodels import format as fmt
from tui.viewmodels.items import OUTPUTS
from tui.viewmodels.text import Line, Role, Span, between, cut, line, squeeze, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.items import FileLocation
    from tui.viewmodels.session import Session

# What will become of a directory, and the rule of that.
_FATES = {
    Cause.RETENTION: ("deleted {span} after its end", "FILE-7"),
    Cause.JOB_DELETED: ("deleted with its job", "JOB-16"),
    Cause.REIMAGED: ("deleted when the node is reimaged", "NOP-12"),
    Cause.DEALLOCATED: ("deleted when the node is deallocated", "NOP-12"),
    Cause.PREEMPTED: ("deleted when the node is preempted", "SPOT-3"),
    Cause.LEFT: ("deleted when the node leaves", "FILE-9"),
}
_JOB_SLASHES = 2  # workitems/<job>/job-1 (FILE-3)
_NAMED = {
    APPLICATIONS: "Application packages of the pool and of tasks, unpacked (APP-7).",
    MOUNTS: "The file systems that the pool mounts (FILE-13).",
    SHARED: "Shared by all tasks. Never cleaned up: a job's release task must delete its files (FILE-8).",
    STARTUP: "The directory of the start task. Its wd is emptied before each run (START-9).",
    VOLATILE: "Used by the service.",
    WORKITEMS: "A directory for each job, with one for each process (JOB-16).",
}


def purpose_of(path: str) -> str:
    """Return the purpose of a directory that every node or job has; empty for any other."""
    is_of_job = path.startswith(f"{WORKITEMS}/") and path.count("/") == _JOB_SLASHES
    return "The directory of a job. It is deleted with the job (JOB-16)." if is_of_job else _NAMED.get(path, "")


def fate_sentence(session: Session, fate: Deletion) -> str:
    """Return what will delete a directory."""
    coming, rule = _FATES[fate.cause]
    said = coming.format(span=fmt.in_words(fate.retention_ms or 0))
    at = "" if fate.when_ms is None else f", at {session.clock(fate.when_ms)}"
    return f"It is {said}{at} ({rule})."


def short_fate(session: Session, fate: Deletion) -> str:
    """Return ``fate_sentence`` in a few words."""
    if fate.when_ms is not None:
        return f"will be deleted at {session.clock(fate.when_ms)}"
    return _FATES[fate.cause][0].format(span=fmt.in_words(fate.retention_ms or 0))


_INDENT = 2


class TreeRow(NamedTuple):
    """A row of the tree: a file or directory, its name, and its depth."""

    item: Item
    name: str
    depth: int


class TreeModel:
    """The visible rows of the tree."""

    def __init__(self, page: FilePage, glyphs: GlyphSet) -> None:
        """Start with all directories closed, and the cursor on the first row."""
        self._page = page
        self._glyphs = glyphs
        self.pointer = glyphs.cursor
        self._open: set[str] = set()
        self.rows: list[TreeRow] = []
        self.at = 0
        self.update()

    def update(self) -> None:
        """Read the page again. The cursor stays on its file, or moves to the nearest directory."""
        self._put_cursor_on(self.path)

    def _put_cursor_on(self, path: str) -> None:
        self.rows = list(self._below("", 0))
        places = {row.item.path: at for at, row in enumerate(self.rows)}
        while path and path not in places:
            path = parent(path)
        self.at = places.get(path, max(0, min(self.at, len(self.rows) - 1)))

    def _below(self, directory: str, depth: int) -> Sequence[TreeRow]:
        rows: list[TreeRow] = []
        for item in self._items(directory):
            rows.append(TreeRow(item, item.path[len(directory) :].lstrip("/"), depth))
            if item.is_directory and item.path in self._open:
                rows += self._below(item.path, depth + 1)
        return rows

    def _items(self, directory: str) -> list[Item]:
        """Return what a directory shows, directories first. A job's directory also stands for its parent."""
        paths: Sequence[str] = self._page.children(directory)
        if directory == WORKITEMS:
            paths = [below for path in paths for below in self._page.children(path)]
        return sorted([item for item in map(self._page.item, paths) if item is not None], key=_order)

    # -- the cursor ----------------------------------------------------------------------------------------------

    @property
    def item(self) -> Item | None:
        """The file or directory under the cursor; None in an empty tree."""
        return self.rows[self.at].item if self.rows else None

    @property
    def path(self) -> str:
        """The path under the cursor."""
        return self.item.path if self.item is not None else ""

    def move_to(self, at: int) -> None:
        """Put the cursor on a row."""
        self.at = max(0, min(at, len(self.rows) - 1))

    def reveal(self, path: str) -> None:
        """Open the directories above a path and put the cursor on it, or on its nearest parent."""
        above = parent(path)
        while above:
            self._open.add(above)
            above = parent(above)
        self._put_cursor_on(path)

    def is_open(self, path: str) -> bool:
        """Return True if a directory is open."""
        return path in self._open

    def open(self, path: str) -> None:
        """Open a directory."""
        self._open.add(path)
        self.update()

    def close(self) -> None:
        """Close the directory under the cursor, or go to its parent."""
        if self.path in self._open:
            self._open.remove(self.path)
            self.update()
        elif self.rows and self.rows[self.at].depth:
            depth = self.rows[self.at].depth
            self.at = next(at for at in range(self.at, -1, -1) if self.rows[at].depth < depth)

    # -- what a row says -----------------------------------------------------------------------------------------

    def line(self, at: int, cells: int) -> Line:
        """Return a row: sign, name and size."""
        row = self.rows[at]
        item = row.item
        indent = " " * (_INDENT * row.depth)
        sign, name = Span(" "), Span(f" {row.name}")
        if item.is_directory:
            sign = Span(self._glyphs.opened if item.path in self._open else self._glyphs.closed, Role.DIM)
            name = Span(f" {row.name}/", Role.STRONG)
        size = Span(fmt.size(item.size), Role.DIM)
        room = cells - len(indent) - 1 - width((size,)) - 1
        return between((Span(indent), sign, name._replace(text=squeeze(name.text, room))), (size,), cells)


def _order(item: Item) -> tuple[bool, str]:
    """Return the sort key: directories before files, numbers in names by value."""
    return not item.is_directory, natural_key(name_of(item.path))


class TextLines:
    """The lines of a text, of which the last one may go on."""

    def __init__(self) -> None:
        self.text = ""
        self._parts = [""]

    def __len__(self) -> int:
        return len(self._parts) - (not self._parts[-1])

    def show(self, text: str) -> None:
        """Take a text; of one that has only grown, what has come."""
        if not text.startswith(self.text):
            self.text, self._parts = "", [""]
        last = self._parts.pop()
        self._parts += text[len(self.text) - len(last) :].split("\n")
        self.text = text

    def line(self, number: int) -> str:
        """Return a line, counted from 0, without its line break."""
        return self._parts[number].rstrip("\r")

    def containing(self, text: str) -> list[int]:
        """Return the numbers of the lines that contain a text, ignoring case."""
        wanted = text.lower()
        return [number for number, line in enumerate(self._parts) if wanted in line.lower()]


def pattern_of(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a text, ignoring case."""
    return re.compile(re.escape(text), re.IGNORECASE)


class TextModel:
    """A text in a window: scrolling and search.

    Lines are numbered from 0; ``found_line`` is the line of the last match.
    """

    def __init__(self, cursor: str) -> None:
        """Start with an empty text; ``cursor`` is the sign beside the line that was found."""
        self.lines = TextLines()
        self._cursor = cursor
        self.cells, self.height = 80, 24
        self.found_line: int | None = None
        self.found: list[int] = []  # the lines that contain the searched text
        self.sought = ""
        self.first, self._left = 0, 0  # the visible line at the top, and the character at the left
        self._pattern: re.Pattern[str] | None = None

    # -- what is shown -------------------------------------------------------------------------------------------

    def show(self, text: str, *, is_other: bool = False) -> None:
        """Show a text. ``is_other`` starts at its top; otherwise it is a newer version of the same text."""
        if is_other:
            self.first, self._left, self.found_line = 0, 0, None
        elif text == self.lines.text:
            return
        self.lines.show(text)
        self._find_again()
        self.scroll(0)

    def fit(self, cells: int, height: int) -> None:
        """Set the size of the window."""
        self.cells, self.height = cells, max(1, height)
        self.scroll(0)

    def _find_again(self) -> None:
        self.found = self.lines.containing(self.sought) if self.sought else []

    @property
    def total(self) -> int:
        """The number of lines of the text."""
        return len(self.lines)

    def rows(self) -> list[Line]:
        """Return the visible lines."""
        return [self._drawn(at) for at in range(self.first, min(self.first + self.height, self.total))]

    def _drawn(self, number: int) -> Line:
        text, gutter_cells = printable(self.lines.line(number).expandtabs(), "?"), len(str(self.total)) + 3
        is_found, matches = number == self.found_line, () if self._pattern is None else self._pattern.finditer(text)
        label = f"{self._cursor if is_found else ' '}{number + 1:>{gutter_cells - 2}} "
        part = text[self._left : self._left + self.cells]  # more than has room, so that the cut shows
        marked = _marked(part, self._left, [match.span() for match in matches])
        return cut((Span(label, Role.KEY if is_found else Role.DIM), *marked), self.cells)

    # -- moving --------------------------------------------------------------------------------------------------

    def scroll(self, rows: int, columns: int = 0) -> None:
        """Scroll by rows, and by characters to the side, as far as the text goes."""
        self.first = max(0, min(self.first + rows, self.total - self.height))
        self._left = max(0, self._left + columns)

    def go_to_line(self, number: int) -> None:
        """Go to a line, at most to the last one."""
        if not self.total:
            return
        self.found_line = at = max(0, min(number, self.total - 1))
        if not self.first <= at < self.first + self.height:
            self.scroll(at - self.height // 3 - self.first)

    # -- looking for something -----------------------------------------------------------------------------------

    def find(self, text: str) -> bool:
        """Search from the current line on, ignoring case. Return True if there is a match."""
        self.sought, self._pattern = text, pattern_of(text) if text else None
        self._find_again()
        return not text or self._go_to_match(bisect_left(self.found, self._here))

    def next_match(self, step: int) -> bool:
        """Go to the next match, or with step -1 to the previous one, wrapping around."""
        at = bisect_right(self.found, self._here) if step > 0 else bisect_left(self.found, self._here) - 1
        return self._go_to_match(at)

    def _go_to_match(self, at: int) -> bool:
        """Go to this match, counted round the text; return False if there is none."""
        if self.found:
            self.go_to_line(self.found[at % len(self.found)])
        return bool(self.found)

    @property
    def match_number(self) -> int | None:
        """The number of the current match, from 1."""
        at = -1 if self.found_line is None else bisect_left(self.found, self.found_line)
        return at + 1 if 0 <= at < len(self.found) and self.found[at] == self.found_line else None

    @property
    def _here(self) -> int:
        return self.first if self.found_line is None else self.found_line


def _marked(text: str, first: int, matches: Sequence[tuple[int, int]]) -> list[Span]:
    """Return a part of a line that begins at character ``first``, with its matches underlined."""
    spans: list[Span] = []
    done = 0
    for start, end in matches:
        start, end = max(0, start - first), min(len(text), end - first)  # noqa: PLW2901  # within the part
        if start < end:
            spans += [Span(text[done:start]), Span(text[start:end], Role.KEY, is_underlined=True)]
            done = end
    return [span for span in (*spans, Span(text[done:])) if span.text]


class FilesModel:
    """The files of one node."""

    def __init__(self, session: Session, place: FileLocation) -> None:
        """Open the tree at ``place``."""
        self.session = session
        nodes = session.nodes()
        name = fmt.node_name(nodes.position_of(place.node), nodes.id_of(place.node))
        self.title = session.text(f"Files on node {name}")
        self.page = FilePage(session.simulation, place.node)
        self.tree = TreeModel(self.page, session.glyphs)
        self.text = TextModel(session.glyphs.cursor)
        self._shown = ""  # the path of the file that is shown
        self._lost: Item | None = None  # what was shown, or asked for, and does not exist now
        self._info: Sequence[Span] = ()
        self.tree.reveal(place.path)
        item = self.tree.item
        if item is not None and item.path == place.path and item.is_directory:
            self.tree.open(item.path)
        self.show_item()
        if place.path and self.tree.path != place.path:
            self._lost = Item(place.path, is_directory=False, size=0)
            self._tell_of_directory()

    # -- looking -------------------------------------------------------------------------------------------------

    def update(self) -> bool:
        """Read the node again. Return True if anything but the time has changed."""
        if not self.page.update():
            return False
        read = self._lost or self.tree.item
        self.tree.update()
        if read is not None and not read.is_directory:
            self._read_on(read)
        else:
            self.show_item()
        return True

    def _read_on(self, file: Item) -> None:
        """Read the same file again, or report it missing."""
        if self.page.item(file.path) is not None:
            self.tree.reveal(file.path)
        self.show_item()
        if self.tree.path != file.path:
            self._lost = file
            self._tell_of_directory()

    def show_item(self) -> None:
        """Show the file or directory under the cursor of the tree."""
        item = self.tree.item
        self._info, self._lost = (), None
        if item is None or item.is_directory:
            self._shown = ""
            self._tell_of_directory()
            return
        text, is_other = self.page.read(item.path) or "", self._shown != item.path
        self._shown = item.path
        self.text.show(text, is_other=is_other)
        if not text:
            self._info = [Span(self._why_empty(item))]

    def _why_empty(self, item: Item) -> str:
        if item.size:
            return "It was downloaded: only its size is known."
        fates = self.page.deletions(item.path)
        is_running = any(fate.cause is Cause.RETENTION and fate.when_ms is None for fate in fates)
        if is_running and name_of(item.path) in OUTPUTS:
            return "It is empty: output is written when the process ends."
        return "It is empty."

    def _tell_of_directory(self) -> None:
        """Describe the directory under the cursor."""
        self.text.show("", is_other=True)
        item, session = self.tree.item, self.session
        said = []
        if self._lost is not None:
            it_had = f" It had {fmt.size(self._lost.size)}." if self._lost.size else ""
            missing = f"{self._lost.path} does not exist at {session.clock(session.now_ms)}.{it_had}"
            said.append(Span(missing, Role.ALERT))
        if item is None:
            left_ms = self.page.left_ms
            why = "" if left_ms is None else f" The node left the pool at {session.clock(left_ms)} (FILE-9)."
            why = why if self.page.is_known else " The node has not joined yet."
            self._info = [*said, Span(f"There are no files.{why}")]
            return
        said.append(Span(f"{item.path}/", Role.STRONG))
        entries = len(self.page.children(item.path))
        said.append(Span(f"{entries:,} entr{'y' if entries == 1 else 'ies'}, {fmt.size(item.size)} in all"))
        sentences = [purpose_of(item.path), *(fate_sentence(session, each) for each in self.page.deletions(item.path))]
        self._info = [*said, *(Span(each) for each in sentences if each)]

    # -- what is said --------------------------------------------------------------------------------------------

    @property
    def reads(self) -> str:
        """The path of the file that is shown; empty if there is none or its text is unknown."""
        return "" if self._info else self._shown

    def rows(self) -> list[Line]:
        """Return the visible rows of the text, or the description shown instead."""
        if not self._info:
            return self.text.rows()
        cells = max(8, self.text.cells - 1)
        return [line(" ", span._replace(text=each)) for span in self._info for each in wrapped(span.text, cells)]

    def heading(self, cells: int) -> Line:
        """Return the path under the cursor, and how long it is kept."""
        item = self.tree.item
        if item is None:
            return ()
        fates = self.page.deletions(item.path)
        fate = Span(short_fate(self.session, fates[0]), Role.DERIVED) if fates else ""
        said = line(fate)
        path = item.path + ("/" if item.is_directory else "")
        room = max(0, cells - width(said) - 1)
        if cell_len(path) > room:  # keep the end of the path
            path = self.session.glyphs.ellipsis + path[len(path) - room + 1 :]
        return between(line(Span(path, Role.STRONG)), said, cells)

    def status(self, cells: int) -> Line:
        """Return which part of the text is displayed: line and matches."""
        text, glyphs = self.text, self.session.glyphs
        said = [f"as it was at {self.session.clock(self.session.now_ms)}"]
        if self.reads:
            said.append(f"line {text.first + 1:,} of {text.total:,}" if text.total else "no line")
            said += [f"match {text.match_number or '-'} of {len(text.found):,}"] if text.sought else []
        return cut(line(Span(f" {glyphs.dot} ".join(said), Role.DIM)), cells)
