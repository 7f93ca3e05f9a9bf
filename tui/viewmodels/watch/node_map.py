"""The nodes of the pool in focus through a lens: which are shown, in which form and glyph, and how many of each.

A lens is the property of each node that the map shows, and its glyphs. The nodes of a pool are drawn in one of several
forms, from a card each to a cell for many. The legend has entries with counts, laid out in lines.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache
from itertools import chain, compress, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.values import called
from engine.views.resources.nodes import count_gone, count_tasks, hooks_in, in_pool, last_output, state_in, tasks_on
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import NODE, PREPARATION, RELEASE, TASK, Glyph, phase_glyph
from tui.viewmodels.text import ItemRef, Line, Role, Span, as_fits, cut, line, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.views.resources.jobs import JobRow
    from engine.views.resources.nodes import NodePage
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.session import Session


_CARD_CELLS, _CARD_BEST_CELLS = 26, 48  # narrowest card, and the width from which on it gains nothing
_CARD_LINES = 3  # lowest card
MOST_CARDS = 32
_LINE_CELLS, _LINE_BEST_CELLS = 20, 64
_GAP = 2  # cells between cards, and between columns of lines
_ROUND = 10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90
_GROUPS = (*range(2, 10), *(size * factor for factor in (1, 10, 100) for size in _ROUND))


class Form(Enum):
    """The ways to draw nodes, the richest first."""

    CARD = auto()  # a card for each node
    LINE = auto()  # a line of words
    NAME = auto()  # a name beside its symbol
    CELL = auto()  # a symbol
    GROUP = auto()  # a symbol for several nodes


class Layout(NamedTuple):
    """The places of nodes on the screen: units in rows, each so many cells wide and lines high.

    ``nodes`` is the number of nodes in a unit, ``label`` the cells before each row.
    """

    form: Form
    columns: int
    cells: int
    lines: int = 1
    nodes: int = 1
    label: int = 0

    @property
    def gap(self) -> int:
        """The cells between two units."""
        return _GAP if self.form in (Form.CARD, Form.LINE) else 0

    def units(self, count: int) -> int:
        """Return the number of units for so many nodes."""
        return -(-count // self.nodes)

    def rows(self, count: int) -> int:
        """Return the number of rows for so many nodes."""
        return -(-self.units(count) // self.columns)

    def height(self, count: int) -> int:
        """Return the number of lines that so many nodes take."""
        return self.rows(count) * self.lines


class Needs(NamedTuple):
    """The sizes of what there is to show: lines of a card with all that matters and at most, cells of a name."""

    card: int
    card_most: int
    name: int


@lru_cache(maxsize=256)
def layout_for(count: int, cells: int, lines: int, needs: Needs) -> Layout:
    """Return the richest form in which so many nodes fit; the smallest cells stand for as many nodes as they must."""
    cells, lines = max(10, cells), max(1, lines)
    for found in (
        _cards(count, cells, lines, needs),
        _in_words(count, cells, lines),
        _names(count, cells, lines, needs),
        *(_symbols(count, cells, pitch, step=step) for pitch, step in ((2, 10), (1, 10), (1, 5))),
    ):
        if found is not None and found.height(count) <= lines:
            return found
    return next(
        (group for size in _GROUPS if (group := _symbols(count, cells, 1, size)).height(count) <= lines),
        _symbols(count, cells, 1, _GROUPS[-1]),
    )


def _cards(count: int, cells: int, lines: int, needs: Needs) -> Layout | None:
    """Return the cards that show most; None if they would be too small."""
    best, most = None, 0
    for columns in range(1, min(count, MOST_CARDS) + 1) if count <= MOST_CARDS else ():
        width = (cells + _GAP) // columns - _GAP
        height = min(lines // -(-count // columns), needs.card_most)
        if width < _CARD_CELLS or height < min(_CARD_LINES, needs.card):
            continue
        shown = min(height, needs.card) * min(width, _CARD_BEST_CELLS)
        if shown > most:
            best, most = Layout(Form.CARD, columns, width, height), shown
    return best


def _in_words(count: int, cells: int, lines: int) -> Layout | None:
    columns = -(-count // lines)
    width = (cells + _GAP) // columns - _GAP if columns else 0
    if not columns or width < _LINE_CELLS:
        return None
    wider = (cells + _GAP) // (_LINE_BEST_CELLS + _GAP)
    columns = max(columns, min(wider, count))
    return Layout(Form.LINE, columns, (cells + _GAP) // columns - _GAP)


def _names(count: int, cells: int, lines: int, needs: Needs) -> Layout | None:
    """Return cells with a symbol, a name, a mark and a gap, in as few rows as the lines allow."""
    columns = cells // (needs.name + 3)
    if not columns:
        return None
    columns = min(columns, max(1, count))
    return Layout(Form.NAME, columns, cells // columns if count >= columns * lines // 2 else needs.name + 3)


def _symbols(count: int, cells: int, pitch: int, nodes: int = 1, step: int = 5) -> Layout:
    label = len(f"{max(0, count - 1):,}") + 2
    columns = max(step, (cells - label) // pitch // step * step)
    return Layout(Form.CELL if nodes == 1 else Form.GROUP, columns, pitch, nodes=nodes, label=label)


class Lens(Enum):
    """A property that the map can show; the value is its name on the screen."""

    STATE = "node state"
    PHASE = "job phase"


LENSES = tuple(Lens)
# Roles of states in which preparation and release have to wait: the lens of phases shows the state instead.
_OUT_OF_PHASE = (Role.FAILED, Role.TRANSITION, Role.OFF, Role.PREEMPTED)


def first_lens(job: JobRow | None) -> Lens:
    """Return the lens until the user chooses one: a job without preparation has no phases that a node could be in."""
    return Lens.PHASE if job is not None and job.phases.preparation.is_specified else Lens.STATE


def facts_of(lens: Lens, page: NodePage) -> bytes:
    """Return the property of each of the page's nodes as a number."""
    return page.all_hooks() if lens is Lens.PHASE else bytes(len(page.nodes()))


