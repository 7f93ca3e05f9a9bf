"""Draw the lifecycles of ``engine/base/lifecycles.py``: ``python -m tests.diagrams`` puts them into engine/README.md.

A lifecycle of a few states is a Mermaid diagram, which GitHub draws. The sixteen states of a node have too many moves
for a picture and are a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.base import lifecycles

if TYPE_CHECKING:
    from engine.base.lifecycles import Moves
    from engine.base.terms import State

README = Path(__file__).parents[1] / "engine" / "README.md"
BEGIN, END = "<!-- lifecycles: begin -->", "<!-- lifecycles: end -->"
MOST_MOVES_IN_A_PICTURE = 20


def picture(moves: Moves) -> list[str]:
    """A Mermaid diagram: one arrow a move, with the rule that allows it."""

    def end(state: State | None) -> str:
        return "[*]" if state is None else state.wire

    arrows = [f"    {end(old)} --> {end(new)}: {rule}" for (old, new), rule in moves.items()]
    return ["```mermaid", "stateDiagram-v2", *arrows, "```"]


def table(moves: Moves) -> list[str]:
    """One line for all states from which the same rule leads to the same state."""
    present = {old for old, _ in moves if old is not None}
    lines: dict[tuple[str, State | None], list[State | None]] = {}
    for (old, new), rule in moves.items():
        lines.setdefault((rule, new), []).append(old)

    def names(olds: list[State | None], new: State | None) -> str:
        missing = sorted(present - {new} - set(olds))
        if len(olds) > len(present) / 2:
            return "any" + "".join(f", not {state.wire}" for state in missing)
        return ", ".join("–" if state is None else state.wire for state in olds)

    rows = [
        f"| {names(olds, new)} | {'–' if new is None else new.wire} | {rule} |" for (rule, new), olds in lines.items()
    ]
    return ["| from | to | rule |", "|---|---|---|", *rows]


def section() -> str:
    """All lifecycles as Markdown, for between the marks in engine/README.md."""
    text: list[str] = []
    for title, moves in (
        ("A task", lifecycles.TASK),
        ("A subtask", lifecycles.SUBTASK),
        ("A job", lifecycles.JOB),
        ("A job schedule", lifecycles.JOB_SCHEDULE),
        ("A pool: state", lifecycles.POOL),
        ("A pool: allocation state", lifecycles.ALLOCATION),
        ("A node", lifecycles.NODE),
        ("A certificate", lifecycles.CERTIFICATE),
    ):
        drawn = picture(moves) if len(moves) <= MOST_MOVES_IN_A_PICTURE else table(moves)
        text += [f"### {title}", "", *drawn, ""]
    return "\n".join(text)


def split() -> tuple[str, str, str]:
    """The README before, between and after the marks."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN + "\n")
    between, _, after = rest.partition(END)
    return before, between, after


def main() -> None:
    """Write the section into the README."""
    before, _, after = split()
    README.write_text(f"{before}{BEGIN}\n{section()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
