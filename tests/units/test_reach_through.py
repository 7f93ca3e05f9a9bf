"""The screen asks views and the simulation, and never reads the tables behind them."""

import ast
from pathlib import Path

TUI = Path(__file__).parents[2] / "tui"
# Attributes of a simulation, of its world and of its log that only the engine reads.
HIDDEN = {"world", "journal", "checkpoints", "calendar", "shapes", "shape_of", "row_a", "row_b"}


def test_no_module_of_the_screen_reads_the_world():
    found = [
        f"{path.relative_to(TUI)}:{node.lineno}: {node.attr}"
        for path in sorted(TUI.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in HIDDEN
    ]
    assert not found, "\n".join(found)
