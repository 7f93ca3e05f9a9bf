"""Occurrences of job schedules that made no job, where the dashboard shows them."""

from __future__ import annotations

from tests.tui.screen_text import contains
from tui.viewmodels.format import what
from tui.viewmodels.lists.jobs import JobSchedulesModel
from tui.viewmodels.text import ItemRef, plain
from tui.viewmodels.watch.attention import AttentionModel

SCENARIO = "a-missed-occurrence"
END_S = 100 * 60


def test_js_15_the_page_of_a_schedule_lists_the_last_with_their_reasons(session_at):
    model = JobSchedulesModel(session_at(END_S, SCENARIO))
    model.update()
    blocks = {block.title: block.rows for block in model.details(model.key(0))}
    missed = [span.text for _, span in blocks["Missed occurrences, newest first"]]
    assert missed == [
        "occurrence 9: the job schedule was disabled",
        "occurrence 8: the job schedule was disabled",
        "occurrence 3: ticks:job-2 was still active",
        "occurrence 2: ticks:job-2 was still active",
    ]
    assert ", 4 missed" in plain(model.sentence(model.key(0)))


def test_js_15_before_the_first_the_page_has_no_such_block(session_at):
    model = JobSchedulesModel(session_at(600, SCENARIO))
    model.update()
    assert not any("Missed" in block.title for block in model.details(model.key(0)))


def test_js_15_it_needs_attention_and_leads_to_the_schedule(session_at):
    model = AttentionModel(session_at(END_S, SCENARIO))
    model.update()
    texts = [concern.text for concern in model.concerns]
    (number,) = (at for at, text in enumerate(texts) if text.startswith("job schedule ticks: 4 occurrences missed"))
    assert model.subjects(number) == [ItemRef("job schedule", "ticks")]
    assert model.destination(number) == ("schedules", "ticks", None)


def test_js_15_it_is_a_failure_among_the_events(session_at):
    session = session_at(END_S, SCENARIO)
    rows = [session.events.row(at) for at in session.events.failures()]
    lost = [row for row in rows if row.event == "JobScheduleOccurrenceMissed"]
    assert [row.schedule_id for row in lost] == ["hourly", "ticks", "ticks", "hourly", "ticks", "ticks"]
    assert what(lost[0]) == "occurrence 1 missed: hourly:job-1 was still active"


def test_what_a_deleted_schedule_has_missed_stays_in_needs_attention(session_at):
    session = session_at(7 * 86_400, "job-schedules-by-hand")
    texts = [concern.text for concern in session.concerns()]
    assert contains(texts, "job schedule weather: 3 occurrences missed, the last one: weather:job-5 was still active")
    assert contains(texts, "job schedule never: 1 occurrence missed: the job schedule was terminated")
