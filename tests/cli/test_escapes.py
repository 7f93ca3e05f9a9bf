"""No control character in text from outside reaches a terminal through the command line."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

import tui
from engine import Simulation
from engine.base.values import visible, visible_json
from engine.histories.kinds import recognized
from engine.scenario.load import load
from tests.escapes import HOSTILE, IN_JSON, SHOWN, controls_in, hostile_run, valid_documents
from tests.histories.dialects import state_of, written
from tui.cli.commands import cli, main
from tui.saving.console import SafeConsole

TEXTS = st.text(st.sampled_from("ab \n\t\x00\x1b\x7f\x85\x9b\u061c\u200e\u2028\u202e\u2069\ud800é中\U0001f600"))


@pytest.fixture
def says(tmp_path, monkeypatch, capsysbinary):
    """Return a function that runs a command, and returns its status and what it prints, which has no controls."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, clean=True):
        status = main(list(arguments))
        printed = capsysbinary.readouterr()
        out, err = printed.out.decode(), printed.err.decode()
        if clean:
            assert not controls_in(out + err), arguments
        return status, out, err

    return run


# -- the one function -------------------------------------------------------------------------------------------------


@given(TEXTS)
def test_every_control_but_line_feed_and_tab_is_shown_as_an_escape(text):
    found = visible(text)
    assert not controls_in(found)
    assert visible(found) == found
    assert (found is text) or controls_in(text)
    assert re.sub(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4}))", lambda one: chr(int(one[1] or one[2], 16)), found) == text


@given(TEXTS)
def test_json_with_escapes_means_the_same(text):
    found = visible_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert not controls_in(found)
    assert json.loads(found) == json.loads(json.dumps({text: [text]}))


