"""Counts of the product's modules: how many there are, their lines, and the longest chain of imports."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGES = ("engine", "tui", "scenarios")
LONG = 500  # lines
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


class Module(NamedTuple):
    """The counts of one module."""

    name: str
    lines: int
    code: int  # lines that are not blank, comment, docstring or import
    imports: frozenset[str]  # names that it imports when it is imported itself; not all of them are modules


def modules() -> list[Module]:
    """Return the counts of all modules of the product, by name."""
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return sorted(_module(path) for path in paths)


def longest_chain(found: list[Module]) -> list[str]:
    """Return the names of the longest chain of modules of which each imports the next at run time."""
    names = {module.name for module in found}
    graph = {module.name: (module.imports & names) - {module.name} for module in found}
    chains: dict[str, list[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        below = (chains[imported] for imported in sorted(graph[name]))
        chains[name] = [name, *max(below, key=len, default=[])]
    return max(chains.values(), key=len)


def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    other = {number for node in _statements(tree) for number in _other_lines(node)}
    code = sum(
        number not in other and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(lines, 1)
    )
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, len(lines), code, frozenset(_imported(tree)))


def _other_lines(node: ast.AST) -> Iterator[int]:
    """Yield the numbers of the lines of a node that are no code: an import, docstrings, ``if TYPE_CHECKING:``."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from _lines_of(node)
    elif _is_for_type_checker(node):
        yield node.lineno
    elif isinstance(node, _DOCUMENTED):
        for position, statement in enumerate(node.body):
            if (position == 0 or isinstance(node, ast.ClassDef)) and _is_text(statement):
                yield from _lines_of(statement)


def _lines_of(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_for_type_checker(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the names of modules, and what may be modules, that are imported outside of functions."""
    for child in _inside(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield child.module or ""
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif not isinstance(child, _FUNCTIONS) and not _is_for_type_checker(child):
            yield from _imported(child)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node and all statements in it; nothing that is counted here stands in an expression."""
    yield node
    for child in _inside(node):
        yield from _statements(child)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    for block in _BLOCKS:
        children = getattr(node, block, ())
        if isinstance(children, list):
            yield from children
