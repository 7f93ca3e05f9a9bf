"""Put lifecycles and reactions into engine/README.md, symbols into tui/README.md: ``python -m tests.diagrams``.

A lifecycle of a few states is a Mermaid diagram, which GitHub draws. The sixteen states of a node have too many moves
for a picture and are a table.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base import lifecycles
from engine.rules.reactions import REACTIONS
from tui.viewmodels import glyphs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engine.base.lifecycles import Moves
    from engine.base.terms import State
    from tui.viewmodels.glyphs import Glyph

ENGINE = Path(__file__).parents[1] / "engine"
README = ENGINE / "README.md"
MOST_MOVES_IN_A_PICTURE = 20
FACTS = [fact.__name__ for fact in REACTIONS]


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


Function = tuple[str, str]
"""A function of the rules: the name of its module, with dots, and its own."""


def module_of(path: Path) -> str:
    """Return the name of a module of the engine, with dots."""
    return ".".join(path.relative_to(ENGINE.parent).with_suffix("").parts)


def rule_functions() -> dict[Function, tuple[list[str], list[Function]]]:
    """Return, for each function of the rules, the facts that it emits itself and the functions of rules it refers to.

    Nested functions count as part of the one around them.
    """
    trees = {module_of(path): ast.parse(path.read_text("utf-8")) for path in sorted((ENGINE / "rules").rglob("*.py"))}
    own = {
        (module, node.name): node
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    imported = {
        module: {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for module, tree in trees.items()
    }

    def target(module: str, node: ast.AST) -> Function:
        """Return the function that a name or an attribute of a module may refer to."""
        if isinstance(node, ast.Name):
            return imported[module].get(node.id, (module, node.id))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return ".".join(imported[module].get(node.value.id, ("", ""))), node.attr
        return "", ""

    return {
        (module, name): (
            [fact for part in ast.walk(function) for fact in facts_emitted(part)],
            [found for part in ast.walk(function) if (found := target(module, part)) in own],
        )
        for (module, name), function in own.items()
    }


def facts_emitted(node: ast.AST) -> list[str]:
    """Return the names of the facts that are made in a call of ``world.emit``; none for other nodes."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "emit"):
        return []
    made = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return [each.id for each in made if isinstance(each, ast.Name) and each.id in FACTS]


def emitters() -> dict[str, list[str]]:
    """Return the modules of the rules that emit each fact, by the name of its class."""
    found: dict[str, dict[str, None]] = {name: {} for name in FACTS}
    for (module, _), (emitted, _) in rule_functions().items():
        for name in emitted:
            found[name][module.rpartition(".")[2]] = None
    return {name: list(modules) for name, modules in found.items()}


def further_facts() -> dict[Function, list[str]]:
    """Return the facts that each function of the rules may emit, itself or through functions that it calls."""
    functions = rule_functions()
    found = {}
    for start in functions:
        seen, pending = {start}, [start]
        while pending:
            new = set(functions[pending.pop()][1]) - seen
            seen |= new
            pending += new
        emitted = {name for function in seen for name in functions[function][0]}
        found[start] = [name for name in FACTS if name in emitted]
    return found


def reactions() -> str:
    """Return the table of reactions as Markdown, for between the marks in engine/README.md."""
    found, further = emitters(), further_facts()

    def line(handler: Callable[..., None], rule: str) -> str:
        module, name = handler.__module__, handler.__name__
        text = f"`{module.rpartition('.')[2]}.{name}` {rule}"
        return " → ".join([text, *([", ".join(further[module, name])] if further[module, name] else [])])

    rows = ["| fact | emitted by | what follows, in this order (→ facts that may follow from it) |", "|---|---|---|"]
    for fact, entries in REACTIONS.items():
        follows = "<br>".join(line(*entry) for entry in entries)
        rows.append(f"| {fact.__name__} | {', '.join(found[fact.__name__])} | {follows} |")
    return "\n".join([*rows, ""])


SYMBOLS: dict[str, Iterable[Glyph]] = {
    "nodes": glyphs.NODE.values(),
    "preparation tasks": (*glyphs.PREPARATION.values(), glyphs.INELIGIBLE, glyphs.STOPPED),
    "release tasks": glyphs.RELEASE.values(),
    "tasks": glyphs.TASK_GLYPHS,
    "jobs": glyphs.JOB.values(),
    "job schedules": glyphs.JOB_SCHEDULE.values(),
    "pools": glyphs.POOL_GLYPHS,
    "expectations": glyphs.EXPECTATION.values(),
    "variants of a study": glyphs.VARIANT_GLYPHS,
}


def symbols() -> str:
    """Return the symbols of all states as Markdown, for between the marks in tui/README.md."""
    rows = ["| symbol | letter | meaning |", "|---|---|---|"]
    for kind, states in SYMBOLS.items():
        rows.append(f"| | | | **{kind}** |")
        rows += [f"| `{each.symbol}` | `{each.letter}` | {each.name} |" for each in states]
    return "\n".join([*rows, ""])


SECTIONS: dict[str, tuple[Path, Callable[[], str]]] = {
    "lifecycles": (README, all_lifecycles),
    "reactions": (README, reactions),
    "symbols": (ENGINE.parent / "tui" / "README.md", symbols),
}


def split(name: str) -> tuple[str, str, str]:
    """Return the page of a section before, between and after its marks."""
    page, _ = SECTIONS[name]
    before, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name}: begin -->\n")
    between, _, after = rest.partition(f"<!-- {name}: end -->")
    return before, between, after


def main() -> None:
    """Write the sections into their pages."""
    for name, (page, section) in SECTIONS.items():
        before, _, after = split(name)
        text = f"{before}<!-- {name}: begin -->\n{section()}<!-- {name}: end -->{after}"
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
