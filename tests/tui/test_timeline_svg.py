"""The timeline as a picture: all rows, a whole file or none."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from xml.etree import ElementTree

import pytest

from tests.tui.screen_text import messages_of
from tests.tui.test_timeline import model_of
from tui.app.list_keys import draw_timeline
from tui.saving.targets import NewLines, TargetError
from tui.textual import views
from tui.viewmodels.timeline.svg import Paint, drawn

LATER_S = 330
SVG = "{http://www.w3.org/2000/svg}"


def paint(theme="dark"):
    return Paint(views.ground(theme), views.colours(theme), views.on_colours(theme))


def picture(model, theme="dark"):
    text = "\n".join(line for lines in drawn(model, paint(theme)) for line in lines)
    return ElementTree.fromstring(text)


def texts(root):
    return [each.text for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("theme", [*views.THEME_NAMES])
def test_every_row_is_in_the_picture(session_at, kind, theme):
    model = model_of(session_at(LATER_S))
    for _ in range(kind):
        model.next_rows()
    model.update(100)
    root = picture(model, theme)
    assert {model.rows.label(key) for key in model.keys} <= set(texts(root))
    assert {"nodes", "running", "preparing", "5", "6", "1"} <= set(texts(root))
    assert "one column is 5 s" in texts(root)[0]
    styles = root.find(f"{SVG}style").text
    assert {each.get("class") for each in root.iter(f"{SVG}path")} <= set(
        styles.replace("}", ".").replace("{", ".").split(".")
    )


def test_the_same_moment_is_the_same_picture(session_at):
    first, second = (list(drawn(model_of(session_at(LATER_S)), paint())) for _ in range(2))
    assert first == second


def test_what_has_been_planned_is_solid_and_what_is_estimated_dotted(session_at):
    root = picture(model_of(session_at(LATER_S)))
    lines = [each for each in root.iter(f"{SVG}path") if each.get("class") == "line-running"]
    dotted = [each for each in root.iter(f"{SVG}path") if each.get("stroke-dasharray")]
    assert len(lines) == 4  # n0, n2, n4 work, n3 prepares
    assert len(dotted) == 5  # n5 has left
    assert all(each.get("stroke-dasharray") is None for each in lines)


def test_a_new_file_is_whole_or_is_not_there(tmp_path):
    path = tmp_path / "picture.svg"
    with suppress(ZeroDivisionError), NewLines(path) as target:
        target.write(["half", str(1 / 0)])
    assert list(tmp_path.iterdir()) == []
    with NewLines(path) as target:
        target.write(["whole"])
        target.keep()
    assert path.read_text(encoding="utf-8") == "whole\n"
    with pytest.raises(TargetError, match="the file exists already"):
        NewLines(path)
    assert path.read_text(encoding="utf-8") == "whole\n"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(TargetError, match="does not exist"):
        NewLines(tmp_path / "nowhere" / "picture.svg")


def drive_and_draw(app, *keys, steps=()):
    said = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            for step in steps:
                step(app)
            await app.workers.wait_for_complete()
            await pilot.pause()
            said.extend(messages_of(app))

    asyncio.run(run())
    return said


def test_e_draws_all_rows_in_a_file_and_never_over_one(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = ("8", "r", "e", "enter")
    assert drive_and_draw(dashboard_at(LATER_S), *keys) == ["drew 40 rows in timeline.svg"]
    root = ElementTree.parse(tmp_path / "timeline.svg").getroot()
    assert {f"deal-{number}" for number in range(1, 41)} <= set(texts(root))
    said = drive_and_draw(dashboard_at(LATER_S), *keys, "home", "m", "y", "enter")
    assert said == ["cannot write timeline.svg: the file exists already.", "drew 40 rows in mytimeline.svg"]
    assert {each.name for each in tmp_path.iterdir()} == {"timeline.svg", "mytimeline.svg"}


def test_a_picture_is_left_off_when_time_goes_on(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tui.app.list_keys.SLICE_S", 0)

    def draw(app):
        draw_timeline(app.screen.view.grid, app.screen.playback, "timeline.svg")

    steps = [draw, lambda app: app.session.simulation.step()]
    said = drive_and_draw(dashboard_at(LATER_S), "8", steps=steps)
    assert said == ["timeline.svg was not written: simulated time has moved."]
    assert list(tmp_path.iterdir()) == []


def test_too_many_rows_for_a_picture(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tui.app.list_keys.MOST_ROWS", 5)
    said = drive_and_draw(dashboard_at(LATER_S), "8", "e")
    assert said == ["6 rows are too many for a picture; ! leaves those that have failed."]
