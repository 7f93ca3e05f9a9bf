"""The report of a run: what ran, its cost, failures, expectations and commands by hand, as the lines of one file.

HTML has its pictures inside. Markdown has them as text: many of its viewers, GitHub among them, show no picture that is
inside a file, and its reader may be an editor. The variant of a study that is shown is named in words.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import visible
from engine.scenario.record import values_text
from engine.views.log.series import Window
from engine.views.results import given_by_hand, summary
from tui.viewmodels import format as fmt
from tui.viewmodels.format import command_words, what
from tui.viewmodels.sentences import cause
from tui.viewmodels.text import Role, plain
from tui.viewmodels.timeline.svg import drawn
from tui.viewmodels.timeline.timeline import TimelineModel
from tui.viewmodels.watch.charts import charts_of
from tui.viewmodels.watch.curves import CurvesModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.run.conditions import Outcome
    from engine.scenario.model import ChosenVariant, Scenario
    from engine.views.results import Summary
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Line
    from tui.viewmodels.timeline.svg import Paint
    from tui.viewmodels.watch.charts import Chart


_WIDTH, _HEIGHT = 560, 150  # pixels of the plot
_LEFT, _TOP, _BOTTOM = 56, 26, 40  # pixels around it
_COLUMNS = 140
_LETTER = 7.3


def chart_pictures(session: Session, paint: Paint) -> list[tuple[str, str]]:
    """Return the curves of the pool and the job in focus since the start of the run, each with its title."""
    session.series.read_all()
    charts = charts_of(session, session.pool_id, session.job_id, Window.ALL, _COLUMNS)
    return [(chart.title, visible(_picture(session, chart, paint))) for chart in charts if chart.top > 0]


def _picture(session: Session, chart: Chart, paint: Paint) -> str:
    width, height = _LEFT + _WIDTH + 12, _TOP + _HEIGHT + _BOTTOM
    colours = paint.colours
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="monospace" font-size="12">',
        f"<title>{escape(chart.title)}</title>",
        f'<rect width="100%" height="100%" fill="{paint.ground}"/>',
        _text(_LEFT, 16, colours[Role.STRONG], chart.title),
        _text(2, _TOP + 10, colours[Role.DIM], chart.label(chart.top)),
        _text(2, _TOP + _HEIGHT, colours[Role.DIM], chart.label(0)),
        f'<path stroke="{colours[Role.DIM]}" d="M{_LEFT} {_TOP + _HEIGHT}h{_WIDTH}"/>',
    ]
    below = [0.0] * max((len(layer.values) for layer in chart.layers), default=0)
    for layer in chart.layers:
        above = [low + value for low, value in zip(below, layer.values, strict=True)]
        if any(layer.values):
            parts.append(f'<path fill="{colours[layer.role]}" d="{_area(below, above, chart.top)}"/>')
        below = above
    if chart.line is not None and any(chart.line.values):
        path = "M" + "L".join(_points(chart.line.values, chart.top))
        parts.append(f'<path fill="none" stroke="{colours[chart.line.role]}" stroke-width="1.5" d="{path}"/>')
    begin, end = session.clock(chart.axis.begin_ms), session.clock(min(chart.axis.end_ms, session.now_ms))
    parts.append(_text(_LEFT, _TOP + _HEIGHT + 15, colours[Role.DIM], begin))
    parts.append(_text(_LEFT + _WIDTH - len(end) * _LETTER, _TOP + _HEIGHT + 15, colours[Role.DIM], end))
    return "".join([*parts, *_legend(chart, paint), "</svg>"])


def _points(values: Sequence[float], top: float) -> list[str]:
    step = _WIDTH / max(1, len(values) - 1)
    return [f"{_LEFT + at * step:.1f} {_TOP + _HEIGHT * (1 - value / top):.1f}" for at, value in enumerate(values)]


def _area(below: Sequence[float], above: Sequence[float], top: float) -> str:
    return "M" + "L".join([*_points(above, top), *reversed(_points(below, top))]) + "Z"


def _legend(chart: Chart, paint: Paint) -> list[str]:
    """Return the names of the areas and the line, each beside its colour."""
    x, y = float(_LEFT), _TOP + _HEIGHT + 32
    drawn: list[str] = []
    for layer in (*chart.layers, *([chart.line] if chart.line is not None else [])):
        if any(layer.values):
            drawn.append(f'<rect x="{x:g}" y="{y - 9}" width="10" height="10" fill="{paint.colours[layer.role]}"/>')
            drawn.append(_text(x + 14, y, paint.colours[Role.PLAIN], layer.name))
            x += 30 + len(layer.name) * _LETTER
    return drawn


def _text(x: float, y: float, colour: str, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}">{escape(text)}</text>'


def variant_note(scenario: Scenario) -> str:
    """Return which variant a scenario is, with its values; empty if it is none."""
    variant = scenario.variant
    return "" if variant is None else f"variant {variant.number:,}: {values_text(variant.values)}"


def reloaded_note(before: ChosenVariant | None, now: ChosenVariant | None) -> str:
    """Return the message after the file of a scenario was read again, with the variant that is shown."""
    if before is None:
        return "Reloaded."
    if now is None:
        return "Reloaded. The scenario has no variants any more."
    if now.values != before.values:
        return f"Reloaded. Variant {now.number:,} has other values now: {values_text(now.values)}"
    was = "" if now.number == before.number else f", which was variant {before.number:,}"
    return f"Reloaded variant {now.number:,}{was}."


_MOST_FAILURES = 5_000  # read, the newest
_MOST_CAUSES = 20
_MOST_NAMES = 3
_REFUSED = "CommandRefused"
_MOST_BY_HAND = 200


class Section(NamedTuple):
    """A part of the report: a heading with sentences, and a table, which may be empty."""

    title: str
    sentences: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def sections(session: Session) -> list[Section]:
    """Return the report up to the moment that is shown, without its pictures."""
    found = summary(session.simulation)
    parts = [_run(session, found), _pools(found), _jobs(found), _schedules(found), _failures(session)]
    parts += [_expectations(session, found), _refusals(session, found), _by_hand(session)]
    return [part for part in parts if part.sentences or part.rows]


def _run(session: Session, found: Summary) -> Section:
    tasks, scenario = found.tasks, session.simulation.scenario
    end = f"The run is over: {found.why_over}." if session.is_over else "The run is not over yet."
    variant = variant_note(scenario)
    sentences = [
        *([f"This is {variant}."] if variant else []),
        f"{found.scenario} with seed {found.seed}, from {fmt.date_and_clock(found.start, 0)}"
        f" to {fmt.date_and_clock(found.start, found.end_ms)}, {fmt.span(found.end_ms)} in all. {end}",
        f"{tasks.succeeded:,} of {fmt.counted(tasks.total, 'task')} succeeded, {tasks.failed:,} failed,"
        f" {tasks.active:,} are not completed.",
        f"The nodes cost {fmt.money(found.cost, found.currency)}. {fmt.counted(found.events, 'event')} were logged.",
    ]
    return Section("Run", [scenario.description.strip(), *sentences] if scenario.description else sentences)


def _pools(found: Summary) -> Section:
    heads = ("Pool", "VM size", "State", "Nodes", "Node hours", "Cost", "Resize errors")
    rows = [
        (
            pool.pool_id,
            pool.vm_size,
            pool.state,
            f"{pool.nodes:,}",
            f"{pool.node_hours:,.2f}",
            fmt.money(pool.cost, found.currency),
            ", ".join(pool.resize_errors),
        )
        for pool in found.pools
    ]
    return Section("Pools", (), heads, rows)


def _jobs(found: Summary) -> Section:
    heads = ("Job", "State", "Reason", "Tasks", "Succeeded", "Failed", "Preparation", "Release")
    rows = [
        (
            job.job_id,
            job.state,
            job.reason or "",
            f"{job.tasks.total:,}",
            f"{job.tasks.succeeded:,}",
            f"{job.tasks.failed:,}",
            _runs(job.preparations.count, job.preparations.failed),
            _runs(job.releases.count, job.releases.failed),
        )
        for job in found.jobs
    ]
    return Section("Jobs", (), heads, rows)


def _runs(count: int, failed: int) -> str:
    """Return on how many nodes preparation or release ran, and failed."""
    said = f"on {fmt.counted(count, 'node')}" if count else ""
    return f"{said}, {failed:,} failed" if failed else said


def _schedules(found: Summary) -> Section:
    heads = ("Job schedule", "State", "Jobs created", "Occurrences missed", "Last job")
    rows = [
        (each.schedule_id, each.state_word, f"{each.record.jobs_made:,}", f"{each.missed:,}", each.recent_job)
        for each in found.job_schedules
    ]
    return Section("Job schedules", (), heads, rows)


def _failures(session: Session) -> Section:
    events = session.events
    failures = events.failures()
    if not failures:
        return Section("Failures", ["Nothing failed."])
    counts: Counter[str] = Counter()
    first_ms: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for number in failures[-_MOST_FAILURES:]:
        event = events.row(number)
        if event.event == _REFUSED:
            continue  # they have a table of their own
        why = cause(event)
        counts[why] += 1
        first_ms.setdefault(why, events.when_ms(number))
        known = names.setdefault(why, [])
        node = f"n{event.position}" if event.position is not None else None
        name = event.task_id or node or event.pool_id or event.job_id or what(event)
        if name and name not in known and len(known) < _MOST_NAMES:
            known.append(name)
    common = counts.most_common(_MOST_CAUSES)
    rows = [(why, f"{count:,}", session.clock(first_ms[why]), ", ".join(names[why])) for why, count in common]
    if not rows:
        return Section("Failures", ["Nothing failed."])
    said = [f"Of {len(failures):,} failures the newest {_MOST_FAILURES:,}."] if len(failures) > _MOST_FAILURES else []
    return Section("Failures by cause", said, ("Cause", "Number", "First", "For instance"), rows)


def _expectations(session: Session, found: Summary) -> Section:
    known: Sequence[Outcome] = found.expectations
    said = []
    if not known and session.ahead.expectations:
        known, said = session.ahead.expectations, ["At the simulated end of the run, if nothing more is done by hand."]
    rows = [(_written(each.written), "met" if each.met else "broken", _written(each.asked_for)) for each in known]
    return Section("Expectations", said if rows else (), ("Expected", "Result", "Actual"), rows)


def _written(expected: object) -> str:
    """Return an expectation as it stands in the scenario, on one line."""
    if isinstance(expected, dict):
        return ", ".join(
            f"{name}: {{{_written(value)}}}" if isinstance(value, dict) else f"{name}: {value}"
            for name, value in expected.items()
        )
    return str(expected)


def _refusals(session: Session, found: Summary) -> Section:
    rows = [
        (session.clock(each.at_ms), each.command, each.subject, each.code, "yes" if each.announced else "no")
        for each in found.refused
    ]
    return Section("Refused commands", (), ("When", "Command", "Subject", "Code", "Expected"), rows)


def _by_hand(session: Session) -> Section:
    given = given_by_hand(session.simulation)
    rows = [(session.clock(when_ms), command_words(command)) for when_ms, command in given[:_MOST_BY_HAND]]
    rest = len(given) - len(rows)
    return Section("Done by hand", [f"And {rest:,} more."] if rest else [], ("When", "What"), rows)


_MOST_ROWS = 1_000  # nodes in the picture of the timeline
_TIMELINE_CELLS = 130
_TEXT_CELLS = 100


def report_lines(session: Session, paint: Paint, *, is_html: bool) -> Iterator[list[str]]:
    """Yield the lines of the file in portions. An empty portion lets the caller yield to the event loop."""
    yield from (list(map(visible, lines)) for lines in _report(session, paint, is_html=is_html))


def _report(session: Session, paint: Paint, *, is_html: bool) -> Iterator[list[str]]:
    scenario = session.simulation.scenario
    variant = "" if scenario.variant is None else f", variant {scenario.variant.number:,}"
    title = f"{scenario.name}{variant}: report of the run"
    parts = sections(session)
    yield _html_head(title, paint) if is_html else [f"# {_plain(title)}", ""]
    section = _html_section if is_html else _markdown_section
    yield section(parts[0])
    yield from _pictures(session, paint) if is_html else _drawings(session)
    for part in parts[1:]:
        yield section(part)
    if is_html:
        yield ["</body></html>"]


def _pictures(session: Session, paint: Paint) -> Iterator[list[str]]:
    """Yield the curves and the timeline as pictures."""
    for name, svg in chart_pictures(session, paint):
        yield [_image(name, svg)]
    model = _timeline(session)
    if model is not None:
        lines: list[str] = []
        for portion in drawn(model, paint):
            lines += portion
            yield []
        yield [_image("Timeline", "".join(lines))]


def _drawings(session: Session) -> Iterator[list[str]]:
    """Yield the curves and the timeline as text."""
    session.series.read_all()
    curves = CurvesModel(session, Window.ALL)
    curves.has_grounds = False
    if not curves.is_empty:
        curves.lines(_TEXT_CELLS, 1)  # counts the charts
        yield _drawing(curves.title, curves.lines(_TEXT_CELLS, curves.best_rows(_TEXT_CELLS)))
    model = _timeline(session)
    if model is not None:
        lines = [model.axis()]
        for at in range(len(model.keys)):
            lines += model.row_lines(at, is_cursor=False)
            yield []
        yield _drawing("Timeline", [*lines, (), model.legend(_TEXT_CELLS, range(len(model.keys)))])


def _drawing(title: str, lines: Sequence[Line]) -> list[str]:
    return [f"## {_plain(title)}", "", "```text", *(plain(each).rstrip() for each in lines), "```", ""]


def _timeline(session: Session) -> TimelineModel | None:
    """Return the timeline of the whole run; None without nodes or with very many of them."""
    model = TimelineModel(session)
    model.update(_TIMELINE_CELLS)
    model.fit()
    return model if 0 < len(model.keys) <= _MOST_ROWS else None


def _html_head(title: str, paint: Paint) -> list[str]:
    plain, dim, strong = (paint.colours[role] for role in (Role.PLAIN, Role.DIM, Role.KEY))
    return [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(title)}</title>",
        "<style>",
        f"body{{background:{paint.ground};color:{plain};font-family:sans-serif}}",
        "body{margin:2em auto;max-width:80em;padding:0 1em}",
        f"h1,h2{{color:{strong}}}th,td{{text-align:left;padding:.2em 1em .2em 0;border-bottom:1px solid {dim}}}",
        "table{border-collapse:collapse}img{max-width:100%}",
        "</style></head><body>",
        f"<h1>{escape(title)}</h1>",
    ]


def _html_section(part: Section) -> list[str]:
    lines = [f"<h2>{escape(part.title)}</h2>", *(f"<p>{escape(each)}</p>" for each in part.sentences)]
    if part.rows:
        lines += ["<table>", _html_row(part.heads, "th"), *(_html_row(row, "td") for row in part.rows), "</table>"]
    return lines


def _html_row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _markdown_section(part: Section) -> list[str]:
    lines = [f"## {part.title}", ""]
    for each in part.sentences:
        lines += [_plain(each), ""]
    if part.rows:
        rows = [part.heads, ["---"] * len(part.heads), *([_plain(cell) for cell in row] for row in part.rows)]
        lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
    return lines


def _plain(text: str) -> str:
    """Return a text so that Markdown shows it as it is, in one line."""
    text = visible(text)
    for sign in "\\|*_`<[":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _image(name: str, svg: str) -> str:
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    return f'<p><img alt="{escape(name)}" src="{source}"></p>'
