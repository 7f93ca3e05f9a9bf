"""``batchdeck sizes``: the table of VM sizes."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tui.cli.commands import main

COLUMNS = [
    *("name", "vcpus", "memoryGib", "tempDiskGb", "gpus", "linuxUsdPerHour", "windowsUsdPerHour"),
    *("linuxSpotUsdPerHour", "windowsSpotUsdPerHour", "retires", "replacement", "listed"),
]


def listed(capsys, *arguments):
    assert main(["sizes", *arguments, "--output", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_size_as_json(capsys):
    (one,) = listed(capsys, "STANDARD_D4S_V5")
    assert list(one) == COLUMNS
    assert [one[name] for name in COLUMNS[:7]] == ["standard_d4s_v5", 4, 16, 0, 0, 0.192, 0.376]
    assert (one["retires"], one["replacement"], one["listed"]) == (None, None, True)
    assert listed(capsys, "d4s_v5") == [one]


@pytest.mark.parametrize(
    ("pattern", "some", "others"),
    [
        ("*d4*v5*", {"standard_d4s_v5", "standard_d48ads_v5"}, {"standard_d4s_v3"}),
        ("D4?_v5", {"standard_d4s_v5", "standard_d4d_v5"}, {"standard_d4_v5", "standard_d48s_v5"}),
        ("hb", {"standard_hb60rs", "standard_hb176rs_v4"}, {"standard_hc44rs"}),
        ("_t4_", {"standard_nc4as_t4_v3"}, {"standard_nc6s_v3"}),
    ],
)
def test_patterns_and_parts_of_names(pattern, some, others, capsys):
    names = {one["name"] for one in listed(capsys, pattern)}
    assert some <= names
    assert not others & names


def test_without_a_pattern_the_whole_table(capsys):
    found = listed(capsys)
    assert len(found) > 760
    assert all(one["listed"] for one in found)


def test_csv_has_the_columns_and_empty_cells_for_what_is_not_offered(capsys):
    assert main(["sizes", "standard_nv4as_v4", "standard_np10s", "--output", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0]) == COLUMNS
    np, nv = rows
    assert (np["name"], np["windowsUsdPerHour"], np["retires"], np["replacement"]) == (
        *("standard_np10s", "", "2027-05-31", ""),
    )
    assert (nv["linuxUsdPerHour"], nv["windowsUsdPerHour"], nv["listed"]) == ("", "0.417", "true")


def test_a_size_that_the_table_lacks_is_derived_and_says_so(capsys):
    (one,) = listed(capsys, "Standard_D4s_v9")
    assert (one["name"], one["vcpus"], one["listed"]) == ("standard_d4s_v9", 4, False)
    assert main(["sizes", "standard_d4s_v9"]) == 0
    assert "derived from the name: standard_d4s_v9." in capsys.readouterr().out


def test_constrained_cores_of_a_listed_size(capsys):
    (one,) = listed(capsys, "standard_ds14-4_v2")
    assert (one["vcpus"], one["memoryGib"]) == (4, 112)


@pytest.mark.parametrize(("pattern", "near"), [("d2sv3", "standard_d2s_v3"), ("zz*", ""), ("standard_q4_v3", "")])
def test_nothing_that_matches_is_a_wrong_call_with_the_nearest_names(pattern, near, capsys):
    assert main(["sizes", "d2s_v3", pattern]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"no size is called {pattern}; the nearest is standard_" in " ".join(captured.err.split())
    assert near in captured.err


def test_the_table_has_a_heading_and_says_where_prices_come_from(capsys):
    assert main(["sizes", "standard_d2s_v3"]) == 0
    out = capsys.readouterr().out
    assert "standard_d2s_v3" in out
    assert "East US" in out
