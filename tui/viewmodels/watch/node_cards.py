"""Cards and lines of the node map: what a node is and does, in a few lines, in one, in a word or as a symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import NodeState
from engine.views.hook_status import Hook, HookStatus
from engine.views.log.reader import KeptByKey
from engine.views.resources.nodes import hooks_on, last_output, tasks_on
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import NODE, TASK, hook_glyph
from tui.viewmodels.properties import next_words
from tui.viewmodels.text import ItemRef, Line, Role, Span, between, cut, fit, line, merged, one_line, squeeze, width
from tui.viewmodels.watch.node_map import MOST_OUTPUT, Form, Lens

if TYPE_CHECKING:
    from engine.views.resources.nodes import HookOnNode, LastOutput, NodeRow, TaskOnNode
    from tui.viewmodels.glyphs import Glyph
    from tui.viewmodels.watch.node_map import Layout, NodeMapModel


_MOST_SLOT_CELLS = 8
_BAR_FROM, _WORDS_FROM, _MOST_BAR = 24, 34, 20  # cells of a task's line with a bar and with words, and of the bar
_STATE_FROM, _STATE_CELLS = 44, 12  # cells of a line with the name of the state, and of the name
_PHASE_FROM, _PHASE_CELLS = 72, 16  # cells of a line with the glyph of the lens
_HOOK_NAMES = {Hook.PREPARATION: "prep", Hook.RELEASE: "release"}
_MOST_TASKS = 8


class Cards:
    """Draws single nodes in words."""

    def __init__(self, model: NodeMapModel) -> None:
        self._model = model
        self._outputs: KeptByKey[LastOutput | None] = KeptByKey()

    # -- a card --------------------------------------------------------------------------------------------------

    def card(self, index: int, cells: int, lines: int, *, is_cursor: bool) -> list[Line]:
        """Return the lines of a node's card: its head, what it does below it, and space."""
        model = self._model
        row = model.page.row(model.nodes[index])
        body = [cut(each, cells - 2) for each in self._body(row, cells - 2, lines - 1)]
        drawn = [self._head(index, row, cells, is_cursor=is_cursor), *((Span("  "), *each) for each in body)]
        return [*drawn, *[()] * (lines - len(drawn))]

    def below(self, index: int, cells: int, lines: int) -> list[Line]:
        """Return what stands below the head of a node's card, in at most so many lines."""
        model = self._model
        return [cut(each, cells) for each in self._body(model.page.row(model.nodes[index]), cells, lines)]

    def _head(self, index: int, row: NodeRow, cells: int, *, is_cursor: bool) -> Line:
        """Return name and state, then as much as fits: what comes next, slots, the kind of node, the lens's glyph."""
        model, glyphs = self._model, self._model.session.glyphs
        state, glyph = NODE[row.state], model.glyph(index)
        mark = "*" if model.is_marked(row.node) else ""
        name = Span(f"{mark}n{row.record.position}", Role.STRONG, is_fill=is_cursor)
        head = line(name, " ", glyphs.span(state), Span(f" {state.name}", state.role))
        more: list[Line] = []
        if row.record.evicted_ms is not None:
            forms = f", evicted at {model.session.clock(row.record.evicted_ms)}", ", to be evicted"
            said = next((form for form in forms if width(head) + len(form) <= cells), "")
            more.append(line(Span(said, Role.PREEMPTED)))
        if words := next_words(row):
            more.append(line(Span(f", {words}", Role.TRANSITION)))
        if not model.page.is_enabled(row.node) and row.state is not NodeState.OFFLINE:
            more.append(line(Span(", no new tasks", Role.OFF)))
        if _is_usable(row):
            used = f" {row.used_slots}/{row.pool.slots}"
            more.append(line("  ", *self._slots(row), Span(used)))
            more.append(line(" slot" if row.pool.slots == 1 else " slots"))
        if not row.record.dedicated:
            more.append(line(Span("  Spot", Role.DIM)))
        if model.lens is not Lens.STATE and glyph != state:
            more.append(line("  ", glyphs.span(glyph), Span(f" {glyph.name}", glyph.role)))
        for part in more:
            if width(head) + width(part) <= cells:
                head = (*head, *part)
        return cut(head, cells)

    def _slots(self, row: NodeRow) -> Line:
        glyphs, slots = self._model.session.glyphs, min(row.pool.slots, _MOST_SLOT_CELLS)
        used = -(-row.used_slots * slots // row.pool.slots)
        return line(Span(glyphs.full * used, Role.RUNNING), Span(glyphs.light * (slots - used), Role.OFF))

    def _body(self, row: NodeRow, cells: int, lines: int) -> list[Line]:
        """Return tasks, preparation and release, and the last output, as many lines as there is room for."""
        model, simulation = self._model, self._model.session.simulation
        found = [] if row.state is None else tasks_on(simulation, row.node, _MOST_TASKS)
        hooks = hooks_on(model.session.pages(model.session.job_id), row.node)
        phases = [self._phase(each) for each in hooks]
        gap = 3 if sum(map(width, phases)) + 3 * (len(phases) - 1) <= cells else 1
        both = [tuple(span for each in phases for span in (Span(" " * gap), *each))[1:]] if phases else []
        shown = found[: max(1, lines - len(both))]
        others = row.running_tasks + row.preparing_tasks - len(shown)
        body = [self._task(each, cells) for each in shown[:-1]]
        body.append(self._task(shown[-1], cells, others) if shown else self._rest(row, cells))
        body += both
        output = self._output(row.node) if len(body) < lines else None
        if output is not None:
            room = min(MOST_OUTPUT, lines - len(body))
            label = f"{self._name(output.job_id, output.process, cells // 2)}: "
            for at, text in enumerate(output.lines[-room:]):
                begin = label if at == 0 else "  "
                body.append(line(Span(begin, Role.DIM), Span(model.session.text(one_line(text)), Role.DIM)))
        return body[:lines]

    def _rest(self, row: NodeRow, cells: int) -> Line:
        """Return for how long a node without tasks has been in its state, and what it has run, as far as it fits."""
        session = self._model.session
        interrupted, errors = row.total_interrupted, row.record.errors
        failed = row.total_run - row.total_succeeded - interrupted
        lasted = Span(f"for {fmt.short_span(session.now_ms - row.since_ms)}", Role.DIM)
        since = Span(f", since {session.clock(row.since_ms)}", Role.DIM)
        work: Line = ()
        if errors:
            work = (Span(f"  {errors[0].code}", Role.FAILED),)
        elif row.total_run:
            work = line(
                Span(f"  {fmt.counted(row.total_run, 'task')} run", Role.DIM),
                Span(f", {failed:,} failed" if failed else "", Role.FAILED),
                *([Span(f", {interrupted:,} interrupted", Role.TRANSITION)] if interrupted else []),
            )
        forms: list[Line] = [(lasted, since, *work), (lasted, *work)]
        forms += [] if errors else [(lasted, since)]
        return next((form for form in forms if width(form) <= cells), (lasted, *work) if errors else (lasted,))

    def _task(self, task: TaskOnNode, cells: int, others: int = 0) -> Line:
        """Return a task's symbol and name, how long it has run, how far it is, and the number of ``others``."""
        glyphs = self._model.session.glyphs
        more = line(Span(f" +{others:,}", Role.STRONG)) if others > 0 else ()
        for has_bar in (True, False):  # a whole name says more than a bar
            right = (*self._progress(task, cells, has_bar=has_bar), *more)
            name = self._name(task.job_id, task.task_id, cells - 2 - width(right))
            if glyphs.ellipsis not in name:
                break
        return between(line(glyphs.span(TASK[task.state]), f" {name}"), right, cells)

    def _progress(self, task: TaskOnNode, cells: int, *, has_bar: bool) -> Line:
        """Return how long a task has run, and as a bar how far it is if its end is known and there is room."""
        session, glyphs = self._model.session, self._model.session.glyphs
        if task.start_ms is None:
            return line(Span(" waits for preparation" if cells >= _WORDS_FROM else "", Role.DIM))
        so_far_ms = session.now_ms - task.start_ms
        ran = Span(f" {fmt.short_span(so_far_ms)}")
        if task.planned_ms is None or cells < _BAR_FROM or not has_bar:
            return line(ran)
        bar_cells = min(_MOST_BAR, cells // 4)
        full = min(bar_cells, round(so_far_ms * bar_cells / max(1, task.planned_ms - task.start_ms)))
        done, rest = f" {glyphs.meter * full}", glyphs.meter_rest * (bar_cells - full)
        left = f" {fmt.short_span(max(0, task.planned_ms - session.now_ms))} left" if cells >= _WORDS_FROM else ""
        return line(ran, Span(done, Role.RUNNING), Span(rest, Role.OFF), Span(left, Role.DIM))

    def _name(self, job_id: str, task_id: str, cells: int) -> str:
        """Return the id of a task, with that of its job, if it has one, where several jobs use the pool."""
        session = self._model.session
        pool = session.pool(session.pool_id)
        is_alone = not job_id or pool is None or len(pool.jobs) < 2
        return session.text(squeeze(task_id if is_alone else f"{job_id}/{task_id}", max(4, cells - 1)))

    def _phase(self, hook: HookOnNode) -> Line:
        """Return preparation or release: its symbol, and how long it took or has run."""
        session = self._model.session
        glyph, view = hook_glyph(hook.hook, hook.status), hook.view
        parts = [Span(f"{_HOOK_NAMES[hook.hook]} ", Role.DIM), session.glyphs.span(glyph)]
        is_void = hook.status in (HookStatus.SUPERSEDED, HookStatus.LEAVING)
        if not is_void:
            until_ms = session.now_ms if view.end_ms is None else view.end_ms
            parts.append(Span(f" {fmt.short_span(until_ms - view.start_ms)}"))
        if view.end_ms is None and hook.planned_ms is not None:
            parts.append(Span(f", {fmt.short_span(max(0, hook.planned_ms - session.now_ms))} left", Role.DIM))
        if hook.status is HookStatus.FAILED and view.exit_code is not None:
            parts.append(Span(f" exit {view.exit_code}", Role.FAILED))
        elif is_void:
            said = "would run again" if hook.status is HookStatus.SUPERSEDED else glyph.name
            parts.append(Span(f" {said}", glyph.role))
        return tuple(parts)

    def _output(self, node: int) -> LastOutput | None:
        """Return the last lines of output on a node, read once for each moment."""
        simulation = self._model.session.simulation
        return self._outputs.get(simulation.moment, node, lambda: last_output(simulation, node, MOST_OUTPUT))

    # -- a line --------------------------------------------------------------------------------------------------

    def line(self, index: int, cells: int, *, is_cursor: bool) -> Line:
        """Return a node in one line: name, state, slots, the glyph of the lens, and its first task."""
        model, glyphs = self._model, self._model.session.glyphs
        row = model.page.row(model.nodes[index])
        state, glyph = NODE[row.state], model.glyph(index)
        found = [] if row.state is None else tasks_on(model.session.simulation, row.node, 1)
        mark = "*" if model.is_marked(row.node) else " " if model.page.is_enabled(row.node) else "-"
        name = fit(f"n{row.record.position}", model.needs().name)
        parts = [
            Span(name, Role.STRONG if is_cursor else Role.PLAIN, is_fill=is_cursor),
            Span(mark, Role.OFF),
            Span(glyphs.of(state), state.role),
            Span(f" {fit(state.name, _STATE_CELLS)} " if cells >= _STATE_FROM else " ", state.role),
        ]
        if row.pool.slots > 1 and cells >= _STATE_FROM:
            parts += self._slots(row) if _is_usable(row) else [Span(" " * min(row.pool.slots, _MOST_SLOT_CELLS))]
            parts.append(Span(" "))
        is_news = model.lens is not Lens.STATE and glyph != state
        parts.append(glyphs.span(glyph) if is_news else Span(" "))
        if cells >= _PHASE_FROM:
            parts.append(Span(" " + fit(glyph.name if is_news else "", _PHASE_CELLS - 2), glyph.role))
        parts.append(Span(" "))
        if not found and cells < _STATE_FROM:
            parts.append(Span(f"{state.name} ", state.role))
        others = row.running_tasks + row.preparing_tasks - 1
        room = cells - width(parts)
        # In little room the symbol of the state tells that a task runs, too.
        is_short = cells < _STATE_FROM
        told = self._task(found[0], room + is_short, others)[is_short:] if found else self._rest(row, room)
        return cut(line(*parts, *(told if found or width(told) <= room else ())), cells)


def _is_usable(row: NodeRow) -> bool:
    return row.state is not None and NODE[row.state].role in (Role.RUNNING, Role.QUIET)


_QUIET = (Role.QUIET, Role.RUNNING, Role.OK)  # names are dim in these roles, so that trouble stands out


class MapLines:
    """Draws the rows of the map, and keeps those whose input is still the same."""

    def __init__(self, model: NodeMapModel) -> None:
        self._model = model
        self._cards = Cards(model)
        self._kept: dict[int, tuple[object, Line]] = {}  # by row: its input, and its line
        self._rows: tuple[object, list[Line]] = (None, [])  # drawn last

    def rows(self, rows: range, layout: Layout, cursor: int | None, cells: int) -> list[Line]:
        """Return the lines of these rows, cut to ``cells``; the same ones while all they show is the same.

        Cards and words tell also what changes with every task.
        """
        model = self._model
        looks = model.changes, rows, layout, cursor, cells, model.session.glyphs, tuple(model.session.marks)
        if layout.form in (Form.CARD, Form.LINE) or self._rows[0] != looks:
            lines = [cut(line, cells) for number in rows for line in self.row(number, layout, cursor)]
            self._rows = looks, lines
        return self._rows[1]

    def row(self, number: int, layout: Layout, cursor: int | None) -> list[Line]:
        """Return the lines of a row. ``cursor`` is the index of the node under the cursor, None without the focus."""
        count = len(self._model.nodes)
        unit = layout.nodes
        firsts = range(number * layout.columns * unit, min(count, (number + 1) * layout.columns * unit), unit)
        if not firsts:
            return [()] * layout.lines
        at = None if cursor is None else cursor // unit * unit
        if layout.form is Form.CARD:
            cards = [self._cards.card(first, layout.cells, layout.lines, is_cursor=first == at) for first in firsts]
            return [_beside([card[y] for card in cards], layout) for y in range(layout.lines)]
        if layout.form is Form.LINE:
            words = [self._cards.line(first, layout.cells, is_cursor=first == at) for first in firsts]
            return [_beside(words, layout)]
        return [self._symbols(number, firsts, layout, at)]

    def _symbols(self, number: int, firsts: range, layout: Layout, cursor: int | None) -> Line:
        """Return a row of names or symbols, drawn anew only if it has changed."""
        model = self._model
        here = slice(firsts.start, firsts[-1] + layout.nodes)
        nodes, marks = model.nodes[here], model.session.marks
        looks = (
            (model.lens, layout, model.session.glyphs.ascii_only, firsts, nodes),
            ([model.glyphs[code] for code in sorted(set(model.codes[here]))], model.codes[here]),
            bytes(map(model.page.is_enabled, nodes)) if layout.nodes == 1 else None,
            cursor if cursor in firsts else None,
            [ItemRef("node", node) in marks for node in nodes] if marks else None,
        )
        known = self._kept.get(number)
        if known is None or known[0] != looks:
            draw = {Form.NAME: self._name, Form.CELL: self._cell, Form.GROUP: self._group}[layout.form]
            label = Span(f"{model.position(firsts.start):>{layout.label - 1},} " if layout.label else "", Role.DIM)
            spans = [span for first in firsts for span in draw(first, layout, is_cursor=first == cursor)]
            known = self._kept[number] = looks, tuple(merged([label, *spans]))
        return known[1]

    def _name(self, index: int, layout: Layout, *, is_cursor: bool) -> list[Span]:
        """Return a symbol, the node's name, and its mark."""
        model, glyph = self._model, self._model.glyph(index)
        symbol, mark = self._signs(index, is_cursor=is_cursor)
        role = glyph.role if glyph.role not in _QUIET else Role.DIM
        name = fit(f"n{model.position(index)}{mark.text.strip()}", layout.cells - 1)
        return [symbol, Span(name, Role.STRONG if is_cursor else role)]

    def _cell(self, index: int, layout: Layout, *, is_cursor: bool) -> list[Span]:
        symbol, mark = self._signs(index, is_cursor=is_cursor)
        return [symbol, mark] if layout.cells > 1 else [symbol]

    def _signs(self, index: int, *, is_cursor: bool) -> tuple[Span, Span]:
        """Return a node's symbol, and the sign beside it: disabled scheduling, or a Spot node."""
        model, node, glyph = self._model, self._model.nodes[index], self._model.glyph(index)
        is_disabled = not model.page.is_enabled(node)
        text = "*" if model.is_marked(node) else model.session.glyphs.of(glyph)
        mark = "-" if is_disabled else " " if model.page.is_dedicated(node) else model.session.glyphs.spot
        symbol = Span(text, glyph.role, is_fill=is_cursor, is_underlined=is_disabled)
        return symbol, Span(mark, glyph.role if mark.strip() else Role.PLAIN)

    def _group(self, first: int, layout: Layout, *, is_cursor: bool) -> list[Span]:
        """Return the symbol of several nodes: filled if half of them or more have failed."""
        model = self._model
        glyph, share = self._shown_of(first, layout.nodes)
        marked = any(map(model.is_marked, model.nodes[first : first + layout.nodes])) if model.session.marks else False
        text = "*" if marked else model.session.glyphs.of(glyph)
        if is_cursor:
            return [Span(text, Role.CURSOR, is_fill=True, is_underlined=True)]
        return [Span(text, glyph.role, is_fill=glyph.role is Role.FAILED and share >= 0.5)]

    def _shown_of(self, first: int, count: int) -> tuple[Glyph, float]:
        """Return the glyph of several nodes, and their share that has it: the worst failure, else the most frequent."""
        model = self._model
        codes = model.codes[first : first + count]
        code = max(codes)
        if model.glyphs[code].role is not Role.FAILED:
            code = max(set(codes), key=lambda each: (codes.count(each), each))
            return model.glyphs[code], codes.count(code) / len(codes)
        failed = sum(codes.count(each) for each in set(codes) if model.glyphs[each].role is Role.FAILED)
        return model.glyphs[code], failed / len(codes)


def _beside(parts: list[Line], layout: Layout) -> Line:
    """Return the units of a row beside one another."""
    spans: list[Span] = []
    for part in parts:
        if spans:
            spans.append(Span(" " * layout.gap))
        shown = cut(part, layout.cells)
        spans += [*shown, Span(" " * (layout.cells - width(shown)))]
    return tuple(spans)
