"""The files that the picker of scenarios offers."""

from __future__ import annotations

from unittest import mock

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.viewmodels import sheets
from tui.viewmodels.sheets import offered, preview

MINE = "scenario: mine\ndescription: What it shows.\n"
OTHERS = {
    "compose.yaml": "services:\n  web: {image: x}\n",
    "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: scenario}\n",
    "workflow.yml": "on: push\njobs:\n  build: {steps: []}\n",
    "package.json": '{"name": "x", "scripts": {}}',
    "result.json": '{"scenario": "mine", "seed": 7, "endTime": "2026-01-05T08:03:07Z"}',
    "template.json": '{"$schema": "x", "resources": [{"pools": 1}]}',
    "empty.yaml": "",
    "list.yaml": "- a\n- b\n",
}
OURS = {
    "a.yaml": MINE,
    "b.yml": f"# A comment.\n---\n{MINE}",
    "c.json": '{"scenario": "mine", "pools": []}',
    "d.yaml": '"scenario": mine\n',
    "e.json": '{\n  "description": "x",\n  "scenario": "mine"\n}',
    "broken.yaml": "scenario: mine\npools: [{id: }\n",
    "wrong.yaml": "scenario: mine\nuntl: PT1H\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (OTHERS | OURS).items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "nowhere.yaml").symlink_to(tmp_path / "gone")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("typed", ["", "./"])
def test_scenarios_are_offered_and_no_other_files(typed):
    names = [entry.name for entry in offered(typed) if entry.name.startswith("./") and not entry.is_directory]
    assert names == [f"./{name}" for name in sorted(OURS)]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["./broken.yaml", "./wrong.yaml"])
def test_a_broken_file_is_told_before_it_is_opened(dashboard_at, name):
    entry = next(entry for entry in offered(name) if entry.name == name)
    lines = ["".join(span.text for span in each) for each in preview(entry, 60, checks=True)]
    assert lines[0].startswith("It is broken: 1 mistake")
    assert contains(lines, f"{name[2:]}:")
    seen = []
    drive(dashboard_at(0), "ctrl+o", *name[2:7], lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "It is broken: 1 mistake")


def test_of_a_folder_with_many_files_the_beginning_of_each_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(200):
        (tmp_path / f"f{number}.yaml").write_text(MINE if number % 10 == 0 else "kind: Pod\n" * 20_000)
    read = mock.Mock(wraps=sheets.content_of)
    monkeypatch.setattr(sheets, "content_of", read)
    assert len([entry for entry in offered("") if entry.name.startswith("./")]) == 20
    assert len({path for path, _ in (call.args for call in read.call_args_list)}) == 200
    assert all(most < 20_000 for _, most in (call.args for call in read.call_args_list))
    offered("f1")
    assert read.call_count == 200
