"""Tests of the file with the results of a study: what is taken up again, and what is refused."""

from __future__ import annotations

import json
from io import BytesIO

import pytest

from engine.studies.runs import BEGINNING, Player, Run, read
from tui.workers import runs
from tui.workers.runs import NoResults

OPTION = "pools.render.targetDedicatedNodes=1,2"


@pytest.fixture
def study(night):
    return night(OPTION)


@pytest.fixture
def lines(study):
    return [study.failed(run, "é\x1b\\") for run in study.runs()]


def kept(content, study, file="r"):
    return runs.kept(BytesIO(content), study, file)


def content(lines):
    return "".join(f"{line}\n" for line in lines).encode()


def test_lines_are_found_by_variant_and_seed_in_any_order(study, lines):
    found = kept(content(lines[::-1]), study, "r.jsonl")
    assert found.results == dict(zip(study.runs(), map(read, lines), strict=True))
    assert (found.length, found.ends_open) == (len(content(lines)), False)


def test_what_a_player_writes_is_read_again(night):
    study = night(OPTION, seeds=(1,))
    lines = Player(study).play(study.runs())
    assert all(line.startswith(BEGINNING) and "\n" not in line for line in lines)
    assert list(kept(content(lines), study).results.values()) == [*map(read, lines)]


def test_a_line_has_the_keys_of_the_contract_and_its_study(study, lines):
    first = json.loads(lines[0])
    assert list(first) == ["variant", "values", "seed", "expectations", "summary", "jobs", "error", "study"]
    assert first["study"] == study.identity._asdict()


def test_a_half_written_last_line_is_dropped_wherever_it_was_cut(study, lines):
    whole = content(lines)
    last = len(whole) - len(lines[-1].encode()) - 1
    for end in range(last, len(whole) - 1):
        found = kept(whole[:end], study, "r.jsonl")
        assert len(found.results) == len(lines) - 1
        assert (found.length, found.ends_open) == (last, False)


def test_a_last_line_that_lacks_only_its_end_counts(study, lines):
    whole = content(lines)[:-1]
    found = kept(whole, study, "r.jsonl")
    assert len(found.results) == len(lines)
    assert (found.length, found.ends_open) == (len(whole), True)


def test_a_cut_line_with_a_line_end_is_dropped_at_the_end_only(study, lines):
    cut = lines[1][:50]
    assert kept(content([lines[0], cut]), study).length == len(content(lines[:1]))
    with pytest.raises(NoResults, match=r"r:2:1: is not a result"):
        kept(content([lines[0], cut, lines[2]]), study)


def test_the_first_of_two_lines_of_one_run_counts(study, lines):
    again = study.failed(Run(1, 1), "later")
    assert kept(content([lines[0], again]), study).results == {Run(1, 1): read(lines[0])}


def test_an_empty_file_holds_nothing_yet(study):
    assert kept(b"", study).results == {}
    assert kept(b"\n", study).results == {}


@pytest.mark.parametrize(
    "text", ["hello", "scenario: s\n", "{}\n", "[1]\n", '{"variant": 1}\n{"variant": 2}\n', "\x00\x01", "\udcff"]
)
def test_what_is_no_result_is_refused(text, study):
    with pytest.raises(NoResults, match=r"^r:1:1: is not a result of a study; name another file, or delete this one$"):
        kept(text.encode("utf-8", "surrogateescape"), study)


def test_results_of_another_study_are_refused_with_the_reason(lines, night):
    for other, reason in [
        (night(OPTION, more="# a note\n"), "another scenario text"),
        (night("pools.render.targetDedicatedNodes=2,1"), "other factors"),
        (night("pools.render.targetDedicatedNodes=1,2,3"), "other factors"),
        (night(OPTION, version="2"), "version 1 of batchdeck, this is 2"),
    ]:
        with pytest.raises(NoResults, match=f"^r:1:1: is a result of .*{reason}; name another file"):
            kept(content(lines), other)
    assert kept(content(lines), night(OPTION, seeds=(2,))).results


def test_a_result_of_no_study_is_refused(study, lines):
    alone = {key: value for key, value in json.loads(lines[0]).items() if key != "study"}
    with pytest.raises(NoResults, match="does not say of which study"):
        kept(content([json.dumps(alone)]), study)
