"""The page of a run: what it says, that it is safe and needs nothing, and that it is written whole or not at all."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from engine import Simulation, load_scenario
from engine.specs.commands import ResizePool
from engine.views.diagnosis.concerns import Attention
from engine.views.results import task_totals
from tests.escapes import HOSTILE, controls_in, hostile_run
from tests.tui.driving import typed
from tests.tui.pages import CHROMIUM, content_of, messages_after, opened, page_of, requests_of, values
from tui.cli.commands import main
from tui.viewmodels.format import money
from tui.viewmodels.session import Session

LATER_S = 330
MOST_BYTES = 5_000_000
in_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

BIG = """\
scenario: big
account: {quotas: {dedicatedCores: 10000}}
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1000, taskSlotsPerNode: 4}]
jobs:
  - id: j
    poolInfo: {poolId: p}
    onAllTasksComplete: terminatejob
    taskFactory:
      type: parametricSweep
      parameterSets: [{start: 1, end: 20000}]
      repeatTask: {id: "deal-{0}", commandLine: "price {0}", simulate: {duration: {lognormal: [PT3M, 0.4]}}}
"""
NAME = "</script><img src=x onerror=\"document.title='broken'\">&'\" @style@ @data@ \u2028"


def whole(name, **given):
    simulation = Simulation(load_scenario(name, **given))
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    return simulation


@pytest.fixture(scope="module")
def forty(tmp_path_factory):
    """Return a whole run with forty nodes, its page, and the file of that."""
    simulation = whole("tests/tui/scenarios/forty-nodes.yaml")
    path = tmp_path_factory.mktemp("page") / "run.html"
    path.write_text(page_of(simulation), encoding="utf-8")
    return simulation, content_of(path.read_text(encoding="utf-8")), path


# -- what it says ----------------------------------------------------------------------------------------------------


def test_each_moment_has_the_figures_and_concerns_of_the_run_then(forty):
    simulation, page, _ = forty
    moments, (total, succeeded, failed, *_) = values(page["moments"]), map(values, page["totals"])
    assert moments[-1] == simulation.now_ms
    again = Simulation(simulation.scenario, simulation.seed)
    session, attention = Session(again), Attention(again)
    for at in range(0, len(moments), 17):
        again.run_until(moments[at])
        session.update()
        totals = task_totals(again)
        assert (total[at], succeeded[at], failed[at]) == (totals.total, totals.succeeded, totals.failed)
        assert page["costs"][at] == session.money(session.cost())
        listed = [page["concerns"][number] for number in page["listed"][at]]
        assert [each[1] for each in listed] == [each.text for each in attention.items(with_subjects=False)]
        (job,) = page["jobs"]
        running = values(job[3:][3])[at]
        assert running == sum(begin <= moments[at] < end for begin, end in spans(page)) == totals_running(again)


def spans(page):
    """Yield begin and end of each task on a node."""
    columns = list(zip(*page["spans"], strict=True))
    for node in page["nodes"]:
        for length in node[4]:
            now_ms = 0
            for gap, lasts, _, _ in columns[:length]:
                begin_ms = now_ms + gap
                now_ms = begin_ms + lasts if lasts >= 0 else 1 << 40
                yield begin_ms, now_ms
            del columns[:length]


def test_a_node_where_preparation_was_stopped_is_counted_and_named():
    columns = content_of(page_of(whole("nodes-fail-and-recover")))["jobs"][0][3:]
    ran, runs, failed, stopped, of = (values(column)[-1] for column in columns[6:11])
    assert (ran, runs, failed, stopped, of) == (5, 0, 0, 1, 6)


def totals_running(simulation):
    return Session(simulation).progress("shot-0412").tasks.running


def test_what_needs_attention_at_the_end_is_explained(forty):
    _, page, _ = forty
    listed = [page["concerns"][number] for number in page["listed"][-1]]
    assert listed
    for *_, kind, key, _ in listed:
        assert page["answers"][f"{kind}:{key}"]["findings"]


def test_the_same_run_is_the_same_page(forty):
    simulation, _, path = forty
    assert page_of(simulation) == path.read_text(encoding="utf-8")


def test_what_was_done_by_hand_is_in_the_page(session_at):
    session = session_at(LATER_S)
    session.simulation.submit(ResizePool(pool_id="shared", target_dedicated_nodes=20))
    session.simulation.run_until(400_000)
    page = content_of(page_of(session.simulation))
    assert values(page["pools"][0][3])[-1] == 20
    assert page["run"]["notes"] == ["The run so far, up to 08:06:40: it goes on."]
    assert page["run"]["end"].startswith("The first 00:06:40 of the run")
    session.simulation.seek(LATER_S * 1000)
    assert values(content_of(page_of(session.simulation))["pools"][0][3])[-1] == 5


def test_a_large_run_is_a_small_page():
    text = page_of(whole("big", text=BIG))
    assert len(text) < MOST_BYTES / 4  # with a fifth of the tasks
    page = content_of(text)
    assert (len(page["tasks"]), len(page["nodes"]), sum(map(len, page["spans"]))) == (20_000, 1000, 80_000)


def test_what_is_left_out_of_a_page_is_said(forty, monkeypatch):
    simulation, whole_page, _ = forty
    monkeypatch.setattr("tui.viewmodels.run_page.MOST_SPANS", 500)
    monkeypatch.setattr("tui.viewmodels.run_page._MOST_JOBS", 0)
    page = content_of(page_of(simulation))
    assert whole_page["run"]["notes"] == []
    assert page["run"]["notes"][0] == "There are up to 1 jobs, of which the first 0 are listed."
    assert re.fullmatch(r"The tasks on \d+ nodes are left out: they are too many\.", page["run"]["notes"][1])
    assert page["totals"] == whole_page["totals"]


def test_a_run_without_anything_has_a_page():
    page = content_of(page_of(whole("nothing", text='{"scenario": "nothing"}')))
    assert (page["moments"], page["nodes"], page["costs"]) == ([0], [], [money(0, "USD")])


# -- safe, and whole -------------------------------------------------------------------------------------------------


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_it_is_whole_and_needs_nothing_from_elsewhere(forty):
    tags = _Tags()
    tags.feed(forty[2].read_text(encoding="utf-8"))
    assert tags.open == []
    (policy,) = (attributes["content"] for _, attributes in tags.seen if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not any({"src", "href", "action", "onload", "style"} & set(attributes) for _, attributes in tags.seen)


@pytest.fixture
def hostile(tmp_path):
    """Return the page of a run whose names are markup and control characters, as a file."""
    body = {
        "scenario": NAME,
        "description": NAME + HOSTILE,
        "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}],
        "jobs": [
            {
                "id": "j",
                "poolInfo": {"poolId": "p"},
                "tasks": [{"id": "t", "displayName": NAME, "commandLine": NAME + HOSTILE}],
            }
        ],
    }
    path = tmp_path / "hostile.html"
    path.write_text(page_of(whole("hostile", text=json.dumps(body))), encoding="utf-8")
    return path


def test_names_are_never_markup_nor_controls(hostile):
    text = hostile.read_text(encoding="utf-8")
    assert "<img" not in text
    assert text.count("</script>") == 2
    assert not controls_in(text)
    assert not controls_in(json.dumps(content_of(text), ensure_ascii=False))
    assert content_of(text)["run"]["description"].startswith("</script><img src=x onerror=")


def test_no_text_of_a_hostile_run_has_controls():
    text = page_of(whole("hostile", text=hostile_run()))
    assert not controls_in(text)
    assert not controls_in(json.dumps(content_of(text), ensure_ascii=False))


# -- written ---------------------------------------------------------------------------------------------------------


def test_run_writes_it(tmp_path, monkeypatch, capsysbinary):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "job-prep-release-sample", "--html", "run.html", "--quiet"]) == 0
    written = (tmp_path / "run.html").read_bytes()
    assert [each.name for each in tmp_path.iterdir()] == ["run.html"]
    assert main(["run", "job-prep-release-sample", "--html", "-"]) == 0
    printed = capsysbinary.readouterr()
    assert printed.out == written
    assert b"Jobs" in printed.err


def test_the_go_line_writes_it_whole_and_never_over_a_file(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = ("colon", *typed("report x.html"), "enter")
    assert messages_after(dashboard_at(LATER_S), *keys) == ["wrote the run to x.html, up to 08:05:30"]
    assert [each.name for each in tmp_path.iterdir()] == ["x.html"]
    again = messages_after(dashboard_at(LATER_S), *keys, "home", "right", "enter")
    assert again[0] == "cannot write x.html: the file exists already."
    assert values(content_of((tmp_path / "x.html").read_text(encoding="utf-8"))["moments"])[-1] == LATER_S * 1000


@pytest.mark.parametrize("view", ["1", "8"])
def test_export_on_watch_and_timeline_asks_for_it(dashboard_at, tmp_path, monkeypatch, view):
    monkeypatch.chdir(tmp_path)
    assert messages_after(dashboard_at(LATER_S), view, "e", "enter") == ["wrote the run to run.html, up to 08:05:30"]


def test_another_ending_is_refused(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = messages_after(dashboard_at(LATER_S), "colon", *typed("report x.pdf"), "enter")
    assert said == ["The file of a report must end in .html."]
    assert list(tmp_path.iterdir()) == []


def test_the_go_line_asks_for_a_file_and_what_is_typed_goes_there(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("colon", *typed("report"), "enter")
    said = messages_after(dashboard_at(LATER_S), *asked, "home", "x", "enter")
    assert said == ["wrote the run to xrun.html, up to 08:05:30"]


# -- in a browser ----------------------------------------------------------------------------------------------------

KEY = "document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}'}}));"


def shown(document, name):
    """Return the text of the element with this id."""
    found = re.search(rf'<(\w+)[^>]* id="{name}"[^>]*>(.*?)</\1>', document, re.DOTALL)
    return re.sub(r"<[^>]*>", " ", found[2]).split()


@in_chromium
def test_a_browser_shows_the_end_first_and_any_moment_by_its_number(forty, tmp_path):
    _, page, path = forty
    document = opened(path, tmp_path)
    assert f'data-at="{len(page["moments"]) - 1}"' in document
    assert shown(document, "clock")[0] == "09:10:26"
    document = opened(path, tmp_path, moment="#40")
    assert 'data-at="40"' in document
    assert "preparation" in shown(document, "attention")


# Where keys lead from the end of the run, one row after another.
SCRUBBED = [
    (["ArrowLeft", "ArrowLeft", "ArrowRight"], -2),
    (["Home"], 0),
    (["Home", "ArrowRight", "PageUp", "PageDown", "PageUp"], 11),
    (["Home", "End"], -1),
]


@in_chromium
def test_keys_scrub(forty, tmp_path):
    _, page, path = forty
    note = "places.push(document.querySelector('[data-at]').dataset.at);"
    pressed = note.join("".join(map(KEY.format, keys)) for keys, _ in SCRUBBED)
    script = f"const places = []; {pressed} {note} document.title = places.join(' ');"
    document = opened(path, tmp_path, script=script)
    (title,) = re.findall(r"<title>([\d ]+)</title>", document)
    assert list(map(int, title.split())) == [at % len(page["moments"]) for _, at in SCRUBBED]


@in_chromium
def test_what_is_chosen_is_explained(forty, tmp_path):
    script = "document.querySelector('#attention .concern').click();"
    said = " ".join(shown(opened(forty[2], tmp_path, script=script, moment="#100"), "why-said"))
    assert said.startswith("n7 of pool render")
    assert "As of 09:10:26" in said


@in_chromium
def test_no_request_leaves_the_page(forty, tmp_path):
    folders = [tmp_path / "with", tmp_path / "without"]
    for folder in folders:
        folder.mkdir()
    path = tmp_path / "asks.html"
    asks = "<img src='http://127.0.0.1:9/image'>"
    path.write_text(forty[2].read_text(encoding="utf-8").replace("</body>", f"{asks}</body>"), encoding="utf-8")
    assert 'data-ready="yes"' in opened(path, folders[0])
    assert not requests_of(folders[0])  # the policy forbids it
    path.write_text(f"<!doctype html><body>{asks}</body>", encoding="utf-8")
    opened(path, folders[1])
    assert requests_of(folders[1]) == {"http://127.0.0.1:9/image"}
    opened(forty[2], folders[0])
    assert not requests_of(folders[0])


@in_chromium
def test_hostile_names_stay_text_in_a_browser(hostile, tmp_path):
    document = opened(hostile, tmp_path)
    assert 'data-ready="yes"' in document
    assert "<title>broken" not in document
    assert "<img" not in document
    assert "&lt;/script&gt;&lt;img src=x" in document


def test_a_release_that_failed_is_counted_and_explained():
    sim = Simulation(load_scenario("release-fails"))
    sim.run_until(sim.end_ms)
    sim.finish()
    page = content_of(page_of(sim))
    (job,) = page["jobs"]
    failed, problems = (sum(column) for column in (job[-4], job[-1]))
    assert (failed, problems) == (2, 2)
    asked = {one["question"] for one in page["answers"]["node:1"]["findings"]}
    assert "Why did release fail on n1, of job shot-0007?" in asked
