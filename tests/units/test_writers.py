"""Tables are the only writers: rules change the state of a run through methods of its tables and records.

A rule that assigned to a column itself could forget to mark the page as changed, or make a move that is not legal.
"""

from __future__ import annotations

import ast
from pathlib import Path

import engine

RULES = Path(engine.__file__).parent / "rules"
# The fast paths write columns directly; a property test compares their logs with those of the tables.
MODULES = sorted(set(RULES.rglob("*.py")) - set(RULES.glob("fast_*.py")))
# No state of the run: they are found out again when they are needed.
CACHES = {"world.prep_hooks", "world.release_hooks", "world.plans", "world.short_profiles", "world.reactions"}
MUTATORS = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}


def targets_of(node: ast.AST) -> list[ast.expr]:
    """What a statement assigns to, or whose contents a call changes."""
    if isinstance(node, ast.Assign | ast.Delete):
        return [part for target in node.targets for part in getattr(target, "elts", [target])]
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return [node.target]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        changed = node.func.value
        is_table = isinstance(changed, ast.Attribute) and ast.unparse(changed.value) == "world"
        return [] if is_table else [changed]
    return []


def writes_in(source: str) -> list[str]:
    """Line and text of each change of an attribute, or of its contents, except those of ``self`` and of caches."""
    found = []
    for node in ast.walk(ast.parse(source)):
        for target in targets_of(node):
            owner = target
            while isinstance(owner, ast.Subscript):
                owner = owner.value
            if isinstance(owner, ast.Attribute) and ast.unparse(owner.value) != "self":
                found += [f"{target.lineno}: {ast.unparse(target)}"] if ast.unparse(owner) not in CACHES else []
    return found


def test_rules_write_through_tables():
    found = [
        f"{path.relative_to(RULES)}:{write}"
        for path in MODULES
        for write in writes_in(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_a_write_is_found():
    source = (
        "job.state = 1\nnodes.free[node] -= 2\nrecord.users.clear()\nself.x = 1\nplain[1] = 2\nworld.pools.add(pool)\n"
    )
    assert writes_in(source) == ["1: job.state", "2: nodes.free[node]", "3: record.users"]
