"""Autoscale formulas as a factor of a study: what is being written, against what the pool has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.scenario.record import flow_text
from engine.scenario.tree import parse
from engine.views.pages.autoscale import scale_page

if TYPE_CHECKING:
    from engine import Simulation
    from engine.base.terms import Plain
    from engine.scenario.model import Scenario

_TARGETS = ("targetDedicatedNodes", "targetLowPriorityNodes", "targetDedicated", "targetLowPriority")


def formula_request(scenario: Scenario, simulation: Simulation, pool_id: str, formula: str, known: list[str]) -> str:
    """Return the factor that sets formulas of a pool against each other, as ``--vary`` takes it.

    The values are what the scenario says, the present formula of the pool, those that were studied before, and the new
    one. A pool of a fixed size is varied as a whole: as it is, and with each formula.

    Args:
        scenario: The scenario of the file.
        simulation: The run in which the formula was written.
        pool_id: The pool.
        formula: The new formula.
        known: The formulas that were studied before; the new one is added.

    Raises:
        ValueError: The pool cannot be varied, or there is no other formula. The message is a sentence.
    """
    body = _body(scenario, pool_id)
    if body is None:
        raise ValueError(f"Pool {pool_id} is not among the pools of the scenario, so its formula cannot be varied.")
    own, page = body.get("autoScaleFormula"), scale_page(simulation, pool_id)
    present = [] if page is None else [page.formula]
    first = [own] if isinstance(own, str) else []
    formulas = {each.strip(): each for each in (*first, *present, *known, formula) if each.strip()}
    if len(formulas) + (not first) < 2:
        raise ValueError("The formula is the one of the scenario: change it, then study it against that one.")
    if formula.strip() not in (each.strip() for each in known):
        known.append(formula)
    if first:
        return f"pools.{pool_id}.autoScaleFormula={_values(list(formulas.values()))}"
    fixed = {key: value for key, value in body.items() if key not in _TARGETS}
    scaled: list[Plain] = [fixed | {"enableAutoScale": True, "autoScaleFormula": each} for each in formulas.values()]
    return f"pools.{pool_id}={_values([body, *scaled])}"


def _values(values: list[Plain] | list[str]) -> str:
    return ",".join(map(flow_text, values))


def _body(scenario: Scenario, pool_id: str) -> dict[str, Plain] | None:
    """Return the body of a pool as the file has it."""
    tree = parse(scenario.source.text, lambda *_: None)
    document = None if tree is None else tree.plain
    pools = document.get("pools") if isinstance(document, dict) else None
    bodies = (body for body in pools if isinstance(body, dict)) if isinstance(pools, list) else ()
    return next((body for body in bodies if str(body.get("id", "")).casefold() == pool_id.casefold()), None)
