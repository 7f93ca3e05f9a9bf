"""No circles of imports, neither among modules nor among folders; imports for the type checker alone count too."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Graph = dict[str, set[str]]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, modules: set[str]) -> set[str]:
    """The modules among these that the source imports, at whatever place."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(names & modules)
            if names - modules:
                found.add(node.module)
    return found & modules


def graph_of(package: str) -> Graph:
    paths = {module_of(path): path for path in (ROOT / package).rglob("*.py")}
    modules = set(paths)
    return {name: imports_of(path.read_text(encoding="utf-8"), modules) - {name} for name, path in paths.items()}


def folders_of(graph: Graph, packages: set[str]) -> Graph:
    """The same by folder; a module that lies beside folders is a room of its own, as in the contracts on layers."""
    holds_folders = {name.rpartition(".")[0] for name in packages}
    room = {name: name for name in graph}
    room |= {name: parent for name in graph if (parent := name.rpartition(".")[0]) not in holds_folders}
    rooms: Graph = {name: set() for name in room.values()}
    for name, imported in graph.items():
        rooms[room[name]] |= {room[other] for other in imported} - {room[name]}
    return rooms


def circle_in(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", ["engine", "tui"])
def test_modules_and_folders_import_each_other_without_circles(package):
    graph = graph_of(package)
    packages = {module_of(path) for path in (ROOT / package).rglob("__init__.py")}
    assert circle_in(graph) == []
    assert circle_in(folders_of(graph, packages)) == []


def test_a_circle_is_found():
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert imports_of("if X:\n    from a.b import C\n", {"a", "a.b"}) == {"a.b"}
    inside: Graph = {"p.q.a": {"p.r.b"}, "p.r.b": {"p.q.c"}, "p.q.c": set(), "p.d": {"p.q.a"}}
    assert folders_of(inside, {"p", "p.q", "p.r"}) == {"p.q": {"p.r"}, "p.r": {"p.q"}, "p.d": {"p.q"}}


@pytest.mark.parametrize(
    "module", ["engine", "engine.run.simulation", "engine.views", "engine.studies", "tui.cli", "tui.app"]
)
def test_nothing_starts_programs_before_it_is_asked_for(module: str):
    """Only ``--execute`` loads what runs command lines; a run that simulates them does not even load ``subprocess``."""
    code = f"import sys, {module}; print(*{{'subprocess', 'engine.execution'}} & set(sys.modules))"
    call = [sys.executable, "-c", code]
    assert subprocess.run(call, capture_output=True, text=True, check=True, cwd=ROOT).stdout == "\n"


def test_nothing_in_the_engine_imports_what_runs_programs():
    inside = "engine.execution"
    importers = {
        name for name, imported in graph_of("engine").items() if any(each.startswith(inside) for each in imported)
    }
    assert {name for name in importers if not name.startswith(inside)} == set()
