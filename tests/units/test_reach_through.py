"""The screen asks views and the simulation, and never reads the tables behind them."""

import ast
from pathlib import Path

import pytest

TUI = Path(__file__).parents[2] / "tui"
# Attributes of a simulation, of its world and of its log that only the engine reads.
HIDDEN = {"world", "journal", "checkpoints", "calendar", "shapes", "shape_of", "row_a", "row_b"}


@pytest.mark.parametrize("path", sorted(TUI.rglob("*.py")), ids=lambda path: str(path.relative_to(TUI)))
def test_no_module_of_the_screen_reads_the_world(path):
    tree = ast.parse(path.read_text())
    found = [
        f"line {node.lineno}" for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in HIDDEN
    ]
    assert not found
