"""The variant of a study that is shown, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.scenario.record import values_text

if TYPE_CHECKING:
    from engine.scenario.model import ChosenVariant, Scenario


def variant_note(scenario: Scenario) -> str:
    """Return which variant a scenario is, with its values; empty if it is none."""
    variant = scenario.variant
    return "" if variant is None else f"variant {variant.number:,}: {values_text(variant.values)}"


def reloaded_note(before: ChosenVariant | None, now: ChosenVariant | None) -> str:
    """Return what is said after the file of a scenario was read again, and which variant is shown."""
    if before is None:
        return "Reloaded."
    if now is None:
        return "Reloaded. The scenario has no variants any more."
    if now.values != before.values:
        return f"Reloaded. Variant {now.number:,} has other values now: {values_text(now.values)}"
    was = "" if now.number == before.number else f", which was variant {before.number:,}"
    return f"Reloaded variant {now.number:,}{was}."
