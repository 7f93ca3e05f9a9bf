"""The report of a run: everything in one file, HTML or Markdown, written whole or not at all."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from engine import Simulation, load_scenario
from engine.specs.commands import ResizePool
from tests.tui.driving import typed
from tests.tui.screen_text import messages_of
from tui.textual import views
from tui.viewmodels.report import report_lines, sections
from tui.viewmodels.session import Session
from tui.viewmodels.timeline.svg import Paint

LATER_S = 330


def report(session, *, is_html):
    paint = Paint(views.ground("dark"), views.colours("dark"), views.on_colours("dark"))
    return "\n".join(line for lines in report_lines(session, paint, is_html=is_html) for line in lines)


def pictures(text):
    found = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", text)
    return [ElementTree.fromstring(b64decode(each)) for each in found]


def test_the_report_says_what_ran_what_failed_and_what_was_done_by_hand(session_at):
    session = session_at(LATER_S)
    session.simulation.submit(ResizePool(pool_id="shared", target_dedicated_nodes=20))
    session.update()
    parts = {part.title: part for part in sections(session)}
    assert list(parts) == ["Run", "Pools", "Jobs", "Failures by cause", "Done by hand"]
    assert any("seed 8" in said or "with seed" in said for said in parts["Run"].sentences)
    assert parts["Pools"].rows[0][0] == "shared"
    assert parts["Jobs"].rows[0][:2] == ("risk", "active")
    assert ("preparation: exit code 3", "1", "08:02:12", "n1") in parts["Failures by cause"].rows
    assert [what for _, what in parts["Done by hand"].rows] == ["resize pool shared to 20"]


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):  # noqa: ARG002  # as the base class declares it
        self.seen.add(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_whole_and_needs_nothing_from_elsewhere(session_at):
    text = report(session_at(LATER_S), is_html=True)
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    assert {"h1", "h2", "table", "img"} <= tags.seen
    assert "http" not in re.sub(r"data:[^\"]*", "", text)
    assert len(pictures(text)) >= 3  # nodes, tasks, the timeline


def test_markdown_has_the_same_tables_and_its_pictures_are_text(session_at):
    text = report(session_at(LATER_S), is_html=False)
    assert "## Jobs" in text
    assert "| risk | active |" in text
    assert "data:" not in text  # which GitHub does not show
    _, curves, _, timeline, _ = text.split("```")
    assert "running" in curves.splitlines()[1]
    assert max(map(len, curves.splitlines())) <= 100
    assert [each.split()[0] for each in timeline.splitlines()[2:8]] == ["n0", "n1", "n2", "n3", "n4", "n5"]


def test_the_report_calls_a_run_over_where_nothing_more_can_happen():
    session = Session(Simulation(load_scenario("preparation-fails-on-one-node")))
    while session.ahead.advance(10_000):
        pass
    said = []
    for moment_ms in (60_000, session.ahead.end_ms):
        session.simulation.run_until(moment_ms)
        session.update()
        said.append(" ".join(sections(session)[0].sentences))
    assert not session.simulation.finished
    assert ["The run is over: nothing more can happen." in each for each in said] == [False, True]


def test_what_was_seen_names_only_what_was_expected(session_at):
    session = session_at(5_400, "spot-night-run")
    session.simulation.finish()
    (_, result, seen) = next(row for row in expectations(session) if "preempted: 4" in row[0])
    assert (result, seen) == ("met", "nodes: {total: 9, preempted: 4}, allocationState: steady, resizeErrors: []")


def expectations(session):
    return next(part.rows for part in sections(session) if part.title == "Expectations")


def test_refused_commands_are_no_failures_and_a_fault_says_what_it_hits(session_at):
    parts = {part.title: part for part in sections(session_at(6_000, "spot-night-run"))}
    rows = {row[0]: row for row in parts["Failures by cause"].rows}
    assert not any("refused" in why for why in rows)
    assert "node 3" in rows["fault: evictNode"][3]
    assert [row[1] for row in parts["Refused commands"].rows] == ["evictNode"]


def test_signs_of_markdown_and_html_stay_text():
    body = {"scenario": "signs", "description": "a <b> | c", "pools": [], "jobs": []}
    session = Session(Simulation(load_scenario("signs", text=json.dumps(body))))
    assert "a &lt;b&gt; | c" in report(session, is_html=True)
    assert "a \\<b> \\| c" in report(session, is_html=False)


def write(app, *keys):
    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            await app.workers.wait_for_complete()
            await pilot.pause()
            return messages_of(app)

    return asyncio.run(run())


@pytest.mark.parametrize("name", ["run.html", "run.md"])
def test_the_go_line_writes_it_whole_and_never_over_a_file(dashboard_at, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    keys = ("colon", *typed(f"report {name}"), "enter")
    assert write(dashboard_at(LATER_S), *keys) == [f"wrote the report to {name}"]
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert (
        write(dashboard_at(LATER_S), *keys, "home", "right", "enter")[0]
        == f"cannot write {name}: the file exists already."
    )


def test_export_on_the_watch_view_asks_for_a_report(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert write(dashboard_at(LATER_S), "e", "enter") == ["wrote the report to report.html"]


def test_another_ending_is_refused(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = write(dashboard_at(LATER_S), "colon", *typed("report x.pdf"), "enter")
    assert said == ["The file of a report must end in .html or .md."]
    assert list(tmp_path.iterdir()) == []


def test_the_go_line_asks_for_a_file_and_what_is_typed_goes_there(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("colon", *typed("report"), "enter")
    renamed = ("home", "x")
    assert write(dashboard_at(LATER_S), *asked, *renamed, "enter") == ["wrote the report to xreport.html"]
