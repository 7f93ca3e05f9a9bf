"""The other tests of a library together: none of its operations is left out, whichever of them run, and where."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.clients.sdk.speaker import operations


def named_in(source):
    """What a source names: attributes, and texts that stand for one."""
    nodes = list(ast.walk(ast.parse(source)))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {node.value for node in nodes if isinstance(node, ast.Constant)}


def test_every_operation_of_the_library_is_called_in_a_test():
    files = (path for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__))
    named = set().union(*(named_in(path.read_text(encoding="utf-8")) for path in files))
    if "add_tasks" in named:  # the libraries call it otherwise
        named.add("create_task_collection")
    assert len(operations()) > 50
    assert operations() - named == set()
