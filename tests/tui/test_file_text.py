"""A text to read: its lines, windows on them, what is found."""

from __future__ import annotations

import pytest

from tui.viewmodels import file_browser
from tui.viewmodels.file_browser import TextLines, TextModel
from tui.viewmodels.text import Role, plain, width

LINES = 200_000
LOG = "".join(f"2026-01-05 {8 + at // 3600:02}:{at // 60 % 60:02}:{at % 60:02} step {at}\n" for at in range(7200))


def reader(text, cells=40, height=5):
    model = TextModel(">")
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
    index = TextLines()
    index.show(text)
    assert [index.line(number) for number in range(len(index))] == lines


@pytest.mark.parametrize("texts", [("a\nb", "a\nbc\n", "a\nbc\n\nd"), ("", "a"), ("ab\n", "ac\nd"), ("a\nb\n", "a")])
def test_a_text_that_grows_has_the_lines_of_the_whole(texts):
    index = TextLines()
    for text in texts:
        index.show(text)
    assert [index.line(number) for number in range(len(index))] == texts[-1].splitlines()


def test_of_200_000_lines_only_those_are_formatted_that_are_seen(monkeypatch):
    formatted = []

    def counted(text, other, plain_printable=file_browser.printable):
        formatted.append(text)
        return plain_printable(text, other)

    monkeypatch.setattr(file_browser, "printable", counted)
    model = reader(numbered(LINES), height=20)
    assert model.total == LINES
    assert shown(model)[-1] == "      20 line 20"
    formatted.clear()
    model.scroll(model.total)
    assert shown(model)[-1] == "  200000 line 200000"
    model.go_to_line(99_999)
    assert "> 100000 line 100000" in shown(model)
    model.scroll(7)
    model.rows()
    assert 0 < len(set(formatted)) <= 8 * 20


def test_control_characters_and_tabs_do_not_reach_the_terminal():
    said = [r"  1 a       b\x1b[31mred\x00"]
    assert shown(reader("a\tb\x1b[31mred\x00")) == said


def test_no_row_is_wider_than_the_window():
    text = "short\n" + "long " * 30 + "\n" + "漢字" * 40 + "\n"
    for cells in (20, 33, 60):
        model = reader(text, cells, 30)
        assert max(map(width, model.rows())) <= cells
        assert len(model.rows()) == 3


def test_a_long_line_is_shifted():
    model = reader("0123456789" * 10, 20)
    assert shown(model) == ["  1 012345678901234…"]
    model.scroll(0, 8)
    assert shown(model) == ["  1 890123456789012…"]
    model.scroll(0, -24)
    assert shown(model) == ["  1 012345678901234…"]


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


@pytest.mark.parametrize("start", ["", "Ünicode İ\n"])
def test_what_stands_in_a_line_is_found_in_any_case_of_letters_and_any_alphabet(start):
    index = TextLines()
    index.show(f"{start}one TWO two\nthree\nTwo\n")
    first = 1 if start else 0
    assert list(index.containing("tWo")) == [first, first + 2]
    assert list(index.containing("nowhere")) == []
    index.show(f"{start}one TWO two\nthree\nTwo\ntwo")
    assert list(index.containing("two")) == [first, first + 2, first + 3]


def test_a_text_that_grows_is_searched_to_its_end():
    model = reader(numbered(10))
    model.find("5")
    model.show(numbered(25))
    assert list(model.found) == [4, 14, 24]
