"""A text to read: its lines, windows on them, what is found, how it follows."""

from __future__ import annotations

import pytest

from tui.viewmodels import file_text
from tui.viewmodels.file_text import LineIndex, TextModel
from tui.viewmodels.text import Role, plain, width

LINES = 200_000
LOG = "".join(f"2026-01-05 {8 + at // 3600:02}:{at // 60 % 60:02}:{at % 60:02} step {at}\n" for at in range(7200))


def reader(text, cells=40, height=5, **how):
    model = TextModel(">")
    for name, value in how.items():
        setattr(model, name, value)
    model.fit(cells, height)
    model.show(text, is_other=True)
    return model


def shown(model):
    return [plain(each).rstrip() for each in model.rows()]


def numbered(count):
    return "".join(f"line {at}\n" for at in range(1, count + 1))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\nb", ["a", "b"]),
        ("a\r\n\r\nb\n\n", ["a", "", "b", ""]),
    ],
)
def test_lines_end_where_a_line_ends(text, lines):
    index = LineIndex()
    index.show(text)
    assert [index.line(number) for number in range(len(index))] == lines


def test_a_text_that_grows_or_changes_is_indexed_like_a_new_one():
    index = LineIndex()
    for text in ("", "a", "ab\ncd", "ab\ncde\n\nf\n", "ab\n", "other"):
        index.show(text)
        fresh = LineIndex()
        fresh.show(text)
        assert [index.line(at) for at in range(len(index))] == [fresh.line(at) for at in range(len(fresh))]


def test_of_200_000_lines_only_those_are_formatted_that_are_seen(monkeypatch):
    formatted = []

    def counted(text, other, plain_printable=file_text.printable):
        formatted.append(text)
        return plain_printable(text, other)

    monkeypatch.setattr(file_text, "printable", counted)
    model = reader(numbered(LINES), height=20)
    assert model.total == LINES
    assert shown(model)[-1] == "      20 line 20"
    for wraps in (False, True):
        formatted.clear()
        if wraps:
            model.turn_wrap()
        model.end()
        assert shown(model)[-1] == "  200000 line 200000"
        model.go_to_line(99_999)
        assert "> 100000 line 100000" in shown(model)
        model.scroll(7)
        model.rows()
        assert 0 < len(set(formatted)) <= 8 * 20


def test_control_characters_and_tabs_do_not_reach_the_terminal():
    said = [r" a       b\x1b[31mred\x00"]
    assert shown(reader("a\tb\x1b[31mred\x00", has_numbers=False)) == said


@pytest.mark.parametrize("wraps", [False, True])
@pytest.mark.parametrize("has_numbers", [False, True])
def test_no_row_is_wider_than_the_window(wraps, has_numbers):
    text = "short\n" + "long " * 30 + "\n" + "漢字" * 40 + "\n"
    for cells in (20, 33, 60):
        model = reader(text, cells, 30, wraps=wraps, has_numbers=has_numbers)
        assert max(map(width, model.rows())) <= cells
        assert (len(model.rows()) == 3) is not wraps


def test_wrapped_lines_lose_nothing_and_are_scrolled_row_by_row():
    text = "".join(f"{at}:" + "x" * at + "\n" for at in range(100))
    model = reader(text, 21, 7, wraps=True, has_numbers=False)
    seen = shown(model)
    for _ in range(1000):
        model.scroll(1)
        seen.append(shown(model)[-1])
    model.end()
    whole = reader(text, 21, 1000, wraps=True, has_numbers=False)
    rows = shown(whole)
    assert "".join(each[1:] for each in rows) == text.replace("\n", "")
    assert seen[: len(rows)] == rows
    assert seen[-1] == rows[-1]
    assert shown(model) == rows[-7:]
    for _ in range(len(rows)):
        model.scroll(-1)
    assert shown(model) == rows[:7]


