"""Letters for panes, so that one key goes to each."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def letters_for(titles: Sequence[str]) -> list[str]:
    """A letter for each title, the first of its own that none before it has; for at most so many as there are."""
    letters: list[str] = []
    for title in titles:
        wanted = (letter for letter in title.lower() + ascii_lowercase if letter in ascii_lowercase)
        free = next((letter for letter in wanted if letter not in letters), None)
        if free is not None:
            letters.append(free)
    return letters
