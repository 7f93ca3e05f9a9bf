"""The heights of the timeline's rows and of the pool band: few rows grow, many take a line each."""

from __future__ import annotations

from typing import NamedTuple

_MOST_TRACK_LINES = 3
_MOST_BAND_LINES = 12  # of one curve


class Height(NamedTuple):
    """The lines of a row. Without ``track`` lines the row shows cells, not bars."""

    track: int  # lines of each track
    body: int
    gap: int  # empty lines after it

    @property
    def lines(self) -> int:
        """All lines of a row."""
        return self.body + self.gap


def height_of(rows: int, lines: int, tracks: int) -> Height:
    """Return the height of each of some rows, all of which fit if they are higher than a line.

    Args:
        rows: The number of rows.
        lines: The lines that there are for them.
        tracks: The tracks of a row.
    """
    room = lines // max(1, rows)
    if tracks > max(1, room):
        body = max(1, min(room - 1, 2))
        return Height(0, body, int(room > body > 1))
    track = max(1, min(_MOST_TRACK_LINES, room // tracks))
    if track > 1 and room < track * tracks + 1:  # a gap tells rows apart better than one line more
        track -= 1
    body = track * tracks
    return Height(track, body, int(room > body > 1))


def band_lines(curves: int, left: int) -> int:
    """Return the lines of each curve of the pool band, of which ``left`` lines nobody else has."""
    return min(_MOST_BAND_LINES, 1 + max(0, left) // max(1, curves))
