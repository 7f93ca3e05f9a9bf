"""Files on a node: where f leads, the tree, and what is said of what goes."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.views.resources.processes import Deletion, DeletionCause
from tests.builders import a_job, a_line, a_task, simulation
from tui.viewmodels import format as fmt
from tui.viewmodels.file_browser import FilesModel, fate_sentence, short_fate
from tui.viewmodels.items import FileLocation, files_of
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.pools import NodesModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain, width

READ = "output-to-read"
JOB = "workitems/risk/job-1"
PREPARED = f"{JOB}/jobpreparation/stdout.txt"


def rows(model):
    return [f"{' ' * row.depth}{row.name}{'/' if row.item.is_directory else ''}" for row in model.tree.rows]


def said(model):
    """What is said of the item under the cursor."""
    return [plain(each).strip() for each in model.rows()]


def later(model, seconds):
    model.session.simulation.run_until(round(seconds * 1000))
    model.session.update()
    return model.update()


def put_cursor(model, path):
    model.tree.reveal(path)
    assert model.tree.path == path
    model.show_item()


# -- where f leads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model_type", "places"),
    [
        (
            PreparationModel,
            {"failed": (1, f"{JOB}/jobpreparation/stderr.txt"), "prepared": (0, f"{JOB}/jobpreparation/stdout.txt")},
        ),
        (NodesModel, {"running": (0, JOB), "idle": (1, f"{JOB}/jobpreparation/stderr.txt")}),
        (
            TasksModel,
            {
                "t1": (0, f"{JOB}/t1/stdout.txt"),
                "t3": (0, f"{JOB}/t3/stdout.txt"),
                "t4": "t4 has not started yet and has no files.",
            },
        ),
        (JobsModel, {"risk": "Put the cursor on a node or task to see its files."}),
    ],
)
def test_rows_lead_to_the_files_of_what_they_show(session_at, model_type, places):
    model = model_type(session_at(100, READ))
    model.update()
    found = {}
    for index in range(model.count):
        words = [span.text for span in model.cells(model.key(index))] + [plain(model.sentence(model.key(index)))]
        for name in places:
            if any(name in word for word in words):
                found[name] = model.files_of(model.key(index))
    assert found == places


def test_a_failed_task_leads_to_what_it_said_of_its_failure():
    session = Session(simulation(a_job("risk", tasks=[a_task("t1", 5, exit_code=1)])))
    session.simulation.run_until(600_000)
    assert files_of(session, ItemRef("task", 0)) == FileLocation(0, f"{JOB}/t1/stderr.txt")


def test_where_nothing_has_run_the_node_is_shown():
    session = Session(simulation(a_job("risk", prep=a_line(5), release=a_line(5))))
    session.simulation.run_until(100_000)
    model = ReleaseModel(session)
    model.with_all = True
    model.update()
    assert model.files_of(model.key(0)) == FileLocation(0, JOB)
    assert files_of(session, ItemRef("node", 0)) == FileLocation(0, JOB)
    assert isinstance(files_of(session, None), str)


def test_a_node_whose_start_task_failed_leads_to_its_errors():
    pool = {
        "id": "p",
        "vmSize": "standard_d2s_v3",
        "targetDedicatedNodes": 1,
        "startTask": {"waitForSuccess": True} | a_line(5, exit_code=1, simulate={"stderr": "no such package\n"}),
    }
    session = Session(simulation(a_job("risk"), pool=pool))
    session.simulation.run_until(600_000)
    model = FilesModel(session, files_of(session, ItemRef("node", 0)))
    assert (model.tree.path, said(model)) == ("startup/stderr.txt", ["1 no such package"])


def test_events_lead_to_the_files_of_what_happened():
    session = Session(
        simulation(a_job("risk", prep=a_line(5), release=a_line(5, 3), onAllTasksComplete="terminatejob"))
    )
    session.simulation.run_until(900_000)
    model = EventsModel(session)
    model.update()
    places = {}
    for index in range(model.count):
        event = session.events.row(index)
        to = event.fields.get("to")
        places[event.event, to if event.event == "TaskStateChanged" else event.is_failure] = model.files_of(index)
    assert places["JobPreparationTaskStateChanged", False] == FileLocation(0, PREPARED)
    assert places["JobReleaseTaskStateChanged", True] == FileLocation(0, f"{JOB}/jobrelease/stderr.txt")
    assert places["TaskStateChanged", "completed"] == FileLocation(0, f"{JOB}/t1/stdout.txt")
    assert places["TaskStateChanged", "active"] == FileLocation(0, f"{JOB}/t1/stdout.txt")
    assert places["NodeStateChanged", False] == FileLocation(0, f"{JOB}/jobrelease/stderr.txt")
    assert isinstance(places["JobStateChanged", False], str)
    assert isinstance(places["CommandAccepted", False], str)


# -- the tree --------------------------------------------------------------------------------------------------------


def test_the_tree_is_open_where_it_was_asked_for_and_opens_and_closes(session_at):
    model = FilesModel(session_at(100, READ), FileLocation(0, PREPARED))
    closed = ["applications/", "fsmounts/", "shared/", "startup/", "volatile/", "workitems/"]
    inside = [" risk/job-1/", "  jobpreparation/", "   wd/", "   stderr.txt", "   stdout.txt"]
    tasks = ["  t1/", "  t2/", "  t3/"]
    assert rows(model) == closed + inside + tasks
    assert model.reads == PREPARED
    assert model.text.total == 5
    model.tree.close()
    assert model.tree.path == f"{JOB}/jobpreparation"
    model.tree.close()
    assert rows(model) == closed + inside[:2] + tasks
    model.tree.open("shared")
    assert " done.txt" in rows(model)
    assert model.tree.path == f"{JOB}/jobpreparation"
    put_cursor(model, "shared/done.txt")
    assert said(model) == ["1 t1", "2 t2"]


def test_numbers_in_names_are_sorted_by_value():
    session = Session(simulation(a_job("risk", tasks=11)))
    session.simulation.run_until(3_600_000)
    assert rows(FilesModel(session, FileLocation(0, JOB)))[7:] == [f"  t{number}/" for number in range(1, 12)]


def test_rows_say_sizes_and_fit_into_any_width(session_at):
    model = FilesModel(session_at(100, READ), FileLocation(0, PREPARED))
    for cells in (20, 30, 60):
        lines = [model.tree.line(at, cells) for at in range(len(model.tree.rows))]
        assert {width(each) for each in lines} == {cells}
    sizes = {plain(each).split()[-3]: " ".join(plain(each).split()[-2:]) for each in lines}
    assert (sizes["shared/"], sizes["stdout.txt"], sizes["wd/"]) == ("6 B", "271 B", "0 B")


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (4_810, "4.8 KB"),
        (99_960, "100 KB"),
        (999_960, "1.0 MB"),
        (4e9, "4.0 GB"),
    ],
)
def test_sizes_in_words(count, words):
    assert fmt.size(int(count)) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(604_800, "7 days"), (86_400, "1 day"), (5400, "90 minutes"), (1, "1 second"), (0.5, "00:00:00")],
)
def test_durations_in_words(seconds, words):
    assert fmt.in_words(round(seconds * 1000)) == words


# -- time goes by ----------------------------------------------------------------------------------------------------


def test_a_file_that_grows_is_read_to_its_end_and_one_that_vanishes_is_told_of(session_at):
    model = FilesModel(session_at(94, READ), FileLocation(0, "shared/done.txt"))
    assert said(model) == ["1 t1"]
    assert later(model, 100)
    assert said(model) == ["1 t1", "2 t2"]
    assert not later(model, 200)
    assert later(model, 500)
    assert said(model)[0] == "shared/done.txt does not exist at 08:08:20. It had 6 B."
    assert model.reads == ""
    assert model.tree.path == "shared"
    model.show_item()
    assert said(model)[0] == "shared/"
    assert " ".join(said(model)).endswith("must delete its files (FILE-8).")
    put_cursor(model, JOB)
    assert said(model)[1:] == [
        "6 entries, 271 B in all",
        "The directory of a job. It is deleted with the job (JOB-16).",
    ]


def test_an_output_is_empty_until_the_process_ends(session_at):
    model = FilesModel(session_at(60, READ), FileLocation(0, PREPARED))
    assert said(model) == ["It is empty: output is written when the process ends."]
    later(model, 100)
    assert model.text.total == 5
    put_cursor(model, f"{JOB}/jobpreparation/stderr.txt")
    assert said(model) == ["It is empty."]


def test_what_has_been_deleted_is_missing_and_is_there_again_at_an_earlier_moment(session_at):
    model = FilesModel(session_at(2000, READ), FileLocation(0, PREPARED))
    assert said(model)[0] == f"{PREPARED} does not exist at 08:33:20."
    assert (model.reads, model.tree.path) == ("", JOB)
    model.session.simulation.seek(100_000)
    model.session.update()
    assert model.update()
    assert (model.tree.path, model.text.total) == (PREPARED, 5)
    assert plain(model.heading(100)).endswith("will be deleted at 08:31:31")


def test_a_file_that_goes_while_it_is_read_is_reported_missing(session_at):
    model = FilesModel(session_at(100, READ), FileLocation(0, PREPARED))
    later(model, 2000)
    assert " ".join(said(model)).startswith(f"{PREPARED} does not exist at 08:33:20. It had 271 B.")


def test_a_reimage_takes_everything(session_at):
    model = FilesModel(session_at(2410, READ), FileLocation(0, f"{JOB}/t3/stderr.txt"))
    assert said(model)[0] == f"{JOB}/t3/stderr.txt does not exist at 08:40:10."


def test_a_node_that_has_left_keeps_no_files(session_at):
    session = session_at(330, "one-node-fails")
    nodes = NodesModel(session)
    nodes.update()
    left = next(node for node in range(6) if session.simulation.world.nodes[node].gone_ms is not None)
    model = FilesModel(session, FileLocation(left))
    assert rows(model) == []
    assert said(model) == ["There are no files. The node left the pool at 08:03:20 (FILE-9)."]


def test_what_was_downloaded_has_a_size_and_no_text():
    task = a_task("t1", 600, resourceFiles=[{"httpUrl": "https://acc/in/a", "filePath": "a"}])
    simulate = {"storage": {"https://acc/in/*": {"size": "4 GB"}}}
    session = Session(simulation(a_job("risk", tasks=[task]), simulate=simulate))
    session.simulation.run_until(400_000)
    model = FilesModel(session, FileLocation(0, f"{JOB}/t1/wd/a"))
    assert said(model) == ["It was downloaded: only its size is known."]
    assert model.reads == ""
    assert plain(model.tree.line(model.tree.at, 40)).endswith("4.0 GB")


@pytest.mark.parametrize("cause", DeletionCause)
def test_every_cause_is_told_in_each_of_its_times(session_at, cause):
    session = session_at(100, READ)
    told = []
    if cause in (DeletionCause.RETENTION, DeletionCause.PREEMPTED):
        told += [
            fate_sentence(session, Deletion(cause, 200_000, 60_000)),
            short_fate(session, Deletion(cause, 200_000, 60_000)),
        ]
        assert all("08:03:20" in each for each in told)
    if cause is not DeletionCause.PREEMPTED:
        told += [
            fate_sentence(session, Deletion(cause, None, 60_000)),
            short_fate(session, Deletion(cause, None, 60_000)),
        ]
    assert len(set(told)) == len(told)
    assert all("{" not in each for each in told)


def test_status_and_heading_fit_into_any_width(session_at):
    model = FilesModel(session_at(100, READ), FileLocation(0, PREPARED))
    model.text.find("fetch")
    for cells in (40, 60, 120):
        assert width(model.status(cells)) <= cells
        assert width(model.heading(cells)) <= cells
    words = plain(model.status(200))
    assert words == "as it was at 08:01:40 · line 1 of 5 · match 1 of 4"


def test_before_its_node_was_there_nothing_is_shown(session_at):
    model = FilesModel(session_at(100, READ), FileLocation(0, PREPARED))
    model.session.simulation.seek(5000)
    model.session.update()
    assert model.update()
    assert model.tree.rows == []
    assert " ".join(said(model)) == (
        f"{PREPARED} does not exist at 08:00:05. It had 271 B. There are no files. The node has not joined yet."
    )
    assert model.heading(40) == ()
    later(model, 40)
    assert said(model)[0].startswith(f"{PREPARED} does not exist at 08:00:40.")
    later(model, 100)
    assert (model.tree.path, model.text.total) == (PREPARED, 5)


def test_every_scenario_shows_the_files_of_every_node_at_its_end():
    for name in ("a-full-disk", "mpi-in-trouble", "packages-against-preparation", "spot-evictions"):
        run = Simulation(load_scenario(name))
        run.run_until(run.end_ms)
        session = Session(run)
        for node in range(len(run.world.nodes.state)):
            model = FilesModel(session, files_of(session, ItemRef("node", node)))
            for at in range(len(model.tree.rows)):
                model.tree.move_to(at)
                model.show_item()
                assert model.rows()
