"""View models on a small scenario: what they say, without Textual."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.views.hook_status import HookStatus
from tests.builders import READY_S, a_job, a_line, a_pool, mpi_pool, run_to, simulation, together
from tests.tui.detail_pages import the
from tui.viewmodels.frame import LAST_HINTS, Transport, breadcrumb, hints, of_use, scrubber, scrubber_ms
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, block_lines, plain, width
from tui.viewmodels.watch import job_strip, node_map
from tui.viewmodels.watch.attention import AttentionModel
from tui.viewmodels.watch.node_cards import MapLines
from tui.viewmodels.watch.node_map import Form, Layout, Lens, Needs, NodeMapModel, layout_for

PREPARING_S, WORKING_S, LATER_S, END_S = 70, 200, 330, 100_000
MODELS = [PreparationModel, ReleaseModel, NodesModel, TasksModel, JobsModel, PoolsModel, EventsModel]


def rows(model):
    """The visible texts of all rows."""
    model.update()
    return [[span.text.strip() for span in model.cells(model.key(at))] for at in range(model.count)]


def texts(lines):
    return [plain(each) for each in lines]


def test_a_pool_tells_why_its_resize_fell_short_and_how_its_network_is():
    desk = "/subscriptions/1/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/corp/subnets/desk"
    pool = a_pool(nodes=60, networkConfiguration={"subnetId": desk}, targetNodeCommunicationMode="classic")
    sim = simulation(pool=pool, simulate={"network": {"*/desk": {"freeAddresses": 90, "blocked": [29877]}}})
    run_to(sim, minutes=2)
    model = PoolsModel(Session(sim))
    assert rows(model)[0][3:6] == ["steady ✗", "standard_d2s_v3", "50/60"]
    assert plain(model.sentence(0)) == "p: 50 starting  resize: AccountCoreQuotaReached"
    shown = texts(block_lines(model.details(0), 100))
    at = shown.index("Resize errors")
    assert shown[at + 1].split(maxsplit=1)[0] == "AccountCoreQuotaReached"
    assert " ".join(shown[at + 2].split()) == "Reason the pool asked for 120 dedicated cores; 0 of 100 were in use"
    at = shown.index("Network")
    assert [" ".join(each.split()) for each in shown[at + 1 : at + 7]] == [
        "Communication mode classic",
        "Closed ports 29877",
        "Subnet /subscriptions/1/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/",
        "corp/subnets/desk",
        "Free addresses 40",
        "Load balancers 1",
    ]


@pytest.mark.parametrize(
    ("more", "ports"),
    [({}, "any"), ({"vmSize": "small", "cloudServiceConfiguration": {"osFamily": "5"}}, "above 1100")],
)
def test_pool_12_on_which_ports_nodes_reach_one_another(more, ports):
    sim = simulation(pool=a_pool(nodes=1, enableInterNodeCommunication=True, **more))
    run_to(sim, minutes=1)
    model = PoolsModel(Session(sim))
    model.update()
    network = next(block for block in model.details(0) if block.title == "Network")
    assert dict(network.rows)["Ports between nodes"].text == ports


def test_a_task_on_several_nodes_lists_its_subtasks():
    coordinate = a_line(10, command="mpd", simulate={"onNode": {2: {"exitCode": 7}}})
    sim = simulation(a_job(tasks=[together(coordinate=coordinate)]), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 5)
    model = TasksModel(Session(sim))
    model.update()
    shown = texts(block_lines(model.details(model.key(0)), 100))
    at = shown.index("Subtasks")
    assert [each.split(maxsplit=1) for each in shown[at + 1 : at + 3]] == [
        ["1", "running, on n1, since 08:00:50"],
        ["2", "running, on n2, since 08:00:50"],
    ]
    run_to(sim, seconds=READY_S + 30)
    shown = texts(block_lines(model.details(model.key(0)), 100))
    at = shown.index("Subtasks")
    assert shown[at + 2].split(maxsplit=1)[1] == "completed, on n2, until 08:01:01, exit 7"
    log = EventsModel(Session(sim))
    told = [row[1:6] for row in rows(log) if row[1] == "subtask"]
    assert told[1] == ["subtask", "running on n2", "mpi, subtask 2", "j", "MI-3"]
    assert told[2] == ["subtask", "running → completed on n2 exit 7", "mpi, subtask 2", "j", "MI-6"]


def test_preparation_shows_trouble_first_then_what_runs_then_what_is_done(session_at):
    shown = rows(PreparationModel(session_at(LATER_S)))
    assert [row[0] for row in shown] == ["✗", "▸", "✓", "✓", "✓", "∅"]
    failed = shown[0]
    assert failed[1].startswith("n1")
    assert failed[3] == "failure"
    assert failed[6:8] == ["3", "1"]


def test_a_node_that_left_keeps_its_record_and_says_when_it_left(session_at):
    model = PreparationModel(session_at(LATER_S))
    model.update()
    gone = model.key(model.count - 1)
    assert model.cells(gone)[3].text == "success"
    assert any("left the pool at 08:03" in text for text in texts(block_lines(model.details(gone), 60)))


def test_a_retry_is_told_from_a_first_try(session_at):
    model = PreparationModel(session_at(110))
    assert [row[0] for row in rows(model)].count("»") == 2
    assert "retrying" in plain(model.summary())


def test_a_reboot_makes_a_success_void_until_it_runs_again(session_at):
    shown = rows(PreparationModel(session_at(280)))
    superseded = next(row for row in shown if row[0] == "≃")
    assert superseded[1].startswith("n3")
    assert superseded[3] == "success"


def test_nodes_without_a_record_are_shown_on_demand(session_at):
    model = ReleaseModel(session_at(LATER_S))
    assert rows(model) == []
    assert "At present 4 nodes would run it." in " ".join(model.empty())
    model.with_all = True
    assert {row[2] for row in rows(model)} >= {"owed", "not needed"}


def test_a_release_that_no_node_owes_is_not_offered_to_be_shown(session_at):
    model = ReleaseModel(session_at(480, "preparation-fails-everywhere"))
    model.update()
    assert model.empty()[1] == "At present no node would run it. a terminates the job."


def test_release_after_the_job_has_ended(session_at):
    session = session_at(END_S)
    shown = rows(ReleaseModel(session))
    assert len(shown) == 4
    assert {row[3] for row in shown} == {"success"}
    release = session.job("risk").phases.release
    assert release[HookStatus.SUCCEEDED] == 4


@pytest.mark.parametrize("model", MODELS)
def test_before_the_start_every_list_says_why_it_is_empty(session_at, model):
    session = session_at(0)
    session.simulation.seek(0)
    empty = model(session)
    assert all(sentence.strip() for sentence in empty.empty())


def test_a_job_without_hooks_says_so(session_at):
    session = session_at(300, "plain-job")
    model = PreparationModel(session)
    assert rows(model) == []
    assert "JobPreparationTaskNotSpecified" in " ".join(model.empty())
    assert "has no job release task" in " ".join(ReleaseModel(session).empty())
    assert [each.split()[0] for each in texts(job_strip.rail(session, 110, 4))[:-1]] == ["Tasks"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seconds", [PREPARING_S, WORKING_S, LATER_S, END_S])
def test_every_row_has_a_cell_for_each_column_and_details(session_at, model, seconds):
    shown = model(session_at(seconds))
    shown.update()
    for at in range(min(shown.count, 50)):
        key = shown.key(at)
        assert len(shown.cells(key)) == len(shown.columns)
        assert all(width(each) <= 40 for each in block_lines(shown.details(key), 40))
        assert shown.index_of(key) == at


@pytest.mark.parametrize("model", [NodesModel, TasksModel, PreparationModel, JobsModel])
def test_sorting_by_any_column_keeps_all_rows(session_at, model):
    shown = model(session_at(LATER_S))
    shown.update()
    everything = sorted(shown.key(at) for at in range(shown.count))
    for column in shown.columns:
        if column.name:
            shown.sort_by(column.name)
            shown.update()
            assert sorted(shown.key(at) for at in range(shown.count)) == everything


def test_tasks_have_failed_ones_first_and_running_ones_next(session_at):
    states = [(row[2], row[3]) for row in rows(TasksModel(session_at(LATER_S)))]
    failed = [state for state in states if state == ("completed", "failure")]
    assert failed
    assert states[: len(failed)] == failed
    running = [state for state in states if state[0] == "running"]
    assert states[len(failed) : len(failed) + len(running)] == running
    assert len(states) == 40


def test_only_failed_and_a_filter_hide_rows_and_say_how_many(session_at):
    model = TasksModel(session_at(LATER_S))
    model.filter_text = "state:active"
    shown = rows(model)
    assert {row[2] for row in shown} == {"active"}
    assert f"{40 - len(shown)} hidden" in plain(model.arrangement())
    model.filter_text = "no-such-task"
    assert rows(model) == []
    assert "Esc clears the filter, which hides 40 rows." in model.nothing_shown()[0]
    assert model.clear_filter()
    model.only_failed = True
    assert {row[3] for row in rows(model)} == {"failure"}


def test_counts_on_the_rail_are_the_counts_of_the_tables(session_at):
    session = session_at(WORKING_S)
    counts = session.job("risk").phases.tasks
    states = [row[2] for row in rows(TasksModel(session))]
    assert counts.total == len(states) == 40
    assert (counts.active, counts.running) == (states.count("active"), states.count("running"))
    assert counts.succeeded + counts.failed == states.count("completed")


def test_the_rail_names_all_three_phases_at_every_width(session_at):
    session = session_at(WORKING_S)
    for cells in (58, 78, 116, 200):
        lines = job_strip.rail(session, cells, 3 if cells < 100 else 4)
        assert all(width(each) <= cells for each in lines)
        assert [plain(each).split()[0][:4] for each in lines[:3]] == ["Prep", "Task", "Rele"]


def test_attention_groups_by_cause_and_says_what_that_holds_up(session_at):
    model = AttentionModel(session_at(LATER_S))
    model.update()
    said = " ".join(plain(text) for _, text in model.lines(60))
    assert "preparation task failed on n1: exit code 3" in said
    assert "no task of the job runs there (PREP-9)" in said
    assert "a reimage would fail again (simulated)" in " ".join(said.split())
    assert "a: remove, then resize the pool for another node" in said
    assert "failed: exit code 1" in said
    number = next(number for number, concern in enumerate(model.concerns) if concern.about == "preparation")
    assert model.destination(number) == ("preparation", 1, ItemRef("job", "risk"))


def test_preparation_that_failed_everywhere_is_said_first(session_at):
    model = AttentionModel(session_at(600, "preparation-fails-everywhere"))
    model.update()
    assert model.concerns[0].text == "preparation of shot-0815 failed on every node: exit code 3"
    assert "PREP-11" in model.concerns[0].effect


def test_the_page_and_the_row_of_a_job_do_not_wait_for_slots_that_are_free_where_its_tasks_cannot_run(session_at):
    session = session_at(600, "preparation-fails-everywhere")
    (head,) = the(session, ItemRef("job", "shot-0815")).head(118)
    assert plain(head).endswith("waits for a node that can run its tasks")


@pytest.mark.parametrize("lens", list(Lens))
def test_the_map_has_exactly_one_cell_for_each_node(session_at, monkeypatch, lens):
    monkeypatch.setattr(node_map, "MOST_CARDS", 0)  # show the node that has left, too
    model = NodeMapModel(session_at(LATER_S))
    model.look_through(lens)
    (drawn,) = MapLines(model).row(0, Layout(Form.CELL, 10, 1), None)
    cells = plain(drawn).strip()
    assert len(cells) == len(model.nodes) == 6
    assert sum(count for _, count in model.counts()) == 6


@pytest.mark.parametrize(
    ("nodes", "form", "per_cell"),
    [(5, Form.CARD, 1), (100, Form.NAME, 1), (900, Form.CELL, 1), (100_000, Form.GROUP, 120)],
)
def test_cells_shrink_as_nodes_grow(nodes, form, per_cell):
    layout = layout_for(nodes, 60, 18, Needs(card=9, card_most=13, name=4))
    assert (layout.form, layout.nodes) == (form, per_cell)
    assert layout.form in (Form.CARD, Form.NAME) or layout.columns % 5 == 0


def test_the_header_tells_present_and_past_apart(session_at):
    session = session_at(LATER_S)
    transport = Transport(is_playing=True, speed=60, is_finished=False)
    assert "RUN x60" in plain(breadcrumb(session, "Watch", transport, 120))
    session.update()
    session.simulation.seek(200_000)
    session.update()
    line = plain(breadcrumb(session, "Watch", transport, 120))
    assert "PAST -00:02:10" in line
    assert "08:03:20" in line
    assert width(breadcrumb(session, "Watch", transport, 80)) == 80


def test_hints_begin_with_what_is_most_useful_and_end_with_palette_help_and_quit():
    here = (("list.filter", "filter"), ("row.open", "open"), ("table.sort", "sort"))
    paused, away = Transport(False, 60.0, False), Transport(True, 60.0, False, "42%")

    def said(transport, *, is_past=False, is_low=False):
        session = SimpleNamespace(is_past=is_past, is_empty=False)
        return [does for _, does in of_use(here, session, transport, is_low=is_low, is_page=False)]

    pane, always = ["filter", "why", "act", "open", "sort", "step", "speed", "go to time"], ["commands", "help", "quit"]
    assert said(paused) == ["run", "end", *pane, *always]
    assert said(paused, is_past=True) == ["branch here", "run", "to now", *pane, *always]
    assert said(away, is_past=True) == ["stay here", "pause", "to now", *pane, *always]
    assert said(Transport(False, 60.0, True)) == ["start again", *pane, *always]
    assert said(paused, is_past=True, is_low=True) == ["branch here", "why", "act", *always]
    session = SimpleNamespace(is_past=False, is_empty=False)
    assert of_use(here, session, paused, is_low=False, is_page=True)[-1] == ("quit.ask", "leave")


@pytest.mark.parametrize("cells", [60, 80, 120, 200])
def test_hints_fit_and_palette_help_and_quit_are_always_among_them(cells):
    pairs = [("space", "run"), ("enter", "open"), ("/", "filter"), ("w", "why"), ("a", "act")]
    drawn = hints([*pairs, ("ctrl+p", "commands"), ("?", "help"), ("q", "quit")], cells, LAST_HINTS)
    assert width(drawn) <= cells + 2
    assert plain(drawn).rstrip().endswith("ctrl+p commands  ? help  q quit")
    assert "enter open" in plain(drawn)
    assert cells < 80 or "act" in plain(drawn)


def test_the_scrubber_marks_now_and_failures_and_can_be_clicked(session_at):
    session = session_at(LATER_S)
    strip = plain(scrubber(session, 120))
    assert len(strip) == 120
    assert strip.count("▲") == 1
    assert "!" in strip
    assert scrubber_ms(session, strip.index("▲"), 120) == pytest.approx(330_000, abs=7_000)
    assert scrubber_ms(session, 0, 120) is None


def test_ascii_means_ascii(session_at):
    session = session_at(LATER_S, ascii_only=True)
    lines = [scrubber(session, 100), *job_strip.rail(session, 116, 4), PreparationModel(session).summary()]
    assert all(plain(each).isascii() for each in lines)
    assert job_strip.rail_title(session, 116).isascii()


def test_an_id_is_found_at_once_in_a_list_that_is_filtered_in_slices(session_at, monkeypatch):
    monkeypatch.setattr(NodesModel, "at_once", 1)
    model = NodesModel(session_at(LATER_S))
    model.update()
    last = model.key(model.count - 1)
    assert model.find(model.identity_of(last)) == last
    model.clear_filter()
    model.filter_text = "state:idle"
    model.update()
    assert model.is_sorting


@pytest.mark.parametrize(
    ("filter_text", "sort"), [("deal", None), ("", "Start time"), ("!deal-1", "Duration"), ("7", "Task")]
)
@pytest.mark.parametrize("is_descending", [False, True])
def test_a_long_list_is_arranged_piece_by_piece_to_the_same_rows(
    session_at, monkeypatch, filter_text, sort, is_descending
):
    session = session_at(LATER_S)
    at_once = TasksModel(session)
    at_once.filter_text, at_once.sort_column, at_once.is_descending = filter_text, sort, is_descending
    at_once.update()
    monkeypatch.setattr(TasksModel, "at_once", 14)
    monkeypatch.setattr("tui.viewmodels.lists.rows.PIECES", 2)
    monkeypatch.setattr("tui.viewmodels.lists.order.SAMPLES", 4)
    pieces = TasksModel(session)
    pieces.filter_text, pieces.sort_column, pieces.is_descending = filter_text, sort, is_descending
    pieces.update()
    assert pieces.is_sorting
    assert pieces.count == 0
    assert "Filtering and sorting" in pieces.nothing_shown()[0]
    steps = 0
    while pieces.sort_some():
        steps += 1
        assert "searched" in plain(pieces.arrangement())
    assert steps > 4
    assert [pieces.key(at) for at in range(pieces.count)] == [at_once.key(at) for at in range(at_once.count)]
    assert pieces.hidden == at_once.hidden
    pieces.update()
    assert not pieces.is_sorting  # nothing has happened since
    session.simulation.run_until(session.now_ms + 60_000)
    pieces.update()
    assert pieces.is_sorting
    assert pieces.count == at_once.count  # what was found before is shown until then


@pytest.mark.parametrize(
    ("seconds", "pool", "said"),
    [
        (5, a_pool(nodes=3), "Pool p is resizing: 0 → 3 nodes. w explains when they join."),
        (60, a_pool(nodes=0), "Pool p is steady at 0 nodes: its target is 0. w explains, a resizes it."),
        (
            60,
            {
                "id": "p",
                "vmSize": "standard_d2s_v3",
                "enableAutoScale": True,
                "autoScaleFormula": "$TargetDedicatedNodes = 0;",
            },
            "Pool p is steady at 0 nodes: its formula sets this target. w explains, a resizes it.",
        ),
    ],
)
def test_a_pool_without_nodes_says_why(seconds, pool, said):
    sim = simulation(pool=pool)
    run_to(sim, seconds=seconds)
    model = NodesModel(Session(sim))
    model.update()
    assert model.nothing_shown() == (said,)


def test_a_pool_that_got_no_nodes_says_so():
    sim = simulation(pool=a_pool(nodes=3), account={"quotas": {"dedicatedCores": 0}})
    run_to(sim, minutes=20)
    model = NodesModel(Session(sim))
    model.update()
    assert model.nothing_shown() == ("Pool p is steady at 0 of 3 nodes. w explains why.",)
