"""What the README tells people to do works."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from engine import Simulation, load_scenario
from engine.views.results.document import document
from tests.histories.swf_texts import SwfJob, swf_text
from tui.cli.commands import main

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def example(tmp_path, monkeypatch):
    text = re.search(r"<!-- example: first\.yaml -->\n```yaml\n(.*?)```", README.read_text(), re.DOTALL).group(1)
    (tmp_path / "first.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("example")
def test_the_example_has_no_mistake(capsys):
    assert main(["check", "first.yaml"]) == 0
    assert capsys.readouterr().out == "first.yaml: ok, 1 pool, 1 job, 60 tasks, 1 timeline entry, 4 expectations\n"


@pytest.mark.usefixtures("example")
def test_the_example_does_what_it_says(capsys):
    assert main(["run", "first.yaml"]) == 0, capsys.readouterr().out


@pytest.fixture
def histories(example, tmp_path):  # noqa: ARG001 - it writes first.yaml
    """Files of the names that the README imports."""
    simulation = Simulation(load_scenario("first.yaml"))
    simulation.run_until(simulation.end_ms)
    state = document(simulation)
    (pool,), (job,) = state["pools"], state["jobs"]
    objects = {
        "pool": pool,
        "job": {key: value for key, value in job.items() if key != "tasks"},
        "tasks": job["tasks"],
        "nodes": pool["nodes"],
        "prep": job["jobPreparationAndReleaseTaskStatus"],
    }
    for name, body in objects.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(body))
    log = swf_text([SwfJob(number, 60 * number, 300, allocated=2) for number in range(1, 9)])
    (tmp_path / "NASA-iPSC-1993-3.1-cln.swf.gz").write_bytes(gzip.compress(log.encode()))
    task = {"name": "mProject", "runtimeInSeconds": 5, "parents": []}
    workflow = {"name": "montage", "schemaVersion": "1.4", "workflow": {"tasks": [task]}}
    (tmp_path / "montage.json").write_text(json.dumps(workflow))


@pytest.mark.usefixtures("histories")
def test_the_commands_of_the_tour_work(capsys):
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    lines = re.findall(r"^batchdeck (.+)$", "\n".join(blocks), re.MULTILINE)
    assert len(lines) > 5
    for line in lines:
        call, _, _ = line.partition(" | ")
        call, _, file = call.partition(" > ")
        words = call.split()
        if words[0] == "open":  # needs a terminal; that there is such a scenario can be seen without one
            words[0] = "check"
        assert main([*words, "--yes"] if call == "sample" else words) == 0, line
        printed = capsys.readouterr().out
        if file:
            Path(file).write_text(printed)


def test_two_commands_stand_alone_on_a_line():
    assert len(re.findall(r"^python3 -m venv .+$", README.read_text(), re.MULTILINE)) == 2


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^):]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
