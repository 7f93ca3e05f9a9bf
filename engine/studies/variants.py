"""The scenarios of a study's variants: values are put into the document before it is read, so mistakes have places."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.base.errors import ScenarioError
from engine.scenario.factors import Location, Placed, locate, with_values
from engine.scenario.load import load_tree
from engine.scenario.model import ScenarioSource
from engine.scenario.record import document_text
from engine.scenario.tree import Tree, parse
from engine.studies.plan import values_text

if TYPE_CHECKING:
    from engine.base.errors import Problem
    from engine.scenario.model import Scenario
    from engine.studies.plan import Study

_LIMIT = 1_000


class Variants:
    """A reader of the variants of a study. The text of the scenario is parsed once."""

    def __init__(self, study: Study) -> None:
        """Parse the scenario, which must be valid."""
        self.study = study
        self._root = _without_study(parse(study.source.text, lambda *_: None))
        self._locations: list[Location] = [locate(self._root, factor.steps) for factor in study.factors]

    def scenario(self, variant: int) -> Scenario:
        """Return the scenario of a variant. Its source has the text that a file of this variant would have.

        Raises:
            ScenarioError: Its values are not valid, with their positions in the file.
        """
        study = self.study
        tree = with_values(
            self._root,
            [
                Placed(location, varied.value, factor.position)
                for factor, location, varied in zip(study.factors, self._locations, study.varied(variant), strict=True)
            ],
        )
        text = document_text(tree.plain) if study.factors else study.source.text
        return load_tree(ScenarioSource(study.source.path, text), tree)

    def check(self, *, each_value_once: bool = False) -> None:
        """Read every variant, or only as many as it takes to have each value of each factor in one of them.

        Raises:
            ScenarioError: Some variants have mistakes. Each mistake is listed once, with the first variant that has it.
        """
        found: dict[tuple[int, int, str, str], Problem] = {}
        for variant in self.study.with_each_value() if each_value_once else range(1, self.study.variants + 1):
            try:
                self.scenario(variant)
            except ScenarioError as error:
                for problem in error.problems:
                    where = problem.line, problem.column, problem.path, problem.message
                    if where not in found:
                        found[where] = replace(problem, message=f"{problem.message} ({self._named(variant)})")
            if len(found) >= _LIMIT:
                break
        if found:
            raise ScenarioError([found[where] for where in sorted(found)])

    def _named(self, variant: int) -> str:
        return f"variant {variant}: {values_text(self.study.values(variant))}"


def _without_study(root: Tree | None) -> Tree:
    """Return the document without its ``study``, whose paths are those of the document as written."""
    assert root is not None
    assert isinstance(root.value, dict)
    kept = {key: value for key, value in root.value.items() if key != "study"}
    return Tree(root.position, kept, {key: root.keys[key] for key in kept}, size=root.size)
