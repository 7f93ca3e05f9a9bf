"""Blobs and bytes in the dashboard."""

from __future__ import annotations

import asyncio

from tests.builders import a_job, a_shell, a_task, run_to_end, simulation, task_row
from tests.tui.conftest import settle
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels import sheets
from tui.viewmodels.go_line import completions
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session
from tui.viewmodels.sheets import blob_lines, storage_lines
from tui.viewmodels.text import ItemRef, block_lines, plain

OUT = "https://acc.blob.core.windows.net/out"
NAMED = {f"{OUT[:-3]}in": {"blobs": {"a.csv": {"text": "1,2\n3"}, "big.bin": "2 GB"}}}


def a_run(count=1):
    output = {"filePattern": "*.txt", "destination": {"container": {"containerUrl": OUT}}}
    source = {"httpUrl": f"{OUT[:-3]}in/big.bin", "filePath": "big"}
    script = "; ".join(f"echo {number} > {number}.txt" for number in range(count))
    task = a_task(outputFiles=[output], resourceFiles=[source]) | a_shell(script)
    sim = simulation(a_job(tasks=[task]), simulate={"storage": NAMED})
    run_to_end(sim)
    return sim


def shown(lines):
    return [plain(each).rstrip() for each in lines]


def test_storage_lists_containers_with_their_blobs_their_sizes_and_uploads():
    assert shown(storage_lines(Session(a_run()), 100)) == [
        "3 blobs, 2.0 GB; 2.0 GB downloaded, 2 B uploaded",
        "",
        "acc.blob.core.windows.net/in  2 blobs, 2.0 GB",
        "     5 B  scenario  a.csv",
        "  2.0 GB  scenario  big.bin",
        "",
        "acc.blob.core.windows.net/out  1 blob, 2 B",
        "     2 B  08:02:31  0.txt  task t1 of j",
    ]


def test_in_a_narrow_list_the_ends_of_names_are_visible():
    rows = shown(storage_lines(Session(a_run()), 36))
    assert rows[-1] == "     2 B  08:02:31  0.txt  task t1 of j"[:35] + "…"
    assert rows[-2].startswith("acc.blo…")
    assert rows[-2].endswith("/out  1 blob, 2 B")


def test_a_blob_leads_to_its_text_and_to_the_task_that_wrote_it():
    session = Session(a_run())
    leads = [span.leads_to for spans in storage_lines(session, 100) for span in spans if span.leads_to is not None]
    urls = [blob.url for blob in session.blobs()]
    assert leads == [*(f"blob({url!r})" for url in urls), ItemRef("task", task_row(session.simulation))]


def test_a_blob_has_a_sheet_with_its_text():
    session = Session(a_run())
    named, sized, uploaded = session.blobs()
    assert shown(blob_lines(session, named, 100))[-3:] == ["Text", "1,2", "3"]
    assert shown(blob_lines(session, named, 2))[-3:] == ["1,", "2", "3"]
    assert shown(blob_lines(session, sized, 100))[-1] == "Only the size is known."
    assert "By        task t1 of j" in shown(blob_lines(session, uploaded, 100))


def test_of_very_many_blobs_the_latest_are_listed(monkeypatch):
    monkeypatch.setattr(sheets, "MOST_BLOBS", 2)
    said = shown(storage_lines(Session(a_run(3)), 100))
    assert said[0].endswith("; the latest 2 are listed")
    assert [row.split()[3] for row in said[3:]] == ["1.txt", "2.txt"]


def test_jobs_and_tasks_show_their_bytes():
    session = Session(a_run(25))
    tasks, jobs = TasksModel(session), JobsModel(session)
    for model in (tasks, jobs):
        model.update()
    of_task = shown(block_lines(tasks.details(task_row(session.simulation)), 120))
    assert "Downloaded  2.0 GB" in of_task
    assert "Uploaded    65 B" in of_task
    assert "And         5 blobs more; :storage lists them" in of_task
    assert "Downloaded  2.0 GB" in shown(block_lines(jobs.details(jobs.find("j")), 120))


def test_an_upload_is_an_event_of_its_task():
    session = Session(a_run())
    model = EventsModel(session)
    model.update()
    rows = [model.cells(key) for key in range(session.events.count)]
    [cells] = [row for row in rows if row[1].text == "upload"]
    assert [span.text for span in cells[2:6]] == ["2 B to out/0.txt", "t1", "j", "TASK-18"]


def test_the_go_line_opens_the_list_and_enter_the_text():
    seen = []

    async def look():
        app = Dashboard(a_run(), plays=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("colon", *"storage", "enter")
            await settle()
            seen.append(text_of(app))
            await pilot.press("enter")
            await settle()
            seen.append(text_of(app))
            await pilot.press("escape", "escape")
            await settle()
            seen.append(text_of(app))

    assert completions(Session(a_run()), "stor") == ["storage"]
    asyncio.run(look())
    assert contains(seen[0], "3 blobs, 2.0 GB", "task t1 of j")
    assert contains(seen[1], "a.csv", "1,2")
    assert not contains(seen[2], "task t1 of j")
