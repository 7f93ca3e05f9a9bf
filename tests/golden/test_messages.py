"""Every message that people can be told by is the recorded one: see ``messages.py``.

``pytest tests/golden --rewrite-golden`` records them anew. They are written for people: read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.messages import SOURCES, recorded

MESSAGES = Path(__file__).parent / "messages"


@pytest.mark.parametrize("source", SOURCES)
def test_messages_are_the_recorded_ones(source, rewrites):
    text = recorded(SOURCES[source]())
    path = MESSAGES / f"{source}.txt"
    if rewrites:
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def test_every_file_of_messages_has_its_source():
    assert {path.stem for path in MESSAGES.iterdir()} == set(SOURCES)
