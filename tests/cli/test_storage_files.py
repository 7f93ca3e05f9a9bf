"""Blobs as files: hostile names lead nowhere else, and no blob is lost."""

from __future__ import annotations

import json

import pytest

from tests.builders import a_job, a_pool, a_shell, a_task
from tui.cli import main
from tui.saving.targets import BlobText, TreeTarget, placed

IN = "https://acc.blob.core.windows.net/in"


def paths(*names, container=IN):
    return [path for path, _ in placed(BlobText(container, name, "") for name in names)]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.csv", "a.csv"),
        ("day/eu/a b.csv", "day/eu/a b.csv"),
        ("../../evil", "%2E%2E/%2E%2E/evil"),
        ("/etc/passwd", "%2F/etc/passwd"),
        ("a//b", "a/%2F/b"),
        ("c:\\windows\\x", "c%3A%5Cwindows%5Cx"),
        ("nul\0l\n", "nul%00l%0A"),
        (".", "%2E"),
        ("50%", "50%25"),
    ],
)
def test_a_name_leads_nowhere_else(name, path):
    assert paths(name) == [f"acc/in/{path}"]


def test_a_long_name_ends_in_a_checksum_and_stays_different():
    first, second = paths("x" * 500 + "1", "x" * 500 + "2")
    assert first != second
    assert max(map(len, first.split("/"))) <= 200
    assert len(paths("ü/" * 2000 + "x")[0]) < 300


def test_a_blob_beside_a_directory_of_its_name_has_a_mark():
    assert paths("a", "a/b", "a.txt") == ["acc/in/a%", "acc/in/a.txt", "acc/in/a/b"]


def test_accounts_of_one_name_are_told_apart():
    blobs = [BlobText(f"https://acc.{host}/in", "a", "") for host in ("blob.core.windows.net", "example.org")]
    assert [path for path, _ in placed(blobs)] == ["acc/in/a", "acc.example.org/in/a"]
    assert paths("a", container="https://acc.example.org") == ["acc/$root/a"]


def test_what_is_written_stays_below_the_directory(tmp_path):
    names = ["../../../up", "a", "a/b", "x" * 5000, "ok"]
    with TreeTarget(str(tmp_path / "out")) as target:
        target.write_blobs(BlobText(IN, name, name) for name in names)
        target.keep()
    found = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(found) == len(names)
    assert all(path.is_relative_to(tmp_path / "out" / "storage" / "acc" / "in") for path in found)
    assert sorted(path.read_text() for path in found) == sorted(names)


def test_a_run_writes_its_storage_and_counts_bytes(tmp_path, capsys):
    output = {
        "filePattern": "r.txt",
        "destination": {"container": {"containerUrl": f"{IN}?sig=1", "path": "day/r.txt"}},
    }
    task = a_task(outputFiles=[output], resourceFiles=[{"httpUrl": f"{IN}/a", "filePath": "a"}])
    document = {
        "scenario": "files",
        "simulate": {"storage": {IN: {"blobs": {"a": {"text": "named"}, "../b": 7}}, f"{IN}/none": {"missing": True}}},
        "pools": [a_pool()],
        "jobs": [a_job(tasks=[task | a_shell("cat a a > r.txt")])],
    }
    scenario = tmp_path / "files.json"
    scenario.write_text(json.dumps(document))
    assert main(["run", str(scenario), "--files", str(tmp_path / "out"), "--output", "json"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert (state["summary"]["downloadedBytes"], state["summary"]["uploadedBytes"]) == (5, 10)
    stats = state["jobs"][0]["stats"]
    assert (stats["downloadedBytes"], stats["uploadedBytes"]) == (5, 10)
    root = tmp_path / "out" / "storage" / "acc" / "in"
    texts = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
    assert texts == {"a": "named", "%2E%2E/b": "", "day/r.txt": "namednamed"}
    assert main(["run", str(scenario)]) == 0
    printed = capsys.readouterr().out
    assert "5 bytes downloaded, 10 bytes uploaded" in printed
    assert "Bytes of files" in printed


MISTAKES = [
    ("{size: 3, text: four}", "1:", "size is 3 bytes, but text has 4: leave out size"),
    ("{text: 5}", "text", "must be text"),
    ("{blobs: [a]}", "blobs", "mapping"),
    ("{blobs: {a: -1}}", "blobs.a", "is not a size"),
    ("{blobs: {a: 1.5}}", "blobs.a", "must be a size such as 4 GB"),
    ("{blobs: {a: {txt: x}}}", "blobs.a.txt", "did you mean 'text'?"),
    ("{blobs: {a: {size: 2, text: x}}}", "blobs.a", "size is 2 bytes, but text has 1"),
    ("{blobs: {a: 1}, missing: true}", "storage", "a container that is missing has no blobs"),
    ("{blobs: {a: 1}, text: x}", "storage", "say either"),
    ("{blobs: {a: 1}, size: 2}", "storage", "leave out size"),
    ("{blobs: {'': 5}}", "1:", "a key is missing before this ':'"),
    ("{until: soon}", "until", "is not a time"),
    ("{until: -5}", "until", "is not a time"),
    ("{until: true}", "until", "is not a time"),
    ("{unitl: PT5M}", "unitl", "did you mean 'until'?"),
]


@pytest.mark.parametrize(("entry", "path", "said"), MISTAKES)
def test_a_mistake_about_storage_has_its_place(tmp_path, capsys, entry, path, said):
    scenario = tmp_path / "wrong.yaml"
    scenario.write_text(f"scenario: wrong\nsimulate:\n  storage:\n    https://a/b: {entry}\n")
    assert main(["check", str(scenario)]) == 2
    [mistake] = [each for each in capsys.readouterr().out.splitlines() if "wrong.yaml:" in each]
    assert "wrong.yaml:4:" in mistake
    assert said in mistake
    assert path == "1:" or path in mistake


@pytest.mark.parametrize("entry", ["{size: 4 GB, missing: true}", "{text: a, missing: true}"])
def test_a_blob_may_be_marked_as_missing_beside_its_content(tmp_path, entry):
    scenario = tmp_path / "missing.yaml"
    scenario.write_text(f"scenario: missing\nsimulate: {{storage: {{https://a/b: {entry}}}}}\n")
    assert main(["check", str(scenario)]) == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("account: {storageAccount: 'https://contoso.blob.core.windows.net'}", "3 to 24 lower-case letters and digits"),
        ("account: {storageAcount: contoso}", "did you mean 'storageAccount'?"),
        ("options: {strictStorage: 1}", "options.strictStorage"),
        ("options: {strictstorage: true}", "did you mean 'strictStorage'?"),
        ("expect: [{events: {BlobUploded: 1}}]", "did you mean 'BlobUploaded'?"),
    ],
)
def test_a_mistake_about_the_new_keys_names_the_right_one(tmp_path, capsys, line, said):
    scenario = tmp_path / "wrong.yaml"
    scenario.write_text(f"scenario: wrong\n{line}\n")
    assert main(["check", str(scenario)]) == 2
    assert said in capsys.readouterr().out
