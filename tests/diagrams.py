"""Put the lifecycles and the table of reactions into engine/README.md: ``python -m tests.diagrams``.

A lifecycle of a few states is a Mermaid diagram, which GitHub draws. The sixteen states of a node have too many moves
for a picture and are a table.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base import lifecycles
from engine.rules.reactions import REACTIONS

if TYPE_CHECKING:
    from engine.base.lifecycles import Moves
    from engine.base.terms import State

ENGINE = Path(__file__).parents[1] / "engine"
README = ENGINE / "README.md"
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


def all_lifecycles() -> str:
    """Return all lifecycles as Markdown, for between the marks in engine/README.md."""
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


def emitters() -> dict[str, list[str]]:
    """Return the modules of the rules that emit each fact, by the name of its class."""
    found: dict[str, list[str]] = {fact.__name__: [] for fact in REACTIONS}
    for path in sorted((ENGINE / "rules").rglob("*.py")):
        calls = (node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
        for name in dict.fromkeys(call.id for call in calls if isinstance(call, ast.Name) and call.id in found):
            found[name].append(path.stem)
    return found


def reactions() -> str:
    """Return the table of reactions as Markdown, for between the marks in engine/README.md."""
    found = emitters()
    rows = ["| fact | emitted by | what follows, in this order |", "|---|---|---|"]
    for fact, entries in REACTIONS.items():
        name = fact.__name__
        follows = ", ".join(
            f"`{handler.__module__.rpartition('.')[2]}.{handler.__name__}` {rule}" for handler, rule in entries
        )
        rows.append(f"| {name} | {', '.join(found[name])} | {follows} |")
    return "\n".join([*rows, ""])


SECTIONS = {"lifecycles": all_lifecycles, "reactions": reactions}


def split(name: str) -> tuple[str, str, str]:
    """Return the README before, between and after the marks of a section."""
    before, _, rest = README.read_text(encoding="utf-8").partition(f"<!-- {name}: begin -->\n")
    between, _, after = rest.partition(f"<!-- {name}: end -->")
    return before, between, after


def main() -> None:
    """Write the sections into the README."""
    for name, section in SECTIONS.items():
        before, _, after = split(name)
        text = f"{before}<!-- {name}: begin -->\n{section()}<!-- {name}: end -->{after}"
        README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
