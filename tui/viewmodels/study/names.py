"""Short names of the values of a study: a formula or a body is too long for a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.shortening import shortened
from engine.scenario.locations import locate, value_at
from engine.scenario.record import flow_text
from engine.scenario.tree import parse
from engine.studies.labels import short_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.base.terms import Plain
    from engine.scenario.factors import Factor
    from engine.scenario.tree import Tree
    from engine.studies.plan import Study
    from engine.studies.summary import VariantSummary

_LONGEST = 24  # characters of a value that is shown as it is
_AS_IS, _LEFT_OUT = "as is", "left out"
_NOUNS = {"autoScaleFormula": "formula", "commandLine": "command"}
_ANY = "value"
_SHORT_HEADS = {
    "targetDedicatedNodes": "dedicated",
    "targetLowPriorityNodes": "Spot",
    "autoScaleFormula": "formula",
    "autoScaleEvaluationInterval": "interval",
    "taskSlotsPerNode": "slots",
    "maxTaskRetryCount": "retries",
    "maxWallClockTime": "time limit",
    "commandLine": "command",
}


class ValueNames:
    """The names of all values of a study, by factor."""

    def __init__(self, study: Study) -> None:
        """Read the document of the scenario, for the values that are as they are there."""
        root = parse(study.source.text, lambda *_: None)
        assert root is not None
        self.heads = short_names([factor.path for factor in study.factors])
        self._paths = [factor.path for factor in study.factors]
        self._names = [_names_of(factor, root) for factor in study.factors]
        self._places = [{text: at for at, text in enumerate(names)} for names in self._names]

    def of(self, values: dict[str, Plain]) -> list[str]:
        """Return the names of the values of a variant, in the order of the factors."""
        return [names[flow_text(values[path])] for path, names in zip(self._paths, self._names, strict=True)]

    def place(self, at: int, values: dict[str, Plain]) -> int:
        """Return the number of a variant's value among those of a factor, in the order in which they were written."""
        return self._places[at][flow_text(values[self._paths[at]])]

    def line_of(self, variant: VariantSummary) -> str:
        """Return the values of a variant in a line, each with the short name of its factor."""
        return " ".join(f"{head}={name}" for head, name in zip(self.heads, self.of(variant.values), strict=True))


def factor_lines(factors: Iterable[Factor]) -> list[str]:
    """Return a line for each factor, with its values: ``pools.render.vmSize  a, b``."""
    return [
        f"{one.path}  {', '.join(shortened(flow_text(each.written.plain), 40) for each in one.values)}"
        for one in factors
    ]


def short_head(head: str) -> str:
    """Return a head for a narrow column: ``dedicated`` for ``targetDedicatedNodes``; empty if there is none."""
    owner, dot, name = head.rpartition(".")
    return f"{owner}{dot}{_SHORT_HEADS[name]}" if name in _SHORT_HEADS else ""


def _names_of(factor: Factor, root: Tree) -> dict[str, str]:
    """Return the names of the values of a factor, by their texts."""
    own = value_at(root, locate(root, factor.steps).at)
    noun = _NOUNS.get(factor.steps[-1], _ANY)
    found: dict[str, str] = {}
    for number, one in enumerate(factor.values, start=1):
        written = one.written.plain
        text = flow_text(written)
        kind = "formula" if isinstance(written, dict) and "autoScaleFormula" in written else noun
        if written is None:
            found[text] = _LEFT_OUT
        elif isinstance(written, str) and len(written) <= _LONGEST and written.isprintable():
            found[text] = written
        elif len(text) <= _LONGEST:
            found[text] = text
        elif kind == _ANY and own is not None and own.plain == one.value.plain:
            found[text] = _AS_IS
        else:
            found[text] = f"{kind} {number}"
    return found
