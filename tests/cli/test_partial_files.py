"""What is written has a name of its own until it is complete: nobody guesses it, and what is left behind goes."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.base import partial_files
from tui.cli import main
from tui.saving.targets import FileLines, NewLines, TargetError, TreeTarget

ROOT = Path(__file__).parents[2]
MAKERS = {"file": FileLines, "new file": NewLines, "directory": lambda path: TreeTarget(str(path))}
FILES = [("pool", "node-1", "shared/market.csv", "ü\n")]
NAME = "job-prep-release-sample"

posix_only = pytest.mark.skipif(os.name != "posix", reason="locks, modes and links of POSIX")
any_kind = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def write(target):
    if isinstance(target, TreeTarget):
        target.write(FILES)
    else:
        target.write(["whole"])


def write_and_keep(target):
    write(target)
    target.keep()


def killed(make, path):
    """Begin to write in a process that ends at once."""
    child = os.fork()
    if not child:
        write(make(path))
        os._exit(0)
    os.waitpid(child, 0)


@posix_only
@any_kind
def test_what_a_killed_process_has_left_is_removed_by_the_next(make, tmp_path):
    killed(make, tmp_path / "out")
    killed(make, tmp_path / "other")
    assert len(names(tmp_path)) == 1  # the second has removed what the first had left
    with make(tmp_path / "out") as target:
        write(target)
        target.keep()
    assert names(tmp_path) == ["out"]


@posix_only
def test_a_directory_in_which_a_process_was_killed_is_empty_again(tmp_path):
    (tmp_path / "out").mkdir()
    killed(MAKERS["directory"], tmp_path / "out")
    assert len(names(tmp_path / "out")) == 1
    with TreeTarget(str(tmp_path / "out")) as target:
        target.write(FILES)
        target.keep()
    assert names(tmp_path / "out") == ["pool"]


@posix_only
@any_kind
def test_what_another_one_is_writing_stays(make, tmp_path):
    with make(tmp_path / "out") as first:
        write(first)
        with make(tmp_path / "other") as second:
            write(second)
            second.keep()
        first.keep()
    assert names(tmp_path) == ["other", "out"]


@posix_only
@any_kind
@pytest.mark.parametrize("change", ["another system", "no locks"])
def test_what_may_be_alive_elsewhere_stays(make, change, tmp_path, monkeypatch):
    killed(make, tmp_path / "out")
    [left] = names(tmp_path)
    if change == "another system":
        monkeypatch.setattr(partial_files, "_system", lambda: "0123abcd")
    else:
        monkeypatch.setattr(partial_files, "is_locked", lambda _: None)
    with make(tmp_path / "out") as target:
        write(target)
        target.keep()
    assert names(tmp_path) == [left, "out"]


@posix_only
def test_other_files_are_never_taken_for_partial_ones(tmp_path):
    system = partial_files._system()
    kept = [".out.1.partial", f".out.{system}.partial", f"out.{system}{'0' * 20}.partial", ".out.partial"]
    for name in kept:
        (tmp_path / name).write_text("precious")
    (tmp_path / f".link.{system}{'1' * 20}.partial").symlink_to(tmp_path / ".out.partial")
    os.mkfifo(tmp_path / f".pipe.{system}{'2' * 20}.partial")
    before = names(tmp_path)
    with FileLines(tmp_path / "out") as target:
        target.keep()
    assert names(tmp_path) == sorted([*before, "out"])


@posix_only
@any_kind
def test_a_planted_link_or_file_is_neither_followed_nor_in_the_way(make, tmp_path, monkeypatch):
    """Even if somebody knew the name."""
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    taken = iter(["0" * 20, "1" * 20, "2" * 20])
    monkeypatch.setattr(partial_files.os, "urandom", lambda _: bytes.fromhex(next(taken)))
    (tmp_path / f".out.{partial_files._system()}{'0' * 20}.partial").symlink_to(precious)
    (tmp_path / f".out.{partial_files._system()}{'1' * 20}.partial").symlink_to(tmp_path / "nowhere")
    with make(tmp_path / "out") as target:
        write(target)
        target.keep()
    assert precious.read_text() == "keep me"
    assert len(names(tmp_path)) == 4
    assert not (tmp_path / "nowhere").exists()


def test_names_cannot_be_guessed_and_fit(tmp_path):
    """Also those of files whose names are as long as the file system takes."""
    longest = "ü" * 127
    found = set()
    for name in (longest, longest, "a\nb"):
        with FileLines(tmp_path / name) as target:
            [partial] = names(tmp_path)
            found.add(partial)
            target.discard()
    assert len(found) == 3
    with FileLines(tmp_path / longest) as target:
        target.keep()
    assert names(tmp_path) == [longest]
    with pytest.raises(TargetError, match="File name too long") as caught:
        FileLines(tmp_path / ("x" * 300))
    assert caught.value.before_run


@posix_only
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_mode_is_that_of_any_new_file(mask, tmp_path):
    before = os.umask(mask)
    try:
        for make in MAKERS.values():
            with make(tmp_path / f"{make}") as target:
                write(target)
                target.keep()
            mode = 0o777 if isinstance(target, TreeTarget) else 0o666
            assert stat.S_IMODE((tmp_path / f"{make}").stat().st_mode) == mode & ~mask
    finally:
        os.umask(before)


def test_a_new_file_that_has_appeared_meanwhile_stays(tmp_path):
    with NewLines(tmp_path / "out") as target:
        target.write(["mine"])
        (tmp_path / "out").write_text("theirs")
        with pytest.raises(TargetError, match="exists already"):
            target.keep()
    assert (tmp_path / "out").read_text() == "theirs"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("fails", ["link", "nothing"])
def test_a_new_file_needs_no_links_of_the_file_system(fails, tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    if fails == "link":
        monkeypatch.setattr(os, "link", refused)
    with NewLines(tmp_path / "out") as target:
        target.write(["mine"])
        target.keep()
    assert names(tmp_path) == ["out"]


@posix_only
@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_only_a_file_is_replaced(kind, tmp_path):
    path = Path("/dev/null") if kind == "device" else tmp_path / "there"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    with pytest.raises(TargetError, match="it is not a file") as caught:
        FileLines(path)
    assert caught.value.before_run


@posix_only
@any_kind
def test_a_directory_that_is_removed_meanwhile_is_a_sentence(make, tmp_path):
    (tmp_path / "sub").mkdir()
    with make(tmp_path / "sub" / "out") as target:
        for path in (tmp_path / "sub").iterdir():
            path.rmdir() if path.is_dir() else path.unlink()
        (tmp_path / "sub").rmdir()
        with pytest.raises(TargetError, match="does not exist"):
            write_and_keep(target)
    assert names(tmp_path) == []


@posix_only
def test_a_killed_run_leaves_nothing_that_the_next_one_keeps(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    call = [sys.executable, "-m", "tui", "run", NAME, "--events", "/dev/stdout", "--files", "nodes", "--tasks", "t.csv"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)}) as process:
        process.stdout.read(1)
        process.kill()
    deadline_s = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert main(["run", NAME, "--files", "nodes", "--quiet"]) == 0
    assert names(tmp_path) == ["nodes"]
    assert capsys.readouterr().err == ""
