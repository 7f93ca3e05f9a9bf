"""Occasional bodies: built when they are needed, and otherwise like all others."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import ValidationError, model_validator

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


class _Branch(Occasional):
    leaf: _Leaf | None = None
    length: Int = 1

    @model_validator(mode="after")
    def _is_long(self):
        if self.length < 1:
            raise ValueError("is too short")
        return self


class _Bough(_Branch):
    birds: Int = 0


class _Plant(Occasional):
    size: Int = 1


class _Fence(Occasional):
    size: Int = 1


class _Hedge(_Plant):
    plant: _Plant | None = None
    fence: _Fence | None = None


class _Garden(Spec):
    hedge: _Hedge | None = None


def is_prepared(kind: type) -> bool:
    return isinstance(vars(kind)["__pydantic_fields__"], dict)


def test_a_part_is_prepared_when_it_is_used_and_with_it_what_it_extends_but_not_its_parts():
    assert _Garden.from_wire({}).hedge is None
    assert not any(map(is_prepared, (_Plant, _Hedge, _Fence)))
    assert list(_Hedge.model_fields) == ["size", "plant", "fence"]
    assert is_prepared(_Plant)
    assert not is_prepared(_Fence)
    assert _Garden.from_wire({"hedge": {"size": 2}}).hedge == _Hedge(size=2)
    assert not is_prepared(_Fence)


def test_a_part_that_extends_another_has_its_fields_defaults_validators_and_methods():
    bough = _Bough.from_wire({"length": 2, "leaf": {"size": 1}})
    assert isinstance(bough, _Branch)
    assert (bough.length, bough.birds, bough.leaf) == (2, 0, _Leaf(size=1))
    assert bough == _Bough(length=2, leaf=_Leaf(size=1))
    assert hash(_Bough(birds=1)) == hash(_Bough(birds=1))
    assert bough.model_copy(update={"birds": 3}).written() == {"length": 2, "leaf": {"size": 1}, "birds": 3}
    with pytest.raises(ValidationError, match="is too short"):
        _Bough.from_wire({"length": 0})
    with pytest.raises(ValidationError, match="frozen"):
        bough.birds = 2
    assert pickle.loads(pickle.dumps(bough)) == bough
    assert copy.deepcopy(bough) is bough


def test_threads_may_use_a_part_for_the_first_time_at_the_same_time():
    def made(kind: type[Occasional]) -> object:
        return kind.from_wire({"leaf": {"size": 1}})

    for number in range(20):
        kind = type(f"New{number}", (_Branch,), {"__annotations__": {"more": Int | None}, "more": None})
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(made, [kind] * 4)) == {kind(leaf=_Leaf(size=1))}


def test_a_run_of_a_small_scenario_prepares_few_bodies():
    program = """
from engine import Simulation, load_scenario
from engine.specs.base import Occasional
Simulation(load_scenario("job-prep-release-sample")).run_until(900_000)
def kinds(base):
    return [each for kind in base.__subclasses__() for each in (kind, *kinds(kind))]
found = set(kinds(Occasional))
prepared = [each.__name__ for each in found if isinstance(vars(each)["__pydantic_fields__"], dict)]
assert len(found) > 130, len(found)
assert len(prepared) < 30, sorted(prepared)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])
