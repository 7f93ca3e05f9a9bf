"""The page of a run: one HTML file that shows the run at each of some moments, with everything it needs inside.

The run is played again on a second simulation. Every figure is asked of the views that the dashboard, ``run`` and
``why`` ask. ``run_page.html``, ``.css`` and ``.js`` are the page without a run; the run is packed into it as JSON.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from hashlib import sha256
from html import escape
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.base.values import lazy_regex, visible
from engine.run.ahead import Replay
from engine.views.diagnosis.concerns import Attention, about_item, with_advice
from engine.views.diagnosis.expectations import ExpectationState, expectation_rows
from engine.views.diagnosis.model import Items
from engine.views.diagnosis.questions import explain
from engine.views.diagnosis.subjects import Answer
from engine.views.log.lanes import Lanes, PhasesOverTime
from engine.views.log.reader import FirstStarts
from engine.views.log.series import RunSeries
from engine.views.resources.instances import pages_of
from engine.views.resources.jobs import (
    JobsProgress,
    cost_so_far,
    deleted_pool_ids,
    has_preparation,
    job_ids,
    pool_ids,
    pool_row,
)
from engine.views.resources.nodes import NodePage
from engine.views.resources.tasks import TaskPage
from engine.views.results import end_of_run, task_totals
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import EXPECTATION, glyph_of_job, pool_glyph
from tui.viewmodels.timeline.kinds import glyph_of_stretch
from tui.viewmodels.timeline.rows import Extent, fitted
from tui.viewmodels.watch.attention import subjects_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.scenario.model import Scenario
    from engine.views.diagnosis.concerns import AttentionItem
    from engine.views.diagnosis.expectations import ExpectationRow
    from engine.views.diagnosis.model import Finding
    from engine.views.log.node_lane import TaskSpan
    from engine.views.log.series import Axis
    from engine.views.resources.jobs import JobProgress, NodeCounts
    from tui.viewmodels.glyphs import Glyph


MOST_MOMENTS = 240
MOST_SPANS = 300_000  # tasks on nodes; more would be tens of megabytes
_MOST_JOBS = 400
_MOST_EXPLAINED = 200  # nodes and jobs
_MOST_TASKS = 12  # of a job that are explained: the failed ones, then those that have not ended
_PIECE, _LINE = 65_536, 8192  # characters that are packed at once, and of a line of the packed run
_MORE = "", None  # in place of a part
_NO_JOB = (0,) * 17  # numbers of a job


def page_lines(run: Simulation, *, is_over: bool | None = None) -> Iterator[list[str]]:
    """Yield the lines of the page up to the moment that is shown, in portions; empty ones between slices of work.

    Args:
        run: The run, which may go on meanwhile.
        is_over: True if nothing more can happen in it, also if it has not been played so far.
    """
    recorder = _Recorder(run, is_over=run.finished if is_over is None else is_over)
    yield from recorder.play()
    packer = zlib.compressobj(9)
    packed, before = [], "{"
    for name, part in recorder.parts():
        yield []
        if not name:
            continue
        text = f"{before}{json.dumps(name)}:{json.dumps(_shown(part), ensure_ascii=False, separators=(',', ':'))}"
        for at in range(0, len(text), _PIECE):
            packed.append(packer.compress(text[at : at + _PIECE].encode()))
            yield []
        before = ","
    data = b64encode(b"".join([*packed, packer.compress(b"}"), packer.flush()])).decode()
    yield from _filled(run.scenario, [data[at : at + _LINE] for at in range(0, len(data), _LINE)])


def _filled(scenario: Scenario, data: list[str]) -> Iterator[list[str]]:
    """Yield the template with the run inside. Its policy allows its own script and style, and no network at all."""
    html, style, script = (Path(__file__).with_name(f"run_page.{kind}").read_text("utf-8") for kind in _KINDS)
    parts = {"title": escape(visible(scenario.name)), "style": style, "script": script}
    hashes = {f"{name}-hash": b64encode(sha256(parts[name].encode()).digest()).decode() for name in ("style", "script")}
    parts |= hashes
    before, after = (_PART.sub(lambda found: parts[found[1]], text) for text in html.split("@data@\n"))
    yield before.removesuffix("\n").split("\n")
    yield data
    yield after.removesuffix("\n").split("\n")


_KINDS = ("html", "css", "js")
_PART = lazy_regex("@([a-z-]+)@")
_NUMBERS = {int, float}


def _shown(value: object) -> object:
    """Return a value with control characters as escapes in all its texts."""
    match value:
        case str():
            return visible(value)
        case dict():
            return {visible(name): _shown(each) for name, each in value.items()}
        case list() | tuple() if not set(map(type, value)) <= _NUMBERS:
            return list(map(_shown, value))
    return value


def _steps(values: Sequence[int]) -> list[int]:
    """Return the first value, and the difference of each other one to the one before, which take less room."""
    return [*values[:1], *(later - earlier for earlier, later in pairwise(values))]


class _Numbers:
    """Numbers for what occurs again and again, in the order of its first occurrence."""

    def __init__(self) -> None:
        self._found: dict[Hashable, int] = {}

    def of(self, value: Hashable) -> int:
        """Return the number of a value."""
        return self._found.setdefault(value, len(self._found))

    def all(self) -> list[Any]:
        """Return the values by their numbers."""
        return list(self._found)


class _Recorder:
    """Plays a run again, and notes what it shows at each moment."""

    def __init__(self, run: Simulation, *, is_over: bool) -> None:
        self._until_ms, self._is_over = run.now_ms, is_over
        self._replay = Replay(run, is_over=is_over)
        self._twin = twin = self._replay.twin
        columns = fitted(Extent(0, run.now_ms, is_over=True), MOST_MOMENTS)
        self._moments = [*range(0, run.now_ms, columns.step_ms), run.now_ms]
        self._attention, self._progress = Attention(twin), JobsProgress(twin)
        self._concerns, self._glyphs = _Numbers(), _Numbers()
        self._listed: list[list[int]] = []  # the concerns of each moment
        self._totals: list[Sequence[int]] = []
        self._costs: list[str] = []
        self._jobs: dict[str, dict[int, Sequence[int]]] = {}  # by moment
        self._most_jobs = self._nodes_left_out = 0
        self._pools: dict[str, dict[int, Sequence[int]]] = {}

    def play(self) -> Iterator[list[str]]:
        """Play to the end, with what was done by hand; yield an empty portion now and then."""
        for has_come in self._replay.play(self._moments):
            if has_come:
                self._note()
            yield []

    def _note(self) -> None:
        twin, at = self._twin, len(self._totals)
        self._costs.append(fmt.money(cost_so_far(twin), twin.scenario.currency))
        listed = zip(self._attention.concerns(), self._attention.items(with_subjects=False), strict=True)
        self._listed.append([self._concern(*each) for each in listed])
        jobs = [found for job_id in job_ids(twin) if (found := self._progress.of(job_id)) is not None]
        rows = list(map(self._job, jobs))
        self._most_jobs = max(self._most_jobs, len(jobs))
        for job, row in islice(zip(jobs, rows, strict=True), _MOST_JOBS):
            self._jobs.setdefault(job.job_id, {})[at] = row
        tasks, sums = task_totals(twin), map(sum, zip(_NO_JOB, *rows, strict=True))
        self._totals.append((tasks.total, tasks.succeeded, tasks.failed, *islice(sums, 1, None)))
        for pool_id in (*pool_ids(twin), *deleted_pool_ids(twin)):
            pool = pool_row(twin, pool_id)
            if pool is not None:
                state = self._glyph(pool_glyph(pool.state, pool.allocation))
                self._pools.setdefault(pool_id, {})[at] = (state, pool.live_nodes, pool.target, pool.used_slots)

    def _concern(self, found: Finding, item: AttentionItem) -> int:
        told = item.severity, item.text, item.effect, item.remedy, item.rules
        return self._concerns.of((*told, found.since_ms, *_subject(found), tuple(found.items.nodes[:_MOST_EXPLAINED])))

    def _job(self, job: JobProgress) -> Sequence[int]:
        hooks = *_counts(job.preparation), *_counts(job.release)
        return self._glyph(glyph_of_job(job)), *job.tasks[:5], *hooks, self._attention.problems(job.job_id)

    def _glyph(self, glyph: Glyph) -> int:
        return self._glyphs.of((glyph.symbol, glyph.role.name.lower(), glyph.name))

    # -- the parts of the document -------------------------------------------------------------------------------

    def parts(self) -> Iterator[tuple[str, object]]:
        """Yield the parts of the document by their names; without a name between slices of work."""
        yield "moments", _steps(self._moments)
        yield "totals", list(map(_steps, zip(*self._totals, strict=True)))
        yield "costs", self._costs
        yield "pools", [[name, *self._columns(rows)] for name, rows in self._pools.items()]
        yield "curves", self._curves()
        yield from self._over_time()
        yield "concerns", self._concerns.all()
        yield "listed", self._listed
        answers: dict[str, object] = {}
        for subject, answer in self._answers():
            answers[subject] = answer
            yield _MORE
        yield "answers", answers
        rows = expectation_rows(self._twin)
        yield "expectations", [[self._glyph(EXPECTATION[row.state]), _said(row)] for row in rows]
        yield "glyphs", self._glyphs.all()
        yield "run", self._about()

    def _about(self) -> dict[str, object]:
        scenario, lasted = self._twin.scenario, fmt.span(self._until_ms)
        over = f"The whole run, {lasted}: {end_of_run(self._twin)}."
        so_far = f"The first {lasted} of the run, which goes on after this."
        notes = (
            [] if self._is_over else [f"The run so far, up to {fmt.clock(scenario.start, self._until_ms)}: it goes on."]
        )
        if self._most_jobs > _MOST_JOBS:
            notes.append(f"There are up to {self._most_jobs:,} jobs, of which the first {_MOST_JOBS:,} are listed.")
        if self._nodes_left_out:
            notes.append(f"The tasks on {fmt.counted(self._nodes_left_out, 'node')} are left out: they are too many.")
        return {
            "name": scenario.name,
            "description": scenario.description.strip(),
            "variant": fmt.variant_note(scenario),
            "seed": self._twin.seed,
            "start": scenario.start.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "notes": notes,
            "end": over if self._is_over else so_far,
        }

    def _columns(self, rows: dict[int, Sequence[int]]) -> Iterator[list[int]]:
        """Yield the columns of a table with a row for each moment; the first is -1 where there is none."""
        none = (-1, *[0] * (len(next(iter(rows.values()))) - 1))
        yield from (
            _steps(column) for column in zip(*(rows.get(at, none) for at in range(len(self._totals))), strict=True)
        )

    def _curves(self) -> list[object]:
        """Return the curves of all pools and all jobs: a title, the edges of the columns in ms, and the areas."""
        series = RunSeries(self._twin)
        series.read_all()
        nodes = series.of_pool(None, MOST_MOMENTS)
        tasks = series.of_job(None, MOST_MOMENTS)
        cost = f"Cost in {self._twin.scenario.currency}"
        curves: list[tuple[str, Axis, list[tuple[str, str, Sequence[float]]]]] = [
            ("Tasks", tasks.axis, [("running", "running", tasks.running), ("waiting", "quiet", tasks.waiting)]),
            (
                "Nodes",
                nodes.axis,
                [
                    ("running", "running", nodes.running),
                    ("idle", "quiet", nodes.idle),
                    ("starting", "transition", nodes.starting),
                    ("down", "off", nodes.down),
                ],
            ),
            ("Nodes that prepare", tasks.axis, [("preparing", "preparing", tasks.preparing_nodes)]),
            (
                "Tasks done in a minute",
                tasks.axis,
                [("failed", "failed", tasks.failed_a_minute), ("succeeded", "ok", tasks.succeeded_a_minute)],
            ),
            (cost, nodes.axis, [("cost", "ok", nodes.usd)]),
        ]
        return [
            [title, [edge * axis.every_ms for edge in axis.edges], [[*area, _rounded(each)] for *area, each in areas]]
            for title, axis, areas in curves
            if any(any(each) for _, _, each in areas)
        ]

    def _over_time(self) -> Iterator[tuple[str, object]]:
        """Yield what nodes and jobs did when: stretches and tasks by node, phases by job."""
        twin, lanes = self._twin, Lanes(self._twin)
        lanes.update()
        nodes: list[object] = []
        spans: list[tuple[int, ...]] = []
        for pool, pool_id in enumerate(self._pools):
            page = NodePage(twin, pool_id, *pages_of(twin, ""))
            for node in page.nodes():
                found = lanes.lane(node).stretches
                glyphs = [self._glyph(glyph_of_stretch(each)) for each in found]
                has_room = len(spans) < MOST_SPANS
                self._nodes_left_out += not has_room
                tracks = lanes.tracks(node).spans(0, self._until_ms + 1) if has_room else ()
                spans += chain.from_iterable(map(_gaps, tracks))
                begins = _steps([each.begin_ms for each in found])
                lengths = list(map(len, tracks))
                nodes.append([node, pool, page.position_of(node), page.id_of(node), lengths, begins, glyphs])
                yield _MORE
        yield "nodes", nodes
        yield "spans", list(map(list, zip(*spans, strict=True)))
        yield "tasks", TaskPage(twin, "").ids_of(range(self._totals[-1][0]))
        phases = PhasesOverTime(twin, lanes, FirstStarts(twin))
        jobs = []
        for job_id, rows in self._jobs.items():
            blocks = [[block.start, block.stop] for block in TaskPage(twin, job_id).ranges()]
            jobs.append([job_id, blocks, phases.of(job_id), *self._columns(rows)])
        yield "jobs", jobs

    def _answers(self) -> Iterator[tuple[str, object]]:
        """Yield the answers to "why?" at the end: about what is listed there, pools, jobs, nodes, and some tasks."""
        twin = self._twin
        asked: dict[tuple[str, int | str], str] = {}  # with the job whose hooks are told beside a node
        for concern in self._attention.concerns():
            kind, key = _subject(concern)
            if kind:
                asked[kind, key] = next(iter(concern.items.jobs), "")
        asked |= {("pool", pool_id): "" for pool_id in self._pools}
        for job_id in islice(self._jobs, _MOST_EXPLAINED):
            asked["job", job_id] = ""
            asked |= {("task", task): "" for task in islice(TaskPage(twin, job_id).order(), _MOST_TASKS)}
        for pool_id in self._pools:
            pool, page = pool_row(twin, pool_id), NodePage(twin, pool_id, *pages_of(twin, ""))
            jobs = () if pool is None else pool.jobs
            first = next((each for each in jobs if has_preparation(twin, each)), next(iter(jobs), ""))
            for node in islice(page.nodes(), _MOST_EXPLAINED):
                asked.setdefault(("node", node), first)
        for (kind, key), job_id in asked.items():
            told = explain(twin, kind, key, job_id)
            found = tuple(with_advice(twin, told, about_item(self._attention.concerns(), kind, key)))
            yield f"{kind}:{key}", Answer(twin, Items(), found, None).as_json()


def _subject(concern: Finding) -> tuple[str, int | str]:
    """Return kind and key of the first thing that a concern is about: the row of a task or node, the id of others."""
    return next(iter(subjects_of(concern)), ("", 0))


def _gaps(track: Sequence[TaskSpan]) -> Iterator[tuple[int, ...]]:
    """Yield the tasks of a track: ms since the one before, ms that it lasts or -1 if it still does, row, has failed."""
    before_ms = 0
    for span in track:
        lasts_ms = -1 if span.end_ms is None else span.end_ms - span.begin_ms
        yield span.begin_ms - before_ms, lasts_ms, span.task, int(span.has_failed)
        before_ms = span.begin_ms if span.end_ms is None else span.end_ms


def _counts(nodes: NodeCounts | None) -> tuple[int, int, int, int, int]:
    """Return on how many nodes preparation or release has run, runs, failed and was stopped, and of how many."""
    if nodes is None:
        return 0, 0, 0, 0, 0
    return nodes.ran, nodes.running, nodes.failed, nodes.stopped, nodes.total + nodes.stopped


def _said(row: ExpectationRow) -> str:
    """Return an expectation in words: what is seen if it is met, else what differs."""
    seen = ", ".join(f"{part.name} {part.seen}" for part in row.parts)
    return f"{row.subject} {row.when}: {seen if row.state is ExpectationState.MET else row.difference}"


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 3) for value in values]
