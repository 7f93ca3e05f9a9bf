"""The search for a text everywhere: names of all kinds, command lines and events, a slice at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import called
from engine.views.resources.account import schedule_ids
from engine.views.resources.jobs import job_ids, pool_ids
from engine.views.resources.nodes import NodePage
from engine.views.resources.processes import command_lines, files_on
from engine.views.resources.tasks import TaskPage
from tui.viewmodels import format as fmt
from tui.viewmodels.format import described
from tui.viewmodels.items import FileLocation
from tui.viewmodels.text import ItemRef, Kind, Line, Role, Span, clip, fit, line, one_line, squeeze

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.views.resources.events import EventRow
    from tui.viewmodels.session import Session


MOST_HITS = 8  # shown of each group; all are counted
BUDGET_S = 8.0  # of work for the files, and for the events; what is left is not searched, and that is said
_LONGEST_LOG = 300_000  # entries; of longer ones the files of every node take too long
_BATCH = 2_000
_EVENT_BATCH = 100
_TITLE_CELLS = 34
_LEAST_TYPED = 2  # characters


class WholeList(NamedTuple):
    """A list, filtered by the text that was searched for."""

    view: str
    text: str


Target = ItemRef | FileLocation | WholeList | int  # an event by its number


class Hit(NamedTuple):
    """Something found: its name, what it belongs to, and what enter opens."""

    name: str
    about: str
    target: Target


class HitGroup:
    """The hits of one kind: the number of all, and the best of them."""

    def __init__(self, title: str, view: str = "") -> None:
        """``view`` is the list that can show all of them."""
        self.title = title
        self.view = view
        self.note = ""  # what was not searched
        self.count = 0
        self.hits: list[Hit] = []

    def add(self, hit: Hit, wanted: str) -> None:
        """Count a hit. Names that are or begin with the wanted text come first."""
        self.count += 1
        self.hits.append(hit)
        if len(self.hits) > MOST_HITS:
            self.hits.sort(key=lambda each: _distance(each.name.lower(), wanted))
            del self.hits[MOST_HITS:]


def _distance(name: str, wanted: str) -> int:
    return 0 if name == wanted else 1 if name.startswith(wanted) else 2


class Search:
    """The search for one text at the moment that is shown. ``advance`` looks further; it never takes long."""

    def __init__(self, session: Session, text: str) -> None:
        self.text = text.strip()
        self.groups: list[HitGroup] = []
        self.is_done = False
        self._session = session
        self._simulation = session.simulation
        self._wanted = self.text.lower()
        self._worked_s = 0.0
        self._steps = self._look() if len(self.text) >= _LEAST_TYPED else iter(())

    def advance(self, seconds: float) -> bool:
        """Look further for about so long; return whether there is more to look at."""
        began_s = time.perf_counter()
        before_s = self._worked_s
        while not self.is_done and self._worked_s - before_s < seconds:
            self.is_done = next(self._steps, self) is self
            self._worked_s = before_s + time.perf_counter() - began_s
        return not self.is_done

    def _look(self) -> Iterator[None]:
        """Yield after each piece of the work."""
        yield from self._names("Pools", "pools", "pool", pool_ids(self._simulation))
        yield from self._names("Jobs", "jobs", "job", job_ids(self._simulation))
        yield from self._names("Job schedules", "schedules", "job schedule", schedule_ids(self._simulation))
        yield from self._nodes()
        yield from self._tasks()
        yield from self._files()
        yield from self._events()

    def _group(self, title: str, view: str = "") -> HitGroup:
        group = HitGroup(title, view)
        self.groups.append(group)
        return group

    def _names(self, title: str, view: str, kind: Kind, names: Sequence[str]) -> Iterator[None]:
        group = self._group(title, view)
        for name in names:
            if self._wanted in name.lower():
                group.add(Hit(name, "", ItemRef(kind, name)), self._wanted)
        yield

    def _nodes(self) -> Iterator[None]:
        group = self._group("Nodes", "nodes")
        for page in self._node_pages():
            for nodes in _in_pieces(page.nodes(), _BATCH):
                for node in nodes:
                    name, node_id = f"n{page.position_of(node)}", page.id_of(node)
                    if self._wanted == name or self._wanted in node_id.lower():
                        target = ItemRef("node", node)
                        found = name if self._wanted == name else f"{name} {fmt.short_node(node_id)}"
                        group.add(Hit(found, called("pool", page.pool_id), target), self._wanted)
                yield

    def _node_pages(self) -> list[NodePage]:
        pages = self._session.pages(self._session.job_id)
        return [NodePage(self._simulation, pool_id, *pages) for pool_id in pool_ids(self._simulation)]

    def _tasks(self) -> Iterator[None]:
        """Look at ids and command lines of tasks, and at command lines of preparation, release and start tasks."""
        named, running = self._group("Tasks", "tasks"), self._group("Command lines")
        wanted = self._wanted
        for each in command_lines(self._simulation):
            if wanted in each.text.lower():
                item = ItemRef("pool", each.pool_id) if each.pool_id else ItemRef("job", each.job_id)
                running.add(Hit(f"{item.key} {each.kind}", each.text, item), wanted)
        for job_id in job_ids(self._simulation):
            page = TaskPage(self._simulation, job_id)
            for tasks in _in_pieces(page.as_added(), _BATCH):
                texts = zip(tasks, page.ids_of(tasks), page.command_lines_of(tasks), strict=True)
                for task, task_id, text in texts:
                    if wanted in task_id.lower():
                        named.add(Hit(task_id, called("job", job_id), ItemRef("task", task)), wanted)
                    if wanted in text.lower():
                        running.add(Hit(task_id, text, ItemRef("task", task)), wanted)
                yield

    def _files(self) -> Iterator[None]:
        group = self._group("Files")
        if self._session.events.count > _LONGEST_LOG:
            group.note = "not searched in a run of this size; f shows those of a row"
            return
        nodes = [(page, node) for page in self._node_pages() for node in page.nodes()]
        stop_s = self._worked_s + BUDGET_S
        for number, (page, node) in enumerate(nodes):
            if self._worked_s > stop_s:
                group.note = f"of the first {number:,} nodes; those of {len(nodes) - number:,} were not searched"
                return
            for item in files_on(self._simulation, node):
                directory, _, name = item.path.rpartition("/")
                if not item.is_directory and self._wanted in name.lower():
                    about = f"n{page.position_of(node)} {directory}"
                    group.add(Hit(name, about, FileLocation(node, item.path)), self._wanted)
            yield

    def _events(self) -> Iterator[None]:
        events = self._session.events
        group = self._group("Events", "events")
        stop_s, count = self._worked_s + BUDGET_S, events.count
        for numbers in _in_pieces(range(count - 1, -1, -1), _EVENT_BATCH):
            if self._worked_s > stop_s:
                searched = count - 1 - numbers[0]
                group.note = f"of the newest {searched:,}; {count - searched:,} older ones were not searched"
                return
            for number in numbers:
                event = events.row(number)
                said = described(event)
                name = _entity(event)
                if self._wanted in f"{event.event} {name} {said}".lower():
                    about = f"{self._session.clock(events.when_ms(number))}  {name}  {said}"
                    group.add(Hit(event.event, about, number), self._wanted)
            yield


def _in_pieces(rows: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (rows[at : at + size] for at in range(0, len(rows), size))


def _entity(event: EventRow) -> str:
    node = f"n{event.position}" if event.position is not None else ""
    return event.task_id or node or event.job_id or event.schedule_id or event.pool_id or ""


def search_heading(search: Search) -> Line:
    """Return how far the search has come."""
    if len(search.text) < _LEAST_TYPED:
        return line(Span("Type at least two characters.", Role.DIM))
    count = sum(group.count for group in search.groups)
    if not search.is_done:
        where = search.groups[-1].title.lower() if search.groups else "pools"
        return line(Span(f"{count:,} found, searching {where} ...", Role.DIM))
    if any(group.note for group in search.groups):
        return line(Span(f"{count:,} found; not everything was searched", Role.DIM))
    none = f"No name, command line or event contains {search.text}."
    return line(Span(f"{count:,} found" if count else none, Role.DIM))


def search_lines(search: Search, cells: int) -> tuple[list[tuple[int, Line]], list[Target]]:
    """Return the groups with their hits, each hit with its number, and by this number what enter opens."""
    lines: list[tuple[int, Line]] = []
    targets: list[Target] = []
    for group in search.groups:
        if not group.count and not group.note:
            continue
        note = f"  {group.note}" if group.note else ""
        lines.append((-1, line(Span(f"{group.title} {group.count:,}", Role.STRONG), Span(note, Role.DIM))))
        for hit in sorted(group.hits, key=lambda each: _distance(each.name.lower(), search.text.lower())):
            name_cells = min(_TITLE_CELLS, cells // 2)
            name = fit(squeeze(hit.name, name_cells - 2), name_cells)
            about = Span(clip(one_line(hit.about), cells - name_cells - 2), Role.DIM)
            lines.append((len(targets), line("  ", name, about)))
            targets.append(hit.target)
        if group.view and group.count > len(group.hits):
            rest = f"  and {group.count - len(group.hits):,} more: show the list"
            lines.append((len(targets), line(Span(rest, Role.KEY))))
            targets.append(WholeList(group.view, search.text))
    return lines, targets