@given(TEXTS, st.integers(1, 30), st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_a_console_shows_escapes_and_keeps_styles_in_their_place(text, width, place):
    styled = Text.assemble(("before", "bold"), (text, "red"), "after")
    console = SafeConsole(width=width, force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as capture:
        console.print(styled, str(text), Text(text[min(place) : max(place)]))
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", capture.get())
    assert not controls_in(drawn)


# -- what nobody has written yet --------------------------------------------------------------------------------------


def test_whatever_is_printed_passes_the_one_door():
    """Click is used for nothing but ``echo``, and a console of Rich is made in one place."""
    for path in Path(tui.__file__).parent.rglob("*.py"):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(Path(tui.__file__).parent).as_posix()
        found = re.findall(r"click\.(?:echo|secho|prompt|confirm|style|pause|get_text_stream)\b", text)
        assert not found or name == "cli/arguments.py", f"{name}: use echo of tui.cli.arguments"
        assert "Console(" not in text or name == "saving/console.py", f"{name}: use console of tui.saving"
        found = re.findall(r"(?<![\w.])print\(|sys\.std(?:out|err)\.write", text)
        assert not found or "visible(" in text, f"{name}: show text with visible"


TEXT_OPTIONS = sorted(
    (name, option.opts[0])
    for name, command in cli.commands.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
)


def test_no_command_repeats_a_hostile_argument(says):
    """An option of each command, an argument, the name of an option, of a command, of a file that is not there."""
    for name, option in TEXT_OPTIONS:
        status, out, err = says(name, option, HOSTILE, HOSTILE)
        assert status == 2, (name, option, out, err)
        Path(HOSTILE).unlink(missing_ok=True)  # `test --junit` reports a file that is not there
    for name in cli.commands:
        assert says(name, f"--{HOSTILE}")[0] == 2
        if name not in ("scenarios", "schema", "sample"):
            assert says(name, *[HOSTILE] * (2 if name == "compare" else 1))[0] == 2
    assert SHOWN in says(HOSTILE)[2]
    assert r"\x1b]52;c;" in says(f"--{HOSTILE}")[2]


# -- documents --------------------------------------------------------------------------------------------------------


def test_check_of_every_text_of_every_property(says, tmp_path):
    """Every body and command; after each round what was wrong has been mended, so that all its mistakes come up."""
    seen = 0
    for document in (*valid_documents()[:3], valid_documents()[-1]):
        (tmp_path / "s.json").write_text(document)
        status, out, _ = says("check", "s.json", "--output", "json")
        listed = json.loads(out)
        seen += sum(SHOWN in visible(problem["path"] + problem["message"]) for problem in listed)
        status, out, _ = says("check", "s.json")
        assert len(out.splitlines()) <= 60
        assert status == (2 if any(problem["severity"] == "error" for problem in listed) else 0)
    assert seen > 500


@pytest.mark.parametrize("made", [lambda: valid_documents()[-1], hostile_run], ids=["every property", "a run"])
def test_a_hostile_scenario_through_every_command(says, tmp_path, made):
    text = made()
    (tmp_path / "s.json").write_text(text)
    says("check", "s.json")
    _, out, _ = says("run", "s.json")
    assert SHOWN in out
    _, state, _ = says("run", "s.json", "--output", "json")
    assert IN_JSON in state
    assert json.loads(state)["scenario"] == HOSTILE
    _, events, _ = says("run", "s.json", "--events", "-")
    assert IN_JSON in events
    assert any(json.dumps(HOSTILE)[1:-1] in json.dumps(json.loads(line)) for line in events.splitlines())
    for option in ("--trace", "--tasks"):
        says("run", "s.json", option, "-")
    (tmp_path / "state.json").write_text(state)
    for kind in ("table", "json"):
        says("compare", "s.json", "state.json", "--output", kind)
    vary = ("--vary", f"pools.p.displayName={HOSTILE},b", "--seeds", "1") if "pools" in text else ("--seeds", "1")
    says("study", "s.json", *vary, "--list")
    for kind in ("table", "json", "csv"):
        says("study", "s.json", "--seeds", "1", "--workers", "1", "--results", "r.jsonl", "--output", kind)
    assert not controls_in((tmp_path / "r.jsonl").read_text())


BROKEN = [
    f"scenario: s\n{json.dumps(HOSTILE)}: [1, 2\n",
    f"scenario: '{HOSTILE}\n",
    f"scenario: s\nseed: *{HOSTILE[0:3]}\u202e\n",
    "scenario: s\nseed: !\u202e 1\n",
    f"scenario: s\n# {HOSTILE}\njobs: {{\u202e: ]\n",
    f"%TAG {HOSTILE}\n---\nscenario: s",
    '{"scenario": "s", "\\ud800": 1}',
    '{"scenario": "\\ud800", "seed": "\\udfff"}',
    '"\ud800\u2028": 1',
]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_files_that_are_no_scenario(says, tmp_path, text):
    (tmp_path / "s.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    for command in ("check", "run", "study", "serve"):
        assert says(command, "s.yaml")[0] == 2
    says("import", "s.yaml")
    says("compare", "s.yaml", "s.yaml")


def test_file_names(says, tmp_path):
    name = HOSTILE.replace("/", "")
    (tmp_path / f"{name}.yaml").write_text("scenario: s\nx: 1\n")
    assert SHOWN in says("check", f"{name}.yaml")[1]
    (tmp_path / f"{name}.yaml").write_text("scenario: s\njobs: [{id: j, poolInfo: {poolId: p}}]\npools: []\n")
    says("run", f"{name}.yaml")
    says("compare", f"{name}.yaml", f"{name}.yaml")
    for option in ("--events", "--trace", "--tasks", "--files"):
        assert SHOWN in says("run", "job-prep-release-sample", option, f"{name}/{name}", "--quiet")[2]


def _with(value, number):
    """Return a value of JSON with a hostile text in place of its text of this number, and how many texts it has."""
    if isinstance(value, str):
        return (HOSTILE if number == 0 else value), 1
    if not isinstance(value, dict | list):
        return value, 0
    seen, found = 0, []
    for inner in value.values() if isinstance(value, dict) else value:
        other, texts = _with(inner, number - seen)
        found.append(other)
        seen += texts
    return (dict(zip(value, found, strict=True)) if isinstance(value, dict) else found), seen


def test_histories_results_and_samples(says, tmp_path):
    """Each text of a history and of results of a run, and of samples, in turn."""
    small = load("s.yaml", text=SMALL)
    folder = tmp_path / "history"
    folder.mkdir()
    written(state_of(small), folder, "older az")
    for path in sorted(folder.iterdir()):
        body = json.loads(path.read_text())
        for number in range(min(_with(body, -1)[1], 40)):
            path.write_text(json.dumps(_with(body, number)[0]))
            says("import", "history")
        path.write_text(json.dumps(body))
    for number in range(6):
        samples = {"now": "2026-01-05T09:00:00Z", "variables": {"$x": "1"}, "samples": {"$PendingTasks": "a"}}
        (tmp_path / "samples.json").write_text(json.dumps(_with(samples, number)[0] | {HOSTILE: HOSTILE}))
        (tmp_path / "formula.txt").write_text(f"$TargetDedicatedNodes = {HOSTILE};")
        says("autoscale", "formula.txt", "--samples", "samples.json")
        assert SHOWN in says("autoscale", "formula.txt")[2]
    for text in (f"; {HOSTILE}\n1 2 {HOSTILE}\n", f"; MaxProcs: {HOSTILE}\n; Computer: {HOSTILE}\n{'1 ' * 18}\n"):
        (tmp_path / "log.swf").write_text(text)
        says("import", "--swf", "log.swf")
        assert recognized("log.swf") is None or says("import", "log.swf")
    task = {"name": HOSTILE, "id": HOSTILE, "runtimeInSeconds": 3, "parents": [], "command": {"program": HOSTILE}}
    flow = {"name": HOSTILE, "schemaVersion": "1.4", "workflow": {"tasks": [task]}}
    (tmp_path / "flow.json").write_text(json.dumps(flow))
    says("import", "--wfformat", "flow.json")


SMALL = """
scenario: s
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}]
jobs:
- {id: j, poolInfo: {poolId: p}, onAllTasksComplete: terminatejob, tasks: [{id: t, commandLine: x}],
   jobPreparationTask: {commandLine: p}}
"""


def test_a_results_file_of_another_version(says, tmp_path):
    (tmp_path / "s.yaml").write_text(SMALL)
    assert says("study", "s.yaml", "--seeds", "1", "--workers", "1", "--results", "r.jsonl")[0] == 0
    line = (tmp_path / "r.jsonl").read_text()
    for number in range(_with(json.loads(line), -1)[1]):
        (tmp_path / "r.jsonl").write_text(json.dumps(_with(json.loads(line), number)[0]) + "\n")
        says("study", "s.yaml", "--seeds", "1", "--workers", "1", "--results", "r.jsonl", "--quiet")


def test_a_defect_is_reported_with_escapes(monkeypatch, capsys):
    def fails(*_):
        raise RuntimeError(HOSTILE)

    monkeypatch.setattr("engine.views.results.summary", fails)
    monkeypatch.setattr(sys, "argv", ["batchdeck", HOSTILE])
    monkeypatch.setattr(sys, "excepthook", None)
    with pytest.raises(RuntimeError) as raised:
        main(["run", "job-prep-release-sample"])
    sys.excepthook(raised.type, raised.value, raised.tb)
    said = capsys.readouterr().err
    assert not controls_in(said)
    assert said.count(SHOWN) == 2


def test_rules_and_names_of_bundled_scenarios(says):
    assert SHOWN.upper() in says("rules", HOSTILE)[2].upper()
    assert SHOWN in says("run", HOSTILE)[2]


# -- many mistakes ----------------------------------------------------------------------------------------------------


def test_fifty_mistakes_are_printed_and_the_others_counted_by_kind(says, tmp_path):
    keys = "".join(f"  wrong{number}: 1\n" for number in range(700))
    tasks = "".join(f"  - {{id: t{number}}}\n" for number in range(290))
    (tmp_path / "s.yaml").write_text(
        f"scenario: s\nsimulate:\n{keys}jobs:\n- id: j\n  poolInfo: {{}}\n  tasks:\n{tasks}"
    )
    status, out, err = says("check", "s.yaml")
    assert (status, err) == (2, "")
    lines = out.splitlines()
    problems = json.loads(says("check", "s.yaml", "--output", "json")[1])
    assert {key for problem in problems for key in problem} == {
        "file", "line", "column", "severity", "code", "path", "message",
    }  # fmt: skip
    assert lines[50] == f"{len(problems) - 50:,} more mistakes:"
    assert len(problems) > 900
    assert sum(int(line.split()[0].replace(",", "")) for line in lines[51:]) == len(problems) - 50
    assert lines[51].strip() == "650  … does not exist here"
    assert says("run", "s.yaml")[2].splitlines()[50:] == lines[50:]


def test_warnings_are_counted_apart_from_mistakes(says, tmp_path):
    """A hundred warnings before a mistake do not hide it."""
    jobs = "".join(f"- {{id: j{number}, poolInfo: {{poolId: nowhere}}}}\n" for number in range(3))
    assert Simulation(load("s.yaml", text=SMALL))
    (tmp_path / "s.yaml").write_text(f"{SMALL}{jobs}x: 1\n")
    assert any(" 'x' does not exist" in line for line in says("run", "s.yaml")[2].splitlines())
