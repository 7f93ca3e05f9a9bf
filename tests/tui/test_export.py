"""Lists as files, and lists without details."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
from pathlib import Path

import pytest

from engine.base.log import json_lines
from tests.builders import a_pool, do, run_to, simulation
from tests.tui.driving import drive, look, typed
from tests.tui.pages import messages_after
from tests.tui.screen_text import contains, messages_of, text_of
from tui.app.dashboard import Dashboard
from tui.saving.settings import Settings
from tui.saving.targets import TargetError, write_new
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.instances import PreparationModel
from tui.viewmodels.lists.rows import as_csv

LATER_S = 330


def notes(app):
    return messages_of(app)


def test_every_column_of_every_row_that_is_left(session_at):
    model = PreparationModel(session_at(LATER_S))
    model.filter_text = "result:failure"
    model.update()
    header, *rows = csv.reader(io.StringIO(as_csv(model)))
    assert header[:3] == ["id", "Node", "State"]
    assert len(rows) == 1
    assert rows[0][0].startswith("tvmps_")
    assert rows[0][header.index("Failure code")] == "FailureExitCode"
    assert rows[0][header.index("Triggered by")].startswith("deal-")
    assert "Triggered by" not in model.shown_names()


def test_rows_are_written_once_and_never_over_a_file(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said, seen = [], []

    def look(app):
        said.extend(notes(app))
        seen.append(text_of(app))

    drive(dashboard_at(LATER_S), *("5", "e", "enter", "e", "enter", "escape", "1", "e"), look)
    assert len((tmp_path / "tasks.csv").read_text(encoding="utf-8").splitlines()) == 41
    assert said[0] == "wrote 40 rows to tasks.csv"
    assert said[1].startswith("cannot write tasks.csv: the file exists already")
    assert len(said) == 2
    assert contains(seen[0], "write the run as a page")


def test_a_list_that_is_too_long_is_written_by_a_command_that_is_named(dashboard_at, monkeypatch):
    monkeypatch.setattr("tui.app.list_keys.MOST_EXPORTED", 5)
    said = []
    drive(dashboard_at(LATER_S), "5", "e", "3", "e", lambda app: said.extend(notes(app)))
    too_many = "40 rows are too many to write at once; / filters them"
    assert said[0] == f"{too_many}, and `batchdeck run --tasks FILE` writes all."
    assert said[1] == "6 rows are too many to write at once; / filters them."


def test_times_are_written_with_date_and_milliseconds(session_at):
    session = session_at(LATER_S)
    model = EventsModel(session)
    model.update()
    header, *rows = csv.reader(io.StringIO(as_csv(model)))
    times = [row[header.index("Time")] for row in rows]
    assert times[0] == "2026-01-05T08:00:00Z"
    assert all(re.fullmatch(r"2026-01-05T08:\d\d:\d\d(\.\d{1,3})?Z", time) for time in times)
    assert session.clock(0) == "08:00:00"


def test_the_list_of_events_can_be_written_as_the_event_log(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app, said, seen = dashboard_at(LATER_S), [], []
    drive(
        app,
        *("9", look(seen), "e", look(seen), "ctrl+u", *typed("log.jsonl")),
        *("enter", lambda app: said.extend(notes(app))),
    )
    lines = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    simulation = app.session.simulation
    assert lines == list(json_lines(simulation.log, simulation.names))
    assert said == [f"wrote {len(lines)} events to log.jsonl"]
    more = len(lines) - len(simulation.log)
    assert more > 0
    assert contains(seen[0], f"{more} more in the log, of tasks added together")
    assert contains(seen[1], "to a .csv file (.jsonl: the event log)")


WINDOWS = {"vmSize": "small", "cloudServiceConfiguration": {"osFamily": "5"}}


def test_nop_10_the_page_of_a_windows_node_shows_its_rdp_file_and_writes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sim = simulation(pool=a_pool(**WINDOWS))
    run_to(sim, minutes=3)
    said, seen = [], []

    def look(app):
        app.main_screen.update()
        seen.append(text_of(app))

    def add_a_user(app):
        do(sim, "createNodeUser", poolId="p", node=0, name="operator", password="s")
        look(app)

    drive(
        Dashboard(sim, Settings(), plays=False),
        *("3", "enter", look, "e", "ctrl+u", *"n0", "enter"),
        lambda app: said.extend(notes(app)),
        add_a_user,
    )
    assert contains(seen[0], "full address:s:203.0.113.1:50000", "e writes it", "nobody can log in yet: a adds a user")
    assert not contains(seen[1], "nobody can log in yet")
    assert said == ["wrote the RDP file to n0"]
    expected = b"full address:s:203.0.113.1:50000\r\nprompt for credentials:i:1\r\n"
    assert (tmp_path / "n0").read_bytes() == expected


def test_nop_10_a_linux_node_has_an_address_for_ssh_instead(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = []
    drive(dashboard_at(LATER_S), *("3", "enter", "e"), lambda app: said.extend(notes(app)))
    assert re.fullmatch(r"No RDP file for n\d+. Remote login: SSH to 203.0.113.\d+ port \d+.", said[0])
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    said = []
    path = ["slash" if letter == "/" else letter for letter in "file/x"]
    drive(
        dashboard_at(LATER_S),
        *("5", "e", "ctrl+u", *path, "enter"),
        lambda app: said.extend(notes(app)),
    )
    assert said == ["cannot write file/x: Not a directory."]


def test_a_full_disk_leaves_no_half_of_a_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "replace", full)
    monkeypatch.setattr(os, "link", full)
    with pytest.raises(TargetError, match="No space left"):
        write_new(Path("tasks.csv"), "Task\n")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_the_screen_is_saved_as_svg_but_not_over_another_file(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app, seen = dashboard_at(330), []
    keys = ("3", "ctrl+p", *"picture", "enter")
    again = ("ctrl+u", *"nodes.svg", "enter", "home", "m", "enter")
    drive(app, *keys, "enter", *keys, lambda app: seen.append(text_of(app)), *again)
    assert contains(seen[0], "save the picture of this screen, .svg or .png, as", "nodes1.svg")
    svg = (tmp_path / "nodes.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "Preparation&#160;tasks" in svg
    assert "Commands" not in svg
    assert messages_of(app) == [
        "saved the picture in nodes.svg",
        "cannot write nodes.svg: the file exists already.",
        "saved the picture in mnodes.svg",
    ]


@pytest.mark.parametrize("name", ["now.svg", "now.png"])
def test_the_go_line_takes_a_picture_of_what_is_seen(dashboard_at, tmp_path, monkeypatch, name):
    if name.endswith("png"):
        pytest.importorskip("resvg_py")
    monkeypatch.chdir(tmp_path)
    said = messages_after(dashboard_at(330), "colon", *typed(f"picture {name}"), "enter")
    assert said == [f"saved the picture in {name}"]
    content = (tmp_path / name).read_bytes()
    if name.endswith("png"):
        assert content.startswith(b"\x89PNG\r\n")
    else:
        assert b"Needs&#160;attention" in content
        assert b"picture&#160;now" not in content
        assert not re.search(rb"url\((?!#)", content)  # it loads no font from elsewhere


def test_a_picture_has_a_known_ending_and_png_needs_an_extra(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tui.app.list_keys.find_spec", lambda _: None)
    for name, said in (
        ("now.jpg", "The file of a picture must end in .svg or .png."),
        ("now.png", "A PNG needs resvg-py: pip install 'batchdeck[png]'. SVG needs nothing."),
    ):
        app = dashboard_at(330)
        drive(app, "colon", *typed(f"picture {name}"), "enter")
        assert messages_of(app) == [said]
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_a_dialog_shows_the_dialog(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = dashboard_at(330)
    drive(app, "3", "w", "ctrl+p", *"picture", "enter")
    assert "Why&#160;is&#160;n0" in (tmp_path / "why.svg").read_text(encoding="utf-8")
    assert messages_of(app) == ["saved the picture in why.svg"]