def glyph_for(lens: Lens, state: int, fact: int) -> Glyph:
    """Return the glyph of a node from its state and the lens's property."""
    node_state = state_in(state)
    glyph = NODE[node_state]
    if node_state is None or lens is Lens.STATE or glyph.role in _OUT_OF_PHASE:
        return glyph
    return phase_glyph(*hooks_in(fact))


def severity_of(glyph: Glyph) -> tuple[bool, int]:
    """Return the sort key by which the worst of several glyphs is the highest one."""
    return glyph.role is Role.FAILED, _RANKS[glyph]


_RANKED = (*PREPARATION.values(), *RELEASE.values(), *NODE.values())
_RANKS = {glyph: rank for rank, glyph in enumerate(_RANKED)}


def rank_of(glyph: Glyph) -> tuple[bool, int]:
    """Return the sort key of a glyph in the legend: failures first, then in the order of the state tables."""
    return glyph.role is not Role.FAILED, _RANKS[glyph]


_ENTRY_GAP = "   "


def legend(counts: Sequence[tuple[Glyph, int]], glyphs: GlyphSet, cells: int, most_lines: int = 0) -> list[Line]:
    """Return each glyph with its name and number of nodes, in as many lines as needed.

    If they are more than ``most_lines``, the last one of these ends with the number of the others.
    """
    parts: list[Line] = [
        (glyphs.span(glyph), Span(f" {glyph.name} {count:,}"), Span(_ENTRY_GAP)) for glyph, count in counts
    ]
    starts, room = list[int](), 0  # the first entry of each line, and the cells that are left in the last one
    for at, part in enumerate(parts):
        if not starts or width(part[:-1]) > room:
            starts.append(at)
            room = cells
        room -= width(part)

    def others(first: int) -> str:
        numbers = [count for _, count in counts[starts[-1] + first :]]
        return f"+{len(numbers):,} more, {fmt.counted(sum(numbers), 'node')}"

    if most_lines:
        starts = starts[:most_lines]
    whole = [cut(tuple(chain.from_iterable(parts[at:stop])), cells) for at, stop in pairwise(starts)]
    return [*whole, as_fits(parts[starts[-1] :], cells, others)] if starts else []


_MOST_TASKS = 4  # on a card
_OUTPUT_LINES, MOST_OUTPUT = 2, 6  # on a card: wished, and at most


