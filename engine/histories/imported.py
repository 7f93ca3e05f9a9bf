"""The result of every import: the document of a scenario, and what had to be assumed to make it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.base.errors import Problem


class Imported(NamedTuple):
    """A scenario made of what really happened.

    ``document`` has the sections of a scenario file, in order, as plain data; long lists may be iterators, which are
    read once. Each of the ``assumptions`` becomes one comment line of the written file. ``warnings`` are about what
    was left out. Mistakes are raised instead, all of them in one ``ScenarioError``.
    """

    document: Mapping[str, object]
    assumptions: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()


class PoolShape(NamedTuple):
    """The nodes and task slots per node that a pool is to have; None leaves it to the source."""

    nodes: int | None = None
    slots: int | None = None
