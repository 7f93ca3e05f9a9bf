"""The command palette: its entries, and those among them that fit what is typed, the best first."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engine.base.lazy import lazy_regex
from tui.viewmodels.text.styled import Line, Role, Span, clip, fit, line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WORD = lazy_regex(r"[a-z0-9']+")
_KEY_CELLS = 12
_TITLE_SHARE = 0.45
_WIDE = 70  # cells
_LEAST_ABOUT = 12  # cells; less of an explanation says nothing
# How well a typed word fits: the whole word or its beginning, in the title, the further words, or the explanation.
_WHOLE_TITLE, _BEGINS_TITLE, _WHOLE_WORDS, _BEGINS_WORDS, _WHOLE_ABOUT, _BEGINS_ABOUT, _WITHIN_TITLE = (
    *(100, 80, 70, 50),
    *(30, 20, 10),
)
_LEAST_WITHIN = 3  # letters
_RARE = 2  # so many times less does it count that a rare command fits


class PaletteEntry(NamedTuple):
    """A command: its title, what it is good for, its key, further words by which it is found, and its work."""

    title: str
    about: str
    run: Callable[[], object]
    key: str = ""
    words: str = ""
    is_possible: bool = True  # others are dimmed, and say why
    is_rare: bool = False  # seldom meant: comes after others that fit


def fitting(entries: Sequence[PaletteEntry], typed: str) -> list[PaletteEntry]:
    """Return the entries that fit all typed words, the best first; without words all of them in their order.

    A whole word counts more than the beginning of one, and the title more than synonyms and explanations. Several words
    that stand together among the synonyms count most. If no entry fits, return those whose title has the letters in
    this order.
    """
    wanted = _WORD.findall(typed.lower()) or list(typed.strip().lower())
    if not wanted:
        return list(entries)
    scored = [(_score(entry, wanted), entry) for entry in entries]
    found = [(score, entry) for score, entry in scored if score]
    if not found:
        pattern = re.compile(".*?".join(map(re.escape, "".join(wanted))))
        found = [(1, entry) for entry in entries if pattern.search(entry.title.lower())]
    return [entry for _, entry in sorted(found, key=lambda each: (-each[0], not each[1].is_possible))]


def _score(entry: PaletteEntry, wanted: Sequence[str]) -> int:
    """Return how well an entry fits; 0 if one of the words is nowhere."""
    if len(wanted) == 1 and wanted[0] == entry.key:
        return 2 * _WHOLE_TITLE
    title, words, about = _words(entry.title), _words(entry.words), _words(entry.about)
    total = 0
    for word in wanted:
        ranks = (
            (_WHOLE_TITLE, word in title),
            (_BEGINS_TITLE, any(each.startswith(word) for each in title)),
            (_WHOLE_WORDS, word in words),
            (_BEGINS_WORDS, any(each.startswith(word) for each in words)),
            (_WHOLE_ABOUT, word in about),
            (_BEGINS_ABOUT, any(each.startswith(word) for each in about)),
            (_WITHIN_TITLE, len(word) >= _LEAST_WITHIN and word in entry.title.lower()),
        )
        score = next((rank for rank, fits in ranks if fits), 0)
        if not score:
            return 0
        total += score
    if len(wanted) > 1 and f" {' '.join(wanted)} " in f" {' '.join(words)} ":
        total = len(wanted) * _WHOLE_TITLE + 1  # what a person calls it, word for word
    return total // _RARE if entry.is_rare else total


@lru_cache(maxsize=2048)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def entry_line(entry: PaletteEntry, cells: int) -> Line:
    """Return an entry in one line: key, title, and what it is good for."""
    key = Span(fit(entry.key, _KEY_CELLS), Role.KEY)
    role = Role.PLAIN if entry.is_possible else Role.OFF
    title_cells = _title_cells(entry, cells)
    rest = cells - _KEY_CELLS - title_cells
    about = clip(entry.about, rest) if rest >= _LEAST_ABOUT else ""
    return line(key, Span(fit(entry.title, title_cells - 2) + "  ", role), Span(about, Role.DIM))


def about_cut_off(entry: PaletteEntry, cells: int) -> str:
    """Return what an entry is good for if its line has no room for all of it, else nothing."""
    return entry.about if cell_len(entry.about) > cells - _KEY_CELLS - _title_cells(entry, cells) else ""


def _title_cells(entry: PaletteEntry, cells: int) -> int:
    """Return the cells of the title. A long one stands whole in a narrow list, and takes room from the explanation."""
    title_cells = round(cells * _TITLE_SHARE)
    if cells >= _WIDE:
        return title_cells
    return min(max(title_cells, cell_len(entry.title) + 2), cells - _KEY_CELLS)
