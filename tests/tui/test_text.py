"""Lines, times, filters and columns, without Textual."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest
from rich.cells import cell_len

from engine.views.hook_status import Hook, HookStatus
from tui.viewmodels import format as fmt
from tui.viewmodels import glyphs
from tui.viewmodels.lists.columns import Column, layout
from tui.viewmodels.text import (
    Block,
    Role,
    Span,
    bar,
    between,
    block_columns,
    block_lines,
    clip,
    cut,
    fit,
    heading,
    line,
    plain,
    row,
    squeeze,
    squeezed,
    width,
    wrapped,
)

START = datetime(2026, 1, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize("cells", [1, 3, 7, 30])
def test_fit_is_exactly_so_wide(cells):
    for text in ("", "node", "日本語のノード", "[b]no markup[/b]"):
        assert cell_len(fit(text, cells)) == cells


def test_clip_shows_that_something_is_missing():
    assert clip("preparation", 5) == "prep…"
    assert clip("short", 5) == "short"


def test_the_name_of_a_column_is_cut_after_a_word_if_one_has_room():
    assert heading("Allocation state", 10) == "Allocation"
    assert heading("Allocation state", 15) == "Allocation"
    assert heading("Spot/low-priority", 6) == "Spot"
    assert heading("Total tasks run", 12, "↓") == "Total tasks↓"
    assert heading("Allocation state", 9) == "Allocati…"
    assert heading("Node", 10) == "Node"


def test_long_names_are_cut_in_the_middle_until_all_have_room():
    assert squeezed(["a-scenario", "pool", "nightly-risk:job-2"], 22) == ["a-…enario", "pool", "ni…:job-2"]
    assert squeezed(["short", "pool"], 40) == ["short", "pool"]
    assert squeezed([], 0) == []


def test_a_word_longer_than_a_line_is_broken_between_its_parts():
    assert wrapped("AutoPoolCreationFailedWithQuotaReached", 23) == ["AutoPoolCreationFailed", "WithQuotaReached"]
    assert wrapped("tvm-1980048917_1-20260105t080045z", 20) == ["tvm-1980048917_1-", "20260105t080045z"]
    assert wrapped("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_line_is_cut_and_joined_to_a_width():
    spans = line(Span("left", Role.OK), "middle")
    assert plain(cut(spans, 6)) == "leftm…"
    joined = between(spans, line("right"), 20)
    assert width(joined) == 20
    assert plain(joined) == "leftmiddle     right"


def test_a_bar_is_as_wide_as_asked_and_hides_nothing():
    parts = ((9_990, Role.OK, "#"), (1, Role.FAILED, "x"), (0, Role.OFF, "."), (9, Role.RUNNING, "="))
    drawn = plain(bar(parts, 40))
    assert len(drawn) == 40
    assert "x" in drawn
    assert "=" in drawn
    assert "." not in drawn
    assert bar(((0, Role.OK, "#"),), 10) == ()


def test_long_values_are_wrapped_at_blanks_and_long_words_in_between():
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrapped("ノードノード", 5) == ["ノー", "ドノ", "ード"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("+5m", 900),
        ("-30s", 570),
        ("+1h30m", 6000),
        ("300", 300),
        ("PT5M", 300),
        ("08:20", 1200),
        ("-2h", -6600),
        ("5m", 300),
    ],
)
def test_moments_as_people_write_them(text, seconds):
    assert fmt.parse_moment(text, START, 600_000) == seconds * 1000


H = 3600


@pytest.mark.parametrize(
    ("text", "now_s", "end_s", "seconds"),
    [
        ("9:40", 17 * H, 17 * H, 6000),  # at the end, on the next day: only the first day has this time
        ("19:30", 17 * H, 17 * H, 11.5 * H),
        ("09:00", 25 * H, 26 * H, 25 * H),  # both days have it: the present one counts
        ("09:00", H, 26 * H, H),
        ("2:40", 0, 20 * H, 18 * H + 2400),  # after midnight
        ("9:40", 0, H, 6000),  # after the end
        ("2:40:00", 30 * H, None, 18 * H + 2400),
        ("30:00:00", 0, None, 30 * H),  # no time of day: since the start
    ],
)
def test_a_time_of_day_is_a_moment_inside_the_run(text, now_s, end_s, seconds):
    end_ms = None if end_s is None else round(end_s * 1000)
    assert fmt.parse_moment(text, START, round(now_s * 1000), end_ms) == seconds * 1000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2:40", "2:40 is before the run, which begins at 08:00:00; 2m40s counts from it."),
        ("0:02:40", "0:02:40 is before the run, which begins at 08:00:00; 0h2m40s counts from it."),
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z is before the run, which begins at "),
        ("24:10", "'24:10' is not a time: write +5m"),
        ("10:72", "'10:72' is not a time: write +5m"),
    ],
)
@pytest.mark.parametrize("end_ms", [None, 3_600_000])
def test_a_time_outside_the_run_is_refused_with_a_sentence(text, said, end_ms):
    with pytest.raises(ValueError, match=re.escape(said)):
        fmt.parse_moment(text, START, 0, end_ms)


@pytest.mark.parametrize("text", ["25:99", "9:40", "+5m", "end", "PT5M"])
def test_what_is_written_like_a_time_is_taken_for_one(text):
    assert fmt.names_moment(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "No time was typed: write +5m, -30s, 10:42"),
        ("soon", "'soon' is not a time: write +5m"),
        ("+", "'' is not a duration: write 90s, 2m, 1h30m or PT2M"),
        ("+5 apples", "'5 apples' is not a duration: write"),
        ("PTX", "'PTX' is not a time: write"),
    ],
)
def test_what_is_no_moment_is_refused_with_a_sentence(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        fmt.parse_moment(text, START, 0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2m", 120),
        ("90s", 90),
        ("1h30m", 5400),
        ("1h30", 5400),
        ("1m30", 90),
        ("1h 30 min", 5400),
        ("PT2M", 120),
        ("pt90s", 90),
        ("00:02:00", 120),
        ("1d 00:00:05", 86_405),
        ("45", 45),
        ("1.5h", 5400),
        ("2d", 172_800),
    ],
)
def test_durations_as_people_write_them(text, seconds):
    assert fmt.duration_ms(text) == seconds * 1000


@pytest.mark.parametrize("text", ["", "m", "2 weeks", "-5m", "1.2.3s", "5m2h", "PT"])
def test_what_is_no_duration_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match="is not a duration: write 90s, 2m, 1h30m or PT2M"):
        fmt.duration_ms(text)


def test_times_and_ids_for_people():
    assert fmt.clock(START, 90_000) == "08:01:30"
    assert fmt.clock(START, 86_400_000) == "01-06 08:00:00"
    assert fmt.span(93_784_000) == "1d 02:03:04"
    assert fmt.short_node("tvm-1695681911_117-20250101t100201z") == "tvm-…_117"
    assert fmt.short_node("tvmps_0ae939de5142ba594dbe53d70d5d3cc118b0_d") == "tvmps_0ae939…_d"
    assert fmt.short_node("my-node") == "my-node"


def test_columns_that_do_not_fit_go_by_their_least_width():
    columns = (Column("", 1), Column("Node", 8, stretch=True), Column("State", 9, from_width=30), Column("Exit", 4))
    assert layout(columns, 40) == [(0, 1), (1, 22), (2, 9), (3, 4)]
    assert layout(columns, 20) == [(0, 1), (1, 12), (3, 4)]
    assert sum(wide + 1 for _, wide in layout(columns, 40)) == 40


TABLES = [
    list(glyphs.NODE.values()),
    list(glyphs.PREPARATION.values()),
    list(glyphs.RELEASE.values()),
    list(glyphs.JOB.values()),
    list(glyphs.TASK_GLYPHS),
]


@pytest.mark.parametrize("table", TABLES)
def test_letters_are_ascii_and_unique_and_every_glyph_is_one_cell(table):
    letters = [glyph.letter for glyph in table]
    assert len(set(letters)) == len(letters)
    assert all(letter.isascii() and len(letter) == 1 for letter in letters)
    assert all(cell_len(glyph.symbol) == 1 for glyph in table)


def test_every_status_can_be_drawn():
    for status in HookStatus:
        if status not in (HookStatus.WILL_RUN, HookStatus.SKIPPED):
            assert glyphs.hook_glyph(Hook.PREPARATION, status).name
        if status not in (HookStatus.RETRYING, HookStatus.SUPERSEDED, HookStatus.STOPPED, HookStatus.LEAVING):
            assert glyphs.hook_glyph(Hook.RELEASE, status).name


def test_an_id_is_cut_in_the_middle():
    assert squeeze("deal-0001234", 12) == "deal-0001234"
    assert squeeze("deal-0001234", 9) == "d…0001234"
    assert squeeze("genomics-05/t-10", 10) == "ge…05/t-10"
    assert squeeze("job-10-with-name", 15) == "jo…10-with-name"
    assert squeeze("genomics-05/t-10", 7) == "ge…t-10"
    assert squeeze("deal-0001234", 2) == "d…"
    assert squeeze("", 0) == ""


def test_a_very_long_value_is_wrapped_in_no_time_and_shortened_in_a_block():
    began = time.perf_counter()
    assert len(wrapped("x" * 200_000, 40)) == 5_000
    lines = block_lines([Block("General", (row("Command line", "y" * 200_000),))], 60)
    assert time.perf_counter() - began < 2
    assert len(lines) < 60
    assert any("..." in plain(each) for each in lines)


def test_values_beside_the_longest_labels_stand_below_one_another():
    block = Block("Settings", (row("Uses task dependencies", "no"), row("Priority", 100)))
    _, first, second = (plain(each) for each in block_lines([block], 38))
    assert first.index("no") == second.index("100")


LONG = row("Message", "The task exited with an exit code representing a failure")


def test_a_long_value_stands_below_its_label_where_that_takes_fewer_lines():
    labels = row("Task root directory", "x"), LONG
    texts = [plain(each) for each in block_lines([Block("General", labels)], 36)]
    assert texts[2:] == ["Message              ", "  The task exited with an exit code", "  representing a failure"]


def test_a_column_of_details_gets_the_cells_that_the_others_do_not_need():
    node_id = row("ID", "tvmps_" + "0" * 40)
    blocks = [Block("Node", (node_id, *[row("State", "idle")] * 8)), Block("Jobs", (row("align", "prepared"),) * 8)]
    texts = [plain(each) for each in block_columns(blocks, 80)]
    assert "tvmps_" + "0" * 40 in texts[1]
    assert "align  prepared" in texts[1]
    assert all(len(each) <= 80 for each in texts)
