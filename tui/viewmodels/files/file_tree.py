"""The directories and files of a node as the rows of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.lazy import lazy_regex
from engine.base.paths import WORKITEMS, name_of, parent
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span, between, squeeze, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.views.pages.files import FilePage, Item
    from tui.viewmodels.text.glyphs import GlyphSet

_INDENT = 2
_DIGITS = lazy_regex(r"(\d+)")


class TreeRow(NamedTuple):
    """A row of the tree: a file or directory, its name, and its depth."""

    item: Item
    name: str
    depth: int


class TreeModel:
    """The visible rows of the tree.

    Below a deleted directory they show what is ``remembered`` of it: by its path, all that was below it.
    """

    def __init__(self, page: FilePage, glyphs: GlyphSet) -> None:
        """Start with all directories closed, and the cursor on the first row."""
        self._page = page
        self._glyphs = glyphs
        self.pointer = glyphs.cursor
        self.remembered: dict[str, Mapping[str, Item]] = {}
        self._open: set[str] = set()
        self.rows: list[TreeRow] = []
        self.at = 0
        self.update()

    def update(self) -> None:
        """Read the page again. The cursor stays on its file, or moves to the nearest directory."""
        path = self.path
        self.rows = list(self._below("", 0))
        self._put_cursor_on(path)

    def _put_cursor_on(self, path: str) -> None:
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
        items = [item for item in map(self._page.item, paths) if item is not None]
        if not items:
            items = [item for item in self._remembered_below(directory) if parent(item.path) == directory]
        return sorted(items, key=_order)

    def _remembered_below(self, directory: str) -> Sequence[Item]:
        known = (kept for above, kept in self.remembered.items() if f"{directory}/".startswith(f"{above}/"))
        return list(next(known, {}).values())

    # -- the cursor ----------------------------------------------------------------------------------------------

    @property
    def item(self) -> Item | None:
        """The file or directory under the cursor; None in an empty tree."""
        return self.rows[self.at].item if self.rows else None

    @property
    def entries(self) -> list[Item]:
        """The entries of the directory under the cursor; [] of a file."""
        item = self.item
        return self._items(item.path) if item is not None and item.is_directory else []

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
        self.rows = list(self._below("", 0))
        self._put_cursor_on(path)

    def reveal_again(self, path: str) -> None:
        """Reveal a path if it still exists, or is remembered."""
        if self._page.item(path) is not None or any(item.path == path for item in self._remembered_below(parent(path))):
            self.reveal(path)

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
        """Return a row: sign, name and size. A deleted file shows its last known size."""
        row = self.rows[at]
        item = row.item
        role = Role.OFF if item.gone is not None else Role.PLAIN
        indent = " " * (_INDENT * row.depth)
        if item.is_directory:
            sign = Span(self._glyphs.opened if item.path in self._open else self._glyphs.closed, Role.DIM)
            name = Span(f" {row.name}/", role if item.gone is not None else Role.STRONG)
        else:
            sign, name = Span(" "), Span(f" {row.name}", role)
        is_known = item.gone is None or not item.is_directory
        size = Span(fmt.size(item.size) if is_known else "gone", Role.DIM if item.gone is None else Role.OFF)
        room = cells - len(indent) - 1 - width((size,)) - 1
        return between((Span(indent), sign, name._replace(text=squeeze(name.text, room))), (size,), cells)


def _order(item: Item) -> tuple[bool, list[str | int]]:
    """Return the sort key: directories before files, numbers in names by value."""
    parts = _DIGITS.split(name_of(item.path))
    return not item.is_directory, [int(part) if at % 2 else part for at, part in enumerate(parts)]
