"""The files on a node: the tree, and the file or directory under its cursor.

Sentences say how long a directory's files are kept, and why they were deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rich.cells import cell_len

from engine.base.paths import APPLICATIONS, MOUNTS, SHARED, STARTUP, VOLATILE, WORKITEMS, name_of, parent
from engine.base.values import lazy_regex
from engine.views.resources.processes import Deletion, DeletionCause, FilePage
from engine.views.resources.processes import DeletionCause as Cause
from tui.viewmodels import format as fmt
from tui.viewmodels.file_text import TextModel
from tui.viewmodels.items import OUTPUTS
from tui.viewmodels.text import Line, Role, Span, between, cut, line, squeeze, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.views.resources.processes import Item
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.items import FileLocation
    from tui.viewmodels.session import Session

# What becomes of a directory: why it was deleted, how it will be, and the rule of that.
_FATES = {
    Cause.RETENTION: ("retention ended", "deleted {span} after its end", "FILE-7"),
    Cause.TASK_DELETED: ("task deleted", "deleted with its task", "TASK-14"),
    Cause.JOB_DELETED: ("job deleted", "deleted with its job", "JOB-16"),
    Cause.REIMAGED: ("node reimaged", "deleted when the node is reimaged", "NOP-12"),
    Cause.DEALLOCATED: ("node deallocated", "deleted when the node is deallocated", "NOP-12"),
    Cause.PREEMPTED: ("node preempted", "deleted when the node is preempted", "SPOT-3"),
    Cause.LEFT: ("node left", "deleted when the node leaves", "FILE-9"),
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
    """Return what deletes a directory, or has deleted it."""
    past, coming, rule = _FATES[fate.cause]
    time = session.clock(fate.when_ms)
    if fate.when_ms is not None and fate.when_ms <= session.now_ms:
        return f"{past.capitalize()} at {time} ({rule})."
    said = coming.format(span=fmt.in_words(fate.retention_ms or 0))
    return f"It is {said} ({rule})." if fate.when_ms is None else f"It is {said}, at {time} ({rule})."


def short_fate(session: Session, fate: Deletion) -> str:
    """Return ``fate_sentence`` in a few words."""
    past, coming, _ = _FATES[fate.cause]
    if fate.when_ms is None:
        return coming.format(span=fmt.in_words(fate.retention_ms or 0))
    time = session.clock(fate.when_ms)
    return f"will be deleted at {time}" if fate.when_ms > session.now_ms else f"deleted at {time}: {past}"


Kept = TypeVar("Kept")
_INDENT = 2
_DIGITS = lazy_regex(r"(\d+)")


class TreeRow(NamedTuple):
    """A row of the tree: a file or directory, its name, and its depth."""

    item: Item
    name: str
    depth: int


def _nearest_above(path: str, kept: Mapping[str, Kept]) -> Kept | None:
    """Return what is kept of this directory, or of the one above it that was kept first; None if nothing is."""
    return next((each for above, each in kept.items() if f"{path}/".startswith(f"{above}/")), None)


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
        items = [item for item in map(self._page.item, paths) if item is not None]
        if not items:
            items = [item for item in self._remembered_below(directory) if parent(item.path) == directory]
        return sorted(items, key=_order)

    def _remembered_below(self, directory: str) -> Sequence[Item]:
        return list((_nearest_above(directory, self.remembered) or {}).values())

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


class _Memory(NamedTuple):
    """The content of a directory just before it was deleted, by path."""

    fate: Deletion
    when_ms: int
    items: dict[str, Item]
    texts: dict[str, str]


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
        self._memories: dict[str, _Memory] = {}
        self._shown: tuple[str, int | None] = ("", None)  # the path shown, and the moment of its text if deleted
        self._lost: Item | None = None  # the file that was shown and does not exist now
        self._info: Sequence[Span] = ()
        self.tree.reveal(place.path)
        gone = self.tree.item
        if gone is not None and gone.gone is not None:
            self.recall()
            self.tree.reveal(place.path)
        elif gone is not None and gone.path == place.path and gone.is_directory:
            self.tree.open(gone.path)
        self.show_item()

    # -- looking -------------------------------------------------------------------------------------------------

    def update(self) -> bool:
        """Read the node again. Return True if anything but the time has changed."""
        if not self.page.update():
            return False
        read = self._lost or self.tree.item
        self._memories = {path: memory for path, memory in self._memories.items() if self._fate_of(path) == memory.fate}
        self._hand_on_memories()
        self.tree.update()
        if read is not None and not read.is_directory:
            self._read_on(read)
        else:
            self.show_item()
        return True

    def _read_on(self, file: Item) -> None:
        """Read the same file again, from before its directory was deleted if necessary, or report it missing."""
        if self.page.item(file.path) is None and self.would_recall:
            self._remember()
        self.tree.reveal_again(file.path)
        self.show_item()
        if self.tree.path != file.path:
            self._lost = file
            self._tell_of_directory()

    def _fate_of(self, path: str) -> Deletion | None:
        item = self.page.item(path)
        return None if item is None else item.gone

    def _hand_on_memories(self) -> None:
        self.tree.remembered = {path: memory.items for path, memory in self._memories.items()}

    def show_item(self) -> None:
        """Show the file or directory under the cursor of the tree."""
        item = self.tree.item
        self._info, self._lost = (), None
        if item is None or item.is_directory:
            self._shown = ("", None)
            self._tell_of_directory()
            return
        text, as_of_ms = self._read(item)
        is_other = self._shown[0] != item.path
        self._shown = item.path, as_of_ms
        self.text.show(text, is_other=is_other)
        if not text:
            self._info = [Span(each) for each in self._why_empty(item)]

    def _read(self, item: Item) -> tuple[str, int | None]:
        """Return the text of a file, and the moment of that text if the file has been deleted."""
        if item.gone is None:
            return self.page.read(item.path) or "", None
        memory = self._memory_of(item.path)
        return ("", None) if memory is None else (memory.texts.get(item.path, ""), memory.when_ms)

    def _memory_of(self, path: str) -> _Memory | None:
        return _nearest_above(path, self._memories)

    def _why_empty(self, item: Item) -> list[str]:
        if item.size:
            return ["It was downloaded: only its size is known."]
        fates = self.page.deletions(item.path)
        is_running = any(fate.cause is DeletionCause.RETENTION and fate.when_ms is None for fate in fates)
        if is_running and name_of(item.path) in OUTPUTS:
            return ["It is empty: output is written when the process ends."]
        if item.gone is not None:
            return ["It was empty.", fate_sentence(self.session, item.gone)]
        return ["It is empty."]

    def _tell_of_directory(self) -> None:
        """Describe the directory under the cursor."""
        self.text.show("", is_other=True)
        item, session = self.tree.item, self.session
        said = []
        if self._lost is not None:
            path, size = self._lost.path, fmt.size(self._lost.size)
            said.append(Span(f"{path} does not exist at {session.clock(session.now_ms)}. It had {size}.", Role.ALERT))
        if item is None:
            left_ms = self.page.left_ms
            why = "" if left_ms is None else f" The node left the pool at {session.clock(left_ms)} (FILE-9)."
            why = why if self.page.is_known else " The node has not joined yet."
            self._info = [*said, Span(f"There are no files.{why}")]
            return
        said.append(Span(f"{item.path}/", Role.STRONG))
        entries = len(self.page.children(item.path))
        if item.gone is None:
            said.append(Span(f"{entries:,} entr{'y' if entries == 1 else 'ies'}, {fmt.size(item.size)} in all"))
        elif (memory := self._memory_of(item.path)) is None:
            said.append(Span("It was deleted. Enter shows what was in it."))
        else:
            is_known = any(path.startswith(f"{item.path}/") for path in memory.items)
            what = "Its content is shown as it was before." if is_known else "It was empty."
            said.append(Span(f"It was deleted. {what}"))
        sentences = [purpose_of(item.path), *(fate_sentence(session, each) for each in self._fates(item))]
        self._info = [*said, *(Span(each) for each in sentences if each)]

    def _fates(self, item: Item) -> list[Deletion]:
        return [item.gone] if item.gone is not None else self.page.deletions(item.path)

    # -- what has gone -------------------------------------------------------------------------------------------

    @property
    def would_recall(self) -> bool:
        """True if the item under the cursor was deleted and its content has not been looked up."""
        item = self.tree.item
        return item is not None and item.gone is not None and self._memory_of(item.path) is None

    def recall(self) -> None:
        """Look up the content of the directory under the cursor before it was deleted, and open it."""
        self._remember()
        self.tree.open(self.tree.path)
        self.show_item()

    def _remember(self) -> None:
        item = self.tree.item
        if item is None or item.gone is None or item.gone.when_ms is None:
            return
        when_ms = max(0, item.gone.when_ms - 1)
        with self.session.at(when_ms):
            page = FilePage(self.session.simulation, self.page.node)
            found = page.below(item.path)
            texts = {each.path: page.read(each.path) or "" for each in found if not each.is_directory}
        items = {each.path: each._replace(gone=item.gone) for each in found}
        self._memories[item.path] = _Memory(item.gone, when_ms, items, texts)
        self._hand_on_memories()
        self.page.update()

    # -- what is said --------------------------------------------------------------------------------------------

    @property
    def reads(self) -> str:
        """The path of the file that is shown; empty if there is none or its text is unknown."""
        return "" if self._info else self._shown[0]

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
        fates = self._fates(item)
        fate = Span(short_fate(self.session, fates[0]), Role.ALERT if item.gone else Role.DERIVED) if fates else ""
        said = line(fate)
        path = item.path + ("/" if item.is_directory else "")
        room = max(0, cells - width(said) - 1)
        if cell_len(path) > room:  # keep the end of the path
            path = self.session.glyphs.ellipsis + path[len(path) - room + 1 :]
        return between(line(Span(path, Role.STRONG)), said, cells)

    def status(self, cells: int) -> Line:
        """Return which part of the text is displayed: line and matches."""
        text, glyphs = self.text, self.session.glyphs
        as_of_ms = self.session.now_ms if self._shown[1] is None else self._shown[1]
        said = [f"as it was at {self.session.clock(as_of_ms)}"]
        said += [] if self._shown[1] is None or self.tree.item is None else [fmt.size(self.tree.item.size)]
        if self.reads:
            said.append(f"line {text.first + 1:,} of {text.total:,}" if text.total else "no line")
            said += [f"match {text.match_number or '-'} of {len(text.found):,}"] if text.sought else []
        return cut(line(Span(f" {glyphs.dot} ".join(said), Role.DIM)), cells)
