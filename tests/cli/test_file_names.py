"""Files on nodes and blobs under the names of the file system: each is there once, below its directory, as it was."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.builders import a_job, a_pool, a_shell, a_task
from tui.cli import main
from tui.saving import targets
from tui.saving.targets import BlobText, TreeTarget

IN = "https://acc.blob.core.windows.net/in"
EXAMPLES = int(os.environ.get("BATCHDECK_EXAMPLES", "60"))

SHORT = ["", ".", "..", "...", "a", "A", "a.", "a ", "a%", "a%25", "a:b", "a\\b", "?", "~", " ", "-rf", "\n", "a\x00b"]
WORDS = ["con", "CON.txt", "Nul", "COM1", "com¹", "nul.tar.gz", "storage", "ü", "u\u0308", "\u017f", "ß", "ss"]
ODD = ["\ud800", "\udc80", "\x1b]52;c;AAAA\x07", "\x9b31m", "\u202efdp"]
LONG = ["x" * 255, "x" * 256, "ü" * 128, "x" * 180 + "~" + "0" * 16, "x" * 5000]
PARTS = st.one_of(
    st.sampled_from([*SHORT, *WORDS, *ODD, *LONG]),
    st.text(st.characters(exclude_characters="/"), max_size=6),
)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
POOLS = st.sampled_from(["storage", "Storage", "pool", "con"])
WRITTEN = re.compile(r"[^\x00-\x1f\x7f-\x9f\"*:<>?\\|\u200e\u200f\u202a-\u202e\u2066-\u2069/]+")
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def write_all(out, on_nodes, blobs):
    with TreeTarget(str(out)) as target:
        target.write_blobs(BlobText(IN, name, f"blob {at}") for at, name in enumerate(blobs))
        target.write((pool, "node", name, f"file {at}") for at, (pool, name) in enumerate(on_nodes))
        target.keep()
    return target


def files_in(directory):
    return [Path(above) / name for above, _, names in os.walk(directory) for name in names]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.tuples(POOLS, NAMES), unique=True, max_size=12), st.lists(NAMES, unique=True, max_size=8))
@example([("storage", "acc/in/a"), ("Storage", "acc/in/a")], ["a", "A", "a/b", "a%"])
@example([("pool", "a"), ("pool", "a/b"), ("pool", "a/b/c"), ("pool", "A/b/c")], [])
@example(
    [("pool", "/".join(["ü" * 80] * 20)), ("pool", "/".join(["ü" * 80] * 21))], ["x/" * 700 + "a", "x/" * 700 + "b"]
)
def test_every_file_is_written_once_below_the_directory(tmp_path_factory, on_nodes, blobs):
    there = tmp_path_factory.mktemp("tree")
    write_all(there / "out", on_nodes, blobs)
    found = files_in(there)
    assert all(path.is_relative_to(there / "out") for path in found)
    texts = sorted(path.read_text(encoding="utf-8") for path in found)
    wanted = [*(f"file {at}" for at in range(len(on_nodes))), *(f"blob {at}" for at in range(len(blobs)))]
    assert texts == sorted(wanted)
    for path in found:
        for part in path.relative_to(there).parts:
            assert WRITTEN.fullmatch(part), part
            assert len(part.encode()) <= 255
            assert not part.endswith((".", " "))
            assert not RESERVED.fullmatch(part), part


@settings(max_examples=EXAMPLES * 2, deadline=None)
@given(st.sets(NAMES, max_size=30))
def test_different_names_have_different_paths(names):
    paths = [targets._path(("pool", "node"), name) for name in names]
    assert len(set(paths)) == len(names)


class NoCase:
    """A file system that takes ``a`` and ``A`` for the same name."""

    def __init__(self, monkeypatch):
        self.taken = set()
        self.mkdir, self.write = os.mkdir, targets._write
        monkeypatch.setattr(os, "mkdir", lambda path, *more: self.make(path, self.mkdir, path, *more))
        monkeypatch.setattr(targets, "_write", lambda content, path: self.make(path, self.write, content, path))

    def make(self, path, made, *arguments):
        if str(path).lower() in self.taken:
            raise FileExistsError
        self.taken.add(str(path).lower())
        return made(*arguments)


def test_names_that_differ_only_in_case_are_told_apart_where_the_file_system_does_not(tmp_path, monkeypatch):
    NoCase(monkeypatch)
    files = [("pool", name) for name in ("a.txt", "A.txt", "A.TXT", "Dir/x", "dir/x", "dir/y", "DIR")]
    write_all(tmp_path / "out", files, ["b", "B"])
    found = {str(path.relative_to(tmp_path / "out")): path.read_text() for path in files_in(tmp_path)}
    assert sorted(found) == [
        "pool/node/A.TXT%2",
        "pool/node/A.txt%",
        "pool/node/DIR%2",
        "pool/node/Dir/x",
        "pool/node/a.txt",
        "pool/node/dir%/x",
        "pool/node/dir%/y",
        "storage/acc/in/B",
        "storage/acc/in/b%",
    ]
    assert len(set(found.values())) == len(files) + 2


def test_a_pool_called_storage_is_told_apart_from_the_blobs(tmp_path):
    write_all(tmp_path / "out", [("storage", "shared/a")], ["a"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["storage", "storage%"]
    assert (tmp_path / "out/storage/acc/in/a").read_text() == "blob 0"
    assert (tmp_path / "out/storage%/node/shared/a").read_text() == "file 0"
    write_all(tmp_path / "alone", [("storage", "shared/a")], [])
    assert (tmp_path / "alone/storage/node/shared/a").read_text() == "file 0"


def test_a_run_says_which_names_it_has_encoded(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    long = "x" * 300
    task = a_task() | a_shell(f"echo one > {long}; echo two > 'a\x1b[31m'; echo three > plain; echo four > a:b")
    document = {"scenario": "names", "pools": [a_pool()], "jobs": [a_job(tasks=[task])]}
    Path("names.json").write_text(json.dumps(document))
    assert main(["run", "names.json", "--files", "out"]) == 0
    said = capsys.readouterr().err
    written = {path.name: path.read_text() for path in files_in("out")}
    assert (written["a%1B[31m"], written["plain"], written["a%3Ab"]) == ("two\n", "three\n", "four\n")
    assert "one\n" in written.values()
    assert "3 names are written in another way in out" in said
    assert "\\x1b[31m" in said
    assert "\x1b" not in said
    assert main(["run", "names.json", "--files", "quiet", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["plain.txt", "a b", "ü.csv", "a+b=c,(1)[2]{3}'4'&;!@#$^~`", ".hidden"])
def test_usual_names_stay(name, tmp_path):
    target = write_all(tmp_path / "out", [("pool", f"shared/{name}")], [name])
    assert (tmp_path / "out/pool/node/shared" / name).is_file()
    assert (tmp_path / "out/storage/acc/in" / name).is_file()
    assert target.note == ""
