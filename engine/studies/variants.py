"""The scenarios of a study's variants: values are put into the document before it is read, so mistakes have places."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.base.errors import Problem, ScenarioError
from engine.scenario.load import load_tree
from engine.scenario.locations import Location, Placed, locate, with_values
from engine.scenario.model import ChosenVariant
from engine.scenario.record import flow_text, values_text
from engine.scenario.tree import Tree, parse
from engine.studies.plan import planned

if TYPE_CHECKING:
    from collections.abc import Callable

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
        values = (varied.value.plain for factor in study.factors for varied in factor.values)
        self._words = "\n".join((study.source.text, *(one.path for one in study.factors), *map(flow_text, values)))

    def scenario(self, variant: int) -> Scenario:
        """Return the scenario of a variant, to be run.

        Raises:
            ScenarioError: Its values are not valid, with their positions in the file.
        """
        return load_tree(self.study.source, self._document(variant), self._words)

    def chosen(self, variant: int, scenario: Scenario) -> Scenario:
        """Return a variant of ``scenario`` that says which one it is; without factors that is the scenario itself.

        Raises:
            ScenarioError: Its values are not valid, with their positions in the file.
        """
        study = self.study
        if not study.factors:
            return scenario
        document = self._document(variant)
        options = tuple(factor.option for factor in study.factors if factor.option)
        found = ChosenVariant(variant, study.values(variant), options, document)
        return replace(load_tree(study.source, document, self._words), variant=found, study=scenario.study)

    def _document(self, variant: int) -> Tree:
        study = self.study
        placed = (
            Placed(location, varied.value, factor.position)
            for factor, location, varied in zip(study.factors, self._locations, study.varied(variant), strict=True)
        )
        return with_values(self._root, placed)

    def check(self, *, each_value_once: bool = False, between: Callable[[], object] = lambda: None) -> None:
        """Read every variant, or only as many as it takes to have each value of each factor in one of them.

        Args:
            each_value_once: Read only as many.
            between: Is called after each variant; an error that it raises ends the check.

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
                        found[where] = problem._replace(message=f"{problem.message} ({self._named(variant)})")
            if len(found) >= _LIMIT:
                break
            between()
        if found:
            raise ScenarioError([found[where] for where in sorted(found)])

    def _named(self, variant: int) -> str:
        return f"variant {variant}: {values_text(self.study.values(variant))}"


def chosen_again(scenario: Scenario, before: ChosenVariant) -> Scenario:
    """Return the variant of a scenario that was chosen before its file was edited: that with the same values.

    If no variant has them any more, it is the one with the same number.

    Raises:
        ScenarioError: There are no longer so many variants, or the factors or values are not valid.
    """
    study = planned(scenario, before.options)
    same = (number for number in range(1, study.variants + 1) if study.values(number) == before.values)
    number = next(same, before.number)
    if number > study.variants:
        gone = f"there is no variant {number:,} any more, the last is {study.variants:,}"
        raise ScenarioError([Problem(gone, "study", file=scenario.source.path)])
    return Variants(study).chosen(number, scenario)


def _without_study(root: Tree | None) -> Tree:
    """Return the document without its ``study``, whose paths are those of the document as written."""
    assert root is not None
    assert isinstance(root.value, dict)
    kept = {key: value for key, value in root.value.items() if key != "study"}
    return Tree(root.position, kept, {key: root.keys[key] for key in kept}, size=root.size)
