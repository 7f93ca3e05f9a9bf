"""A few of the recorded random runs: each leaves the log that it left when it was recorded.

``python -m tests.properties --compare tests/golden/random_runs.txt`` plays them all. A change that is meant to change
logs records them anew: ``python -m tests.properties --record tests/golden/random_runs.txt --runs 500``.
"""

from __future__ import annotations

from pathlib import Path

from tests.properties.recorded import digests_of, read

RECORD = Path(__file__).parent / "random_runs.txt"
EVERY = 100


def test_recorded_random_runs_leave_the_same_logs():
    lines = list(read(RECORD.read_text(encoding="utf-8")))
    assert len(lines) == 500
    differences = (line.difference(digests_of(line.seed)) for line in lines[::EVERY])
    assert list(filter(None, differences)) == []
