"""``batchdeck autoscale``: a formula evaluated on samples from a file."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Annotated

import click
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails

from engine.autoscale import parse
from engine.autoscale.values import LIVE, METRICS, TARGETS, FormulaError, Inputs, SampleSeries
from engine.base.errors import Position
from engine.base.values import SECOND_MS, parse_utc, with_short_words
from engine.scenario.bodies import mistake_text
from engine.scenario.conditions import LATEST_MS, parse_time
from engine.scenario.document import format_path
from engine.scenario.model import DEFAULT_START
from engine.scenario.text import BYTE_LIMIT, one_of
from engine.specs import draws
from tui.viewmodels.autoscale import around

_STDIN = "-"
_WIDEST = 100  # cells of a line of a formula in a message


class FormulaFailed(Exception):
    """The formula was refused or did not evaluate; the message is for the user."""


def results(formula: str, samples: str | None, at: str | None) -> str:
    """Evaluate the formula in a file or in stdin, and return the results string.

    Raises FormulaFailed, or click.BadParameter for a file or time that cannot be used.
    """
    if formula == samples == _STDIN:
        raise click.BadParameter("formula and samples cannot both come from standard input", param_hint="--samples")
    text = _read(formula, "FORMULA")
    inputs = _inputs(samples, at)
    try:
        found = parse(text).evaluate(inputs)
    except FormulaError as error:
        raise FormulaFailed(_failure(text, error.code, error.position, error.reason)) from None
    if found.error is not None:
        raise FormulaFailed(_failure(text, *found.error))
    return found.text


def _failure(text: str, code: str, position: Position, reason: str) -> str:
    """Return the message, and the line of the formula with a caret below the error."""
    line, at = around(text, position, _WIDEST)
    return f"{position}: {reason} ({code})\n  {line}\n  {' ' * at}^"


def _inputs(samples: str | None, at: str | None) -> Inputs:
    now, variables, series = _samples(samples) if samples is not None else (None, {}, {})
    if at is not None:
        now = _moment(at, now or DEFAULT_START)
    numbers = itertools.count()
    of_an_empty_pool = {name: 1.0 if name == "$TaskSlotsPerNode" else 0.0 for name in LIVE if name not in series}
    return Inputs(
        start=now or DEFAULT_START,
        variables=of_an_empty_pool | variables,
        samples=series,
        chance=lambda: draws.uniform(0, "autoscale", next(numbers)),
    )


def _moment(text: str, start: datetime) -> datetime:
    """Parse a TIME: absolute, or relative to ``start``."""
    try:
        return parse_utc(text) if "-" in text[1:] else start + timedelta(milliseconds=parse_time(text, start))
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(str(error), param_hint="--at") from None


# -- the samples file ------------------------------------------------------------------------------------------------


def _names(full: Mapping[str, str]) -> AfterValidator:
    """Return what makes the full name of a variable of each of these names."""

    def full_name(name: str) -> str:
        if name not in full:
            raise ValueError(f"there is no such variable{one_of(name, full)}")
        return full[name]

    return AfterValidator(full_name)


_Variable = Annotated[str, _names(METRICS | {name: full for name, (full, _) in TARGETS.items()})]
_Metric = Annotated[str, _names(METRICS)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_SecondsBefore = Annotated[_Number, Field(ge=0, le=LATEST_MS / SECOND_MS)]
_OF_SAMPLES = ("missing", "too_long", "tuple_type", "list_type")  # pydantic's types of mistakes in the form of a sample


class _File(BaseModel, strict=True, extra="forbid"):
    """The content of a file of samples. A sample has seconds before now, and a value."""

    now: Annotated[datetime, BeforeValidator(lambda value: parse_utc(str(value)))] | None = None
    variables: dict[_Variable, _Number] = {}
    samples: dict[_Metric, list[tuple[_SecondsBefore, _Number]]] = {}


def _samples(name: str) -> tuple[datetime | None, dict[str, float], dict[str, SampleSeries]]:
    try:
        found = _File.model_validate_json(_read(name, "--samples"))
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        path = format_path(tuple(part for part in details["loc"] if part != "[key]"))
        raise click.BadParameter(f"{name}{path and f': {path}'}: {_reason(details)}", param_hint="--samples") from None
    series = {}
    for metric, samples in found.samples.items():
        in_order = sorted(((-round(before_s * SECOND_MS), value) for before_s, value in samples), key=itemgetter(0))
        series[metric] = SampleSeries([when_ms for when_ms, _ in in_order], [value for _, value in in_order])
    return found.now, found.variables, series


def _reason(details: ErrorDetails) -> str:
    """Return what is wrong with a value in a file of samples."""
    kind = details["type"]
    if kind == "json_invalid":
        return f"not valid JSON: {details['ctx']['error']}"
    if kind == "extra_forbidden":
        return f"there is no such key{one_of(str(details['loc'][0]), _File.model_fields)}"
    if kind == "model_type":
        return 'a samples file is an object such as {"now": ..., "variables": {...}, "samples": {...}}'
    if kind in _OF_SAMPLES:
        return f"must be {'a list of ' * (kind == 'list_type')}[seconds before now, value]"
    return mistake_text(details) + (": seconds count backwards from now" if kind.endswith("than_equal") else "")


def _read(name: str, parameter: str) -> str:
    try:
        with nullcontext(sys.stdin.buffer) if name == _STDIN else open(name, "rb") as stream:
            raw = stream.read(BYTE_LIMIT + 1)
        if len(raw) > BYTE_LIMIT:
            raise ValueError(f"it is larger than {BYTE_LIMIT >> 20} MB")
        return raw.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None)
        hint = f"{with_short_words(repr(name))} cannot be read: {reason or error}; give a file, or - for standard input"
        raise click.BadParameter(hint, param_hint=parameter) from None
