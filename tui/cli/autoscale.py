"""``batchdeck autoscale``: a formula evaluated on samples from a file."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import NoReturn, TypeVar

import click

from engine.autoscale import parse
from engine.autoscale.values import LIVE, METRICS, TARGETS, FormulaError, Inputs, SampleSeries
from engine.base.errors import Position
from engine.base.values import SECOND_MS, parse_utc, shortened, with_short_words
from engine.scenario.conditions import LATEST_MS, parse_time
from engine.scenario.model import DEFAULT_START
from engine.scenario.text import BYTE_LIMIT, counted, one_of
from engine.scenario.tree import DEPTH_LIMIT
from engine.specs import draws
from tui.viewmodels.autoscale import around

T = TypeVar("T")

_STDIN = "-"
_KEYS = ("now", "variables", "samples")
_VARIABLES = METRICS | {name: full for name, (full, _) in TARGETS.items()}
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


def _samples(name: str) -> tuple[datetime | None, dict[str, float], dict[str, SampleSeries]]:
    try:
        document = json.loads(_read(name, "--samples"))
    except json.JSONDecodeError as error:
        _refuse(f"{name}:{error.lineno}:{error.colno}", f"not valid JSON: {error.msg}")
    except RecursionError:
        _refuse(name, "nested too deeply")
    except ValueError:  # Python does not read numbers of more than some thousand digits
        _refuse(name, "a number of too many digits")
    if counted(document)[1] > DEPTH_LIMIT:
        _refuse(name, "nested too deeply")
    if not isinstance(document, dict):
        _refuse(name, 'a samples file is an object such as {"now": ..., "variables": {...}, "samples": {...}}')
    for key in document:
        if key not in _KEYS:
            _refuse(f"{name}: {shortened(key)}", f"there is no such key{one_of(key, _KEYS)}")
    variables = _members(f"{name}: variables", document.get("variables", {}), _VARIABLES, _number)
    series = _members(f"{name}: samples", document.get("samples", {}), METRICS, _series)
    return _now(f"{name}: now", document.get("now")), variables, series


def _now(place: str, value: object) -> datetime | None:
    if value is None:
        return None
    try:
        return parse_utc(value if isinstance(value, str) else json.dumps(value))
    except ValueError as error:
        _refuse(place, str(error))


def _members(place: str, value: object, names: Mapping[str, str], read: Callable[[str, object], T]) -> dict[str, T]:
    """Return what ``read`` makes of each member of an object, by the full names of the variables."""
    if not isinstance(value, dict):
        _refuse(place, "should be an object with the names of variables as keys")
    found: dict[str, T] = {}
    for name, inner in value.items():
        here = f"{place}.{shortened(name)}"
        if name not in names:
            _refuse(here, f"there is no such variable{one_of(name, names)}")
        found[names[name]] = read(here, inner)
    return found


def _series(place: str, value: object) -> SampleSeries:
    """Parse samples, given with seconds before now, and sort them by time."""
    if not isinstance(value, list):
        _refuse(place, "should be a list of [seconds before now, value]")
    samples = []
    for index, sample in enumerate(value):
        here = f"{place}[{index}]"
        if not isinstance(sample, list) or len(sample) != 2:
            _refuse(here, "should be [seconds before now, value]")
        before_s = _number(here, sample[0])
        if before_s < 0:
            _refuse(here, f"lies {-before_s:g} s after now; the seconds count backwards")
        if before_s > LATEST_MS / SECOND_MS:
            _refuse(here, f"lies {before_s:g} s before now, which is more than a century")
        samples.append((-round(before_s * SECOND_MS), _number(here, sample[1])))
    samples.sort(key=lambda sample: sample[0])
    return SampleSeries([when_ms for when_ms, _ in samples], [number for _, number in samples])


def _number(place: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        _refuse(place, f"{json.dumps(value)[:40]} is not a usable number")
    return float(value)


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


def _refuse(place: str, reason: str) -> NoReturn:
    raise click.BadParameter(f"{place}: {reason}", param_hint="--samples")
