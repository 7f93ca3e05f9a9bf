"""engine/README.md shows the lifecycles and the table of reactions as they are."""

from __future__ import annotations

import pytest

from engine.base import lifecycles
from tests import diagrams


@pytest.mark.parametrize("name", diagrams.SECTIONS)
def test_the_readme_of_the_engine_is_current(name):
    _, shown, rest = diagrams.split(name)
    assert rest, "engine/README.md has lost its marks"
    assert shown == diagrams.SECTIONS[name](), "run `python -m tests.diagrams`"


def test_each_fact_is_emitted_by_a_rule():
    assert [name for name, modules in diagrams.emitters().items() if not modules] == []


def test_a_picture_has_an_arrow_for_each_move_with_its_rule():
    arrows = [line.strip() for line in diagrams.picture(lifecycles.TASK) if "-->" in line]
    assert len(arrows) == len(lifecycles.TASK)
    assert "[*] --> active: TASK-1" in arrows
    assert "preparing --> running: PREP-7" in arrows


def test_a_table_names_exceptions_where_most_states_are_meant():
    rows = diagrams.table(lifecycles.NODE)
    assert "| any | leavingpool | RSZ-7 |" in rows
    assert "| any, not leavingpool | preempted | SPOT-3 |" in rows
    assert "| deallocated | starting | NOP-8 |" in rows


def test_the_example_in_the_readme_runs(capsys):
    before, _, _ = diagrams.split("lifecycles")
    example = before.partition("```python\n")[2].partition("```")[0]
    exec(example)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith('{"seq":1,"t":0,')
    assert 0 < len(printed) < 200