class NodeMapModel:
    """The nodes of the pool in focus. Drawing reads the moment of the last ``update``."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._chosen: Lens | None = None  # by the user
        self.lens = Lens.STATE  # at the last update
        self.nodes: Sequence[int] = ()
        self.page: NodePage = session.nodes()
        self.glyphs: Sequence[Glyph] = ()  # those that occur, the worst last
        self.codes = b""  # for each node: the place of its glyph in ``glyphs``
        self._positions: Sequence[int] = ()  # for each node: its index in the pool
        self._seen: object = None  # what ``update`` has read
        self.changes = 0  # grows with each update that may have found something else
        self._coded: object = None  # the input of ``glyphs`` and ``codes``
        self._measured: object = None  # jumps in time and pool for which the cards have been measured
        self._measured_at: object = None  # the moment of it
        self._told = self._told_most = 1  # lines of tasks and output on a card: wished, and at most
        self._hidden = 0  # nodes that are left out because they have left the pool

    def remembered(self) -> dict[str, Any]:
        """Return the user's choices, for another run of this scenario."""
        return {"lens": self._chosen}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choice of lens."""
        self._chosen = values.get("lens")

    # -- what is shown -------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Read the simulation again."""
        self.page = page = self.session.nodes()
        self.lens = self._chosen or first_lens(self.session.job(self.session.job_id))
        seen = page, page.version, self.lens
        if seen != self._seen:
            self._seen = seen
            self.changes += 1
            self._read(page)
        self._measure()

    def _read(self, page: NodePage) -> None:
        """Read the nodes in view, their states and properties.

        Nodes that have left the pool are left out while those in it are few enough for cards, or no more than they: a
        card of such a node says nothing. Otherwise they keep their places, because there each node is found by its own.
        """
        nodes, states, facts = page.nodes(), page.states(), facts_of(self.lens, page)
        positions: Sequence[int] = range(len(nodes))
        gone = count_gone(states)
        self._hidden = gone if len(states) - gone <= max(MOST_CARDS, gone) else 0
        if self._hidden:
            shown = in_pool(states)
            nodes, positions = tuple(compress(nodes, shown)), tuple(compress(positions, shown))
            states, facts = bytes(compress(states, shown)), bytes(compress(facts, shown))
        self.nodes = tuple(nodes)  # a copy: later drawing must show this moment
        self._positions = positions
        self._code(states, facts)

    def _code(self, states: bytes, facts: bytes) -> None:
        """Find the glyph of each node from its state and the lens's property, all at once.

        A frame must not loop over ten thousand nodes in Python.
        """
        known = self.lens, states, facts
        if self._coded == known:
            return
        pairs = list(zip(states, facts, strict=True))
        found = {pair: glyph_for(self.lens, *pair) for pair in set(pairs)}
        self.glyphs = sorted(set(found.values()), key=severity_of)
        places = {glyph: place for place, glyph in enumerate(self.glyphs)}
        self.codes = bytes(map({pair: places[glyph] for pair, glyph in found.items()}.__getitem__, pairs))
        self._coded = known

    def look_through(self, lens: Lens) -> None:
        """Choose a lens."""
        self._chosen = lens
        self.update()

    def next_lens(self) -> None:
        """Choose the next lens."""
        self.look_through(LENSES[(LENSES.index(self.lens) + 1) % len(LENSES)])

    # -- the layout ----------------------------------------------------------------------------------------------

    def layout(self, cells: int, lines: int) -> Layout:
        """Return the richest form in which the nodes in view fit."""
        return layout_for(len(self.nodes), cells, lines, self.needs())

    def needs(self) -> Needs:
        """Return the sizes of cards and names for what they can have to say."""
        job = self.session.job(self.session.job_id)
        phases = () if job is None else (job.phases.preparation, job.phases.release)
        others = 1 + any(phase.has_begun for phase in phases)
        told = others + self._told
        card = told + (len(self.nodes) > 1)  # a line of space
        last = self._positions[-1] if self._positions else 0
        return Needs(card, card + self._told_most - self._told, len(f"n{last}"))

    def _measure(self) -> None:
        """Find the most lines of tasks and output that a node in view has had since the last jump in time.

        They do not become fewer while anything runs: cards that shrink and grow with each task would be restless.
        """
        simulation = self.session.simulation
        known = simulation.jumps, self.page.pool_id
        if self._measured != known:
            self._measured, self._measured_at, self._told, self._told_most = known, None, 1, 1
        moment = len(simulation.log), self.nodes
        if not 0 < len(self.nodes) <= MOST_CARDS or self._measured_at == moment:
            return
        self._measured_at = moment
        tasks = [min(count, _MOST_TASKS) for count in count_tasks(simulation, self.nodes)]
        if not any(tasks):
            self._told = self._told_most = 1
        for node, count in zip(self.nodes, tasks, strict=True):
            output = last_output(simulation, node, MOST_OUTPUT)
            lines = 0 if output is None else len(output.lines)
            self._told = max(self._told, max(1, count) + min(lines, _OUTPUT_LINES))
            self._told_most = max(self._told_most, max(1, count) + lines)

    def title(self, cells: int, layout: Layout) -> str:
        """Return what is shown: the number of nodes or the part in view, the nodes in a cell, and the lens."""
        lens, number = self.lens.value, LENSES.index(self.lens) + 1
        is_of_one = self.lens is Lens.PHASE and self.session.has_several_jobs
        of_job = f"phase of {called('job', self.session.job_id)}" if is_of_one else lens
        nodes = fmt.counted(len(self.nodes), "node")
        if self._hidden:
            nodes = f"{nodes}, {self._hidden:,} gone"
        long = short = ""
        if layout.form is Form.GROUP:
            long = f" · {layout.nodes:,} a cell: any failure, else most"
            short = f" · {layout.nodes:,} a cell, failures first"
        forms = (
            f"Nodes · {nodes}{long} · lens {number} of {len(LENSES)}: {of_job}",
            f"{nodes}{long} · lens {number} of {len(LENSES)}: {of_job}",
            f"{nodes}{long} · {of_job}",
            f"Nodes · {nodes}{long} · lens {number} of {len(LENSES)}: {lens}",
            f"{nodes}{long} · lens {number} of {len(LENSES)}: {lens}",
            f"{nodes}{long} · {lens}",
            f"{nodes}{short} · {lens}",
            f"{nodes}{short}",
            nodes,
        )
        return self.session.text(next((form for form in forms if len(form) <= cells - 4), forms[-1]))

    # -- single nodes --------------------------------------------------------------------------------------------

    def position(self, index: int) -> int:
        """Return the index in its pool of the node at an index of the map."""
        return self._positions[index]

    def glyph(self, index: int) -> Glyph:
        """Return the glyph of the node at an index of the map through the present lens."""
        return self.glyphs[self.codes[index]]

    def is_marked(self, node: int) -> bool:
        """Return True for a node that the user has marked."""
        return ItemRef("node", node) in self.session.marks

    def worst(self, first: int, count: int) -> int:
        """Return the index of the worst of so many nodes."""
        codes = self.codes[first : first + count]
        return first + codes.index(max(codes)) if codes else first

    def span_name(self, first: int, count: int) -> str:
        """Return the first and the last of so many nodes: ``n200 to n219``."""
        last = min(first + count, len(self.nodes)) - 1
        names = [f"n{self._positions[at]}" for at in (first, last) if 0 <= at < len(self.nodes)]
        return " to ".join(dict.fromkeys(names))

    # -- below the cells -----------------------------------------------------------------------------------------

    def counts(self) -> list[tuple[Glyph, int]]:
        """Return the number of nodes for each glyph, failures first, then in the order of the state tables."""
        return self._counts(self.codes)

    def symbols(self) -> list[Glyph]:
        """Return the glyphs of the nodes, and of the tasks that cards and lines name, of whatever job."""
        named = self.nodes if len(self.nodes) <= MOST_CARDS else ()
        states = [task.state for node in named for task in tasks_on(self.session.simulation, node, _MOST_TASKS)]
        return [*(glyph for glyph, _ in self.counts()), *(TASK[state] for state in states)]

    def legend(self, cells: int, most_lines: int = 0) -> list[Line]:
        """Return the meaning of the cells with counts, in at most so many lines."""
        return legend(self.counts(), self.session.glyphs, max(1, cells), most_lines)

    def _counts(self, codes: bytes) -> list[tuple[Glyph, int]]:
        found = ((glyph, codes.count(code)) for code, glyph in enumerate(self.glyphs))
        return sorted((each for each in found if each[1]), key=lambda each: rank_of(each[0]))

    def description(self, index: int, cells: int, count: int = 1) -> Line:
        """Return the node under the cursor in one line, or ``count`` nodes of a cell by glyph.

        Where ``cells`` are too few for everything the service's id of the node is left out.
        """
        if index >= len(self.nodes):
            return ()
        if count > 1:
            numbers = self._counts(self.codes[index : index + count])
            here = Span(f"{self.span_name(index, count)}  ", Role.STRONG)
            return line(here, *self.session.glyphs.counts(numbers, "node", cells - len(here.text)))
        node = self.page.row(self.nodes[index])
        state, phase = NODE[node.state], phase_glyph(node.prep, node.release)
        name = Span(self.session.text(f"{fmt.node_name(node.record.position, node.record.id)} "), Role.STRONG)
        more = line(
            Span(f" {state.name}", state.role),
            Span(f"  {node.used_slots}/{node.pool.slots} slots  "),
            Span(phase.name, phase.role),
            Span("" if node.record.dedicated else "  Spot", Role.DIM),
        )
        return line(name if width((name, *more)) <= cells else Span(f"n{node.record.position} ", Role.STRONG), *more)

    def empty(self) -> Sequence[str]:
        """Return sentences that say why there are no cells."""
        if not self.session.pool_id:
            return self.session.no_pool()
        if self._hidden:
            who = "Its node has" if self._hidden == 1 else f"All its {self._hidden:,} nodes have"
            return (f"{who} left the pool.", "View 3 lists them." if self._hidden > 1 else "View 3 lists it.")
        pool = self.session.pool(self.session.pool_id)
        if pool is not None and pool.state is None:
            return (f"{called('Pool', self.session.pool_id)} was deleted. It had no nodes.",)
        if pool is not None and not pool.target:
            return ("The pool has no nodes: its target is 0.",)
        return (f"{called('Pool', self.session.pool_id)} has no nodes yet.",)