def test_a_long_line_is_shifted_unless_it_is_wrapped():
    model = reader("0123456789" * 10, 20, has_numbers=False)
    assert shown(model) == [" 012345678901234567…"]
    model.shift(1)
    assert shown(model) == [" 890123456789012345…"]
    model.shift(-3)
    assert shown(model) == [" 012345678901234567…"]
    model.turn_wrap()
    model.shift(1)
    assert shown(model)[:2] == [" 0123456789012345678", " 9012345678901234567"]


def test_the_window_keeps_within_the_text():
    model = reader(numbered(9))
    model.scroll(100)
    assert shown(model) == [f"  {at} line {at}" for at in range(5, 10)]
    model.fit(40, 7)
    assert shown(model)[0] == "  3 line 3"
    model.scroll(-100)
    assert model.first == 0
    model.show("", is_other=True)
    assert model.rows() == []
    assert model.first == 0
    assert not model.find("x")
    model.go_to_line(3)
    assert model.found_line is None


def test_a_search_goes_round_and_marks_what_it_finds():
    model = reader(numbered(30))
    assert model.find("LINE 2")
    assert (model.found_line, len(model.found), model.match_number) == (1, 11, 1)
    underlined = [span.text for row in model.rows() for span in row if span.is_underlined]
    assert underlined == ["line 2"]
    assert model.rows()[1][0].role is Role.KEY
    assert model.next_match(1)
    assert model.found_line == 19
    assert "> 20 line 20" in shown(model)
    assert model.next_match(-1)
    assert model.next_match(-1)
    assert (model.found_line, model.match_number) == (28, 11)
    assert model.next_match(1)
    assert model.found_line == 1
    assert not model.find("nowhere")
    assert not model.next_match(1)
    assert model.find("")
    assert not any(span.is_underlined for row in model.rows() for span in row)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [""]),
        ("to be or not", ["to be or ", "not"]),
        ("a to-be-or-not-to-be", ["a to-be-or", "-not-to-be"]),
        ("exactly 10 more", ["exactly 10", " more"]),
        ("漢字漢字 漢字漢字", ["漢字漢字 ", "漢字漢字"]),
    ],
)
def test_long_lines_are_broken_after_a_blank_if_one_is_near(text, rows):
    assert file_text.folded(text, 10) == rows


@pytest.mark.parametrize("start", ["", "Ünicode İ\n"])
def test_what_stands_in_a_line_is_found_in_any_case_of_letters_and_any_alphabet(start):
    index = LineIndex()
    index.show(f"{start}one TWO two\nthree\nTwo\n")
    first = 1 if start else 0
    assert list(index.containing("tWo")) == [first, first + 2]
    assert list(index.containing("nowhere")) == []
    index.show(f"{start}one TWO two\nthree\nTwo\ntwo")
    assert list(index.containing("two")) == [first, first + 2, first + 3]


def test_what_is_found_is_underlined_across_wrapped_rows():
    model = reader("abcdefghijklmnopqrstuvwxyz", 11, wraps=True, has_numbers=False)
    model.find("jkl")
    underlined = [[span.text for span in row if span.is_underlined] for row in model.rows()]
    assert underlined == [["j"], ["kl"], []]


def test_following_stays_at_the_end_until_it_is_scrolled_up_and_goes_on_at_the_end():
    model = reader(numbered(10))
    model.turn_follow()
    assert shown(model)[-1].endswith("line 10")
    model.show(numbered(20))
    assert (shown(model)[-1].split()[-1], model.is_following) == ("20", True)
    model.scroll(-1)
    assert not model.is_following
    model.show(numbered(30))
    assert shown(model)[-1].split()[-1] == "19"
    model.end()
    model.show(numbered(40))
    assert (shown(model)[-1].split()[-1], model.is_following) == ("40", True)
    model.turn_follow()
    model.show(numbered(50))
    assert shown(model)[-1].split()[-1] == "40"


def test_a_text_that_grows_is_searched_to_its_end():
    model = reader(numbered(10))
    model.find("5")
    model.show(numbered(25))
    assert list(model.found) == [4, 14, 24]
