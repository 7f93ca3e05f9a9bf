"""Files of results that somebody has changed: they are refused with a sentence, or can be summed up."""

from __future__ import annotations

import json
from contextlib import suppress
from io import BytesIO
from random import Random

import pytest

from engine.studies.outcome import as_json, summarize
from engine.studies.runs import Player, read
from tests.mutants import COUNT, mutated, mutated_bytes
from tui.cli.studying import csv_text, study_text
from tui.saving.console import console
from tui.workers.runs import NoResults, kept


@pytest.fixture
def study(night):
    return night("pools.render.targetDedicatedNodes=1,2", seeds=(1, 2))


@pytest.fixture
def lines(study):
    return Player(study).play(study.runs())


def content(lines):
    return "".join(f"{line}\n" for line in lines).encode()


def summed_up(study, results):
    summary = summarize(study, "night", results, confidence=0.95)
    json.dumps(as_json(summary), allow_nan=False)
    csv_text(study, results)
    study_text(summary, ("costUsd",), console(to_stderr=False))


def test_a_changed_file_is_refused_or_can_be_summed_up(study, lines):
    played = {run: read(line) for run, line in zip(study.runs(), lines, strict=True)}
    for seed in range(COUNT):
        random = Random(seed)
        changed = mutated_bytes(content(lines), random)
        if seed % 2:
            at = random.randrange(len(lines))
            changed = content([*lines[:at], json.dumps(mutated(read(lines[at]), random)), *lines[at + 1 :]])
        with suppress(NoResults):
            summed_up(study, list((played | kept(BytesIO(changed), study, "r").results).values()))


def test_a_byte_order_mark_and_the_line_ends_of_windows_are_accepted(study, lines):
    whole = b"\xef\xbb\xbf" + content(lines).replace(b"\n", b"\r\n")
    found = kept(BytesIO(whole), study, "r")
    assert (len(found.results), found.length) == (4, len(whole))
    assert kept(BytesIO(whole[:-30]), study, "r").length == whole[:-30].rindex(b"\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (r'"makespanSeconds": ', '"makespanSeconds": "x", "a": ', "summary.makespanSeconds: must be a number, not 'x'"),
        (r'"costUsd": ', '"costUsd": -1, "a": ', "summary.costUsd: must be at least 0, not -1"),
        (r'"costUsd": ', '"costUsd": NaN, "a": ', "too many digits, or not a finite number"),
        (r'"costUsd": ', f'"costUsd": {"9" * 5000}, "a": ', "too many digits"),
        (r'"costUsd": ', '"costs": ', "summary.costUsd: is missing"),
        (r'"expectations": ', '"expectations": [true], "a": ', "expectations: must have 2 items, as line 3 has"),
        (r'"version": "1"', '"version": {"a": [1]}', "study.version: must be text"),
        (r'"seed": 2', '"seed": true', "seed: must be a whole number, not true"),
        (r'"seed": 2', '"seed": 2, "seed": 3', "a key is empty or a duplicate"),
        (r'"variant": 2', '"variant": 0', "is a result of other factors"),
        (r'"error": null', '"error": "lost"', "must have either a summary or an error"),
        (r'"error": null', f'"error": {"[" * 5000}{"]" * 5000}', "nested too deeply"),
        ("{", "\x00{", "is not a result of a study"),
        ("{", "\udcff{", "is not a result of a study"),
    ],
)
def test_the_mistake_and_its_line_are_told(old, new, wanted, study, lines):
    assert old in lines[3]
    changed = lines[3].replace(old, new, 1)
    whole = content(lines[:3]) + f"{changed}\n".encode("utf-8", "surrogateescape")
    with pytest.raises(NoResults) as caught:
        kept(BytesIO(whole), study, "r")
    assert str(caught.value).startswith("r:4:1: ")
    assert wanted in str(caught.value)


def test_a_last_line_that_is_broken_but_not_cut_is_refused(study, lines):
    for broken in (lines[3].replace(": ", " ", 3), lines[3] + "}", '{"variant": 1}', lines[3][:40] + "\x07" + lines[3]):
        with pytest.raises(NoResults, match=r"^r:4:1: is not a result of a study"):
            kept(BytesIO(content([*lines[:3], broken])), study, "r")
