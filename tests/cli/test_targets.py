"""Files appear whole under their name, or not at all."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path

import pytest

from tui.saving.targets import FileLines, GuardedFile, StreamLines, TargetError, TreeTarget, lines_target, while_read

needs_posix = pytest.mark.skipif(os.name != "posix", reason="devices, modes and links of POSIX")


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_lines_stand_under_their_name_only_when_kept(tmp_path):
    final = tmp_path / "events.jsonl"
    with FileLines(final) as target:
        target.write(["one", "zwei ü"])
        assert not final.exists()
        target.keep()
    assert final.read_bytes() == "one\nzwei ü\n".encode()
    assert names(tmp_path) == ["events.jsonl"]


def test_lines_that_are_not_kept_leave_the_old_file_and_no_other(tmp_path):
    final = tmp_path / "events.jsonl"
    final.write_text("old\n")
    with FileLines(final) as target:
        target.write(["new"])
    assert final.read_text() == "old\n"
    assert names(tmp_path) == ["events.jsonl"]


@needs_posix
def test_a_replaced_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path):
    final = tmp_path / "events.jsonl"
    final.write_text("old\n")
    final.chmod(0o640)
    link = tmp_path / "latest"
    link.symlink_to(final)
    with FileLines(link) as target:
        target.write(["new"])
        target.keep()
    assert link.is_symlink()
    assert final.read_text() == "new\n"
    assert stat.S_IMODE(final.stat().st_mode) == 0o640


@pytest.mark.parametrize("make", [lambda path: lines_target(str(path)), lambda path: TreeTarget(str(path))])
def test_a_missing_directory_is_told_before_the_run(tmp_path, make):
    with pytest.raises(TargetError, match="does not exist") as caught:
        make(tmp_path / "nowhere" / "out")
    assert caught.value.before_run


def test_a_directory_is_no_file_for_lines(tmp_path):
    with pytest.raises(TargetError, match="directory") as caught:
        lines_target(str(tmp_path))
    assert caught.value.before_run


@needs_posix
def test_a_device_is_written_directly_and_never_renamed():
    with lines_target("/dev/null") as target:
        target.write(["gone"])
        target.keep()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_sentence():
    with lines_target("/dev/full") as target, pytest.raises(TargetError, match="/dev/full: No space left") as caught:
        target.write(["too much"])
    assert not caught.value.before_run


@needs_posix
def test_a_reader_that_leaves_ends_the_writing_and_nothing_else():
    reading, writing = os.pipe()
    os.close(reading)
    with StreamLines(Path("pipe"), open(writing, "wb")) as target:
        target.write(["x" * 100_000])
        target.write(["more"])
        target.keep()


@needs_posix
def test_nothing_more_is_made_once_the_reader_of_standard_output_has_left():
    reading, writing = os.pipe()
    os.close(reading)
    stream = io.BufferedWriter(GuardedFile(writing, is_result=True))
    made = []
    stream.writelines(while_read(stream, (made.append(number) or b"x" * 100_000 for number in range(9))))
    os.close(writing)
    assert len(made) == 2


def test_a_dash_is_standard_output(capfdbinary):
    with lines_target("-") as target:
        target.write(["one"])
        target.keep()
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == b"one\n"


FILES = [("pool", "node-1", "shared/market.csv", "ü\n"), ("pool", "node-2", "workitems/job/job-1/a/stdout.txt", "")]


@pytest.mark.parametrize("exists", [False, True])
def test_a_tree_stands_in_its_directory_only_when_kept(tmp_path, exists):
    final = tmp_path / "nodes"
    if exists:
        final.mkdir()
    with TreeTarget(str(final)) as target:
        target.write(FILES)
        assert not (final / "pool").exists()
        target.keep()
    assert (final / "pool/node-1/shared/market.csv").read_bytes() == "ü\n".encode()
    assert (final / "pool/node-2/workitems/job/job-1/a/stdout.txt").read_bytes() == b""
    assert names(tmp_path) == ["nodes"]
    assert names(final) == ["pool"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_tree_that_is_not_kept_leaves_no_trace(tmp_path, exists):
    final = tmp_path / "nodes"
    if exists:
        final.mkdir()
    with TreeTarget(str(final)) as target:
        target.write(FILES)
    assert names(tmp_path) == (["nodes"] if exists else [])
    assert not exists or names(final) == []


def test_a_directory_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "precious.txt").write_text("keep me")
    with pytest.raises(TargetError, match="not empty") as caught:
        TreeTarget(str(tmp_path))
    assert caught.value.before_run
    assert names(tmp_path) == ["precious.txt"]


def test_a_file_outside_the_root_of_its_node_is_written_inside(tmp_path):
    with TreeTarget(str(tmp_path / "nodes")) as target:
        target.write([("pool", "node-1", "../../../escaped.txt", "")])
        target.keep()
    assert (tmp_path / "nodes/pool/node-1/%2E%2E/%2E%2E/%2E%2E/escaped.txt").is_file()
    assert names(tmp_path) == ["nodes"]
