"""Occasional bodies: built when they are needed, and otherwise like all others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import ValidationError

from engine.specs.base import Int, Occasional, Secret, Spec, Text


class _Leaf(Occasional):
    size: Int
    password: Secret | None = None


class _Twig(Occasional):
    leaf: _Leaf


class _Tree(Spec):
    name: Text
    twig: _Twig | None = None
    leaves: tuple[_Leaf, ...] = ()


def test_a_part_is_built_when_it_is_given():
    class Part(Occasional):
        size: Int

    class Whole(Spec):
        part: Part | None = None

    assert Whole.from_wire({}).part is None
    assert not Part.__pydantic_complete__
    assert Whole.from_wire({"part": {"size": 3}}).part == Part(size=3)


def test_a_mistake_in_a_part_stands_where_it_was_made():
    with pytest.raises(ValidationError) as caught:
        _Tree.from_wire({"name": "oak", "twig": {"leaf": {"size": "3"}}, "leaves": [{"size": 1}, {"sizes": 1}]})
    places = [each["loc"] for each in caught.value.errors()]
    assert places == [("twig", "leaf", "size"), ("leaves", 1, "size"), ("leaves", 1, "sizes")]


def test_parts_are_written_answered_and_masked_with_the_whole():
    body = {"name": "oak", "twig": {"leaf": {"size": 1, "password": "x"}}, "leaves": [{"size": 2}]}
    tree = _Tree.from_wire(body)
    assert tree.written() == body
    assert tree.wire() == {"name": "oak", "twig": {"leaf": {"size": 1}}, "leaves": [{"size": 2}]}
    assert tree.masked()["twig"]["leaf"]["password"] == "***"


def test_a_json_schema_defines_parts_once():
    schema = _Tree.model_json_schema()
    assert schema["properties"]["leaves"]["items"] == {"$ref": "#/$defs/_Leaf"}
    assert schema["$defs"]["_Twig"]["properties"]["leaf"] == {"$ref": "#/$defs/_Leaf"}
    assert set(schema["$defs"]) == {"_Leaf", "_Twig"}


def test_threads_may_build_parts_at_the_same_time():
    def made(number: int) -> Int:
        kinds = [type(f"Kind{number}{k}", (Occasional,), {"__annotations__": {"leaf": _Leaf}}) for k in range(5)]
        return sum(kind.from_wire({"leaf": {"size": 1}}).leaf.size for kind in kinds)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(made, range(8))) == [5] * 8
