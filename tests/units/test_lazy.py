"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import engine
from engine.base.values import LazyRegex, lazy_regex


def test_it_behaves_as_the_compiled_expression() -> None:
    word = lazy_regex("[a-z]+", re.IGNORECASE)
    compiled = re.compile("[a-z]+", re.IGNORECASE)
    for _ in range(2):
        assert word.findall("ab C-d") == compiled.findall("ab C-d") == ["ab", "C", "d"]
    assert word.sub("x", "ab C-d") == "x x-x"
    assert word.pattern == compiled.pattern
    assert word.flags == compiled.flags


def test_every_expression_of_the_engine_can_be_compiled() -> None:
    """A mistake in one that few runs use is found here, not by a user."""
    root = Path(engine.__file__).parent
    users = [path for path in root.rglob("*.py") if "= lazy_regex(" in path.read_text("utf-8")]
    for path in users:
        import_module(".".join(("engine", *path.relative_to(root).with_suffix("").parts)))
    values = [value for module in list(sys.modules.values()) for value in vars(module).values()]
    found = [value for value in values if isinstance(value, LazyRegex)]
    assert len(users) > 40
    assert len(found) > 100
    for each in found:
        each.compiled()
