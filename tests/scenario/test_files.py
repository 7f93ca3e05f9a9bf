"""Tests of finding and decoding scenario files."""

from __future__ import annotations

import os

import pytest

from engine.base.errors import ScenarioError
from engine.scenario import text
from engine.scenario.load import load

SCENARIO = "scenario: s\n"


def mistake(path) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(str(path))
    (problem,) = caught.value.problems
    return str(problem)


def test_an_existing_file_wins_over_a_bundled_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job-prep-release-sample").write_text(SCENARIO)
    assert load("job-prep-release-sample").name == "s"


def test_utf_8_with_a_byte_order_mark_is_fine(tmp_path):
    (tmp_path / "s.yaml").write_bytes(b"\xef\xbb\xbfscenario: \xc3\xa4\r\nseed: 1\r\n")
    scenario = load(str(tmp_path / "s.yaml"))
    assert (scenario.name, scenario.seed) == ("ä", 1)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_other_encodings_are_named(tmp_path, encoding):
    path = tmp_path / "s.yaml"
    path.write_bytes(("\ufeff" if encoding.endswith("be") else "").encode(encoding) + SCENARIO.encode(encoding))
    assert f"{path}:1:1: is written in UTF-{encoding[4:6]}: save it as UTF-8" == mistake(path)


def test_what_is_not_utf_8_is_shown_where_it_begins(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_bytes(b"scenario: s\ndescription: \xc3\xa4 caf\xe9 bar\n")
    assert mistake(path).startswith(f"{path}:2:19: is not UTF-8: the byte 0xe9")


def test_a_binary_file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_bytes(b"\x7fELF\x01\n\x00\x00")
    assert mistake(path).startswith(f"{path}:2:1: is a binary file")


def test_a_missing_file_suggests_what_is_near(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "risk.yaml").write_text(SCENARIO)
    assert "did you mean 'risk.yaml'?" in mistake("rsk.yaml")
    assert "did you mean 'job-prep-release-sample'?" in mistake("job-prep-release")
    assert "`batchdeck scenarios` lists the bundled ones" in mistake("zzz")


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000])
def test_names_that_no_file_can_have(name):
    assert mistake(name)


def test_a_directory(tmp_path):
    (tmp_path / "risk.yaml").write_text(SCENARIO)
    assert mistake(tmp_path) == (
        f"{tmp_path}: is a directory, not a scenario: name one of the files in it, such as {tmp_path / 'risk.yaml'}"
    )
    assert "no such file" in mistake(tmp_path / "risk.yaml" / "more")


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO)
    path.chmod(0)
    assert mistake(path) == f"{path}: may not be read: permission denied"


def test_permission_denied_is_a_sentence(monkeypatch):
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(ScenarioError, match=r"^s\.yaml: may not be read: permission denied$"):
        text.read_source("s.yaml")


def test_a_huge_file_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BYTE_LIMIT", 1024 * 1024)
    path = tmp_path / "s.yaml"
    path.write_bytes(b"#" * (2 * 1024 * 1024))
    assert "larger than 1 MB" in mistake(path)
