"""What the README and the pages tell people to do works: commands, scenarios, programs, links."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from engine import Simulation, load_scenario
from engine.views.results import document
from tests.histories.swf_texts import SwfJob, swf_text
from tui.cli.commands import cli, main

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in (
        README,
        *(one for folder in ("engine", "scenarios", "tests", "tui") for one in (ROOT / folder).rglob("README.md")),
    )
}
BLOCK = re.compile(r"(?:<!-- example: (\S+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# What a part of a scenario is a part of.
AROUND = """
scenario: around
pools: [{id: render, vmSize: standard_d2s_v3, targetDedicatedNodes: 3, targetLowPriorityNodes: 1}]
jobs: [{id: shot, poolInfo: {poolId: render}}]
timeline: [{at: PT1M, evictNode: {poolId: render, node: 3}}]
"""


def blocks(name, language):
    """The blocks of a page in a language, with the file in which an example is to be saved, empty for others."""
    text = PAGES[name].read_text(encoding="utf-8")
    return [(file, block) for file, found, block in BLOCK.findall(text) if found == language]


def having(language):
    return [name for name in PAGES if blocks(name, language)]


def spans(name):
    """The code within the sentences and tables of a page."""
    return re.findall(r"`([^`\n]+)`", BLOCK.sub("", PAGES[name].read_text(encoding="utf-8")))


@pytest.fixture
def examples(tmp_path, monkeypatch):
    """A directory with the files that the pages have in full, and with those that their readers have."""
    monkeypatch.chdir(tmp_path)
    for name in PAGES:
        for file, text in blocks(name, "yaml"):
            if file:
                Path(file).write_text(text)
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
        Path(f"{name}.json").write_text(json.dumps(body))
    log = swf_text([SwfJob(number, 60 * number, 300, allocated=2) for number in range(1, 9)])
    Path("NASA-iPSC-1993-3.1-cln.swf.gz").write_bytes(gzip.compress(log.encode()))
    task = {"name": "mProject", "runtimeInSeconds": 5, "parents": []}
    workflow = {"name": "montage", "schemaVersion": "1.4", "workflow": {"tasks": [task]}}
    Path("montage.json").write_text(json.dumps(workflow))


def carry_out(words, capsys):
    """Carry out a command of a page as far as a test can."""
    match words:
        case ["az" | "python3", *_]:
            pass  # az needs a subscription, and .ci/run carries out what begins with python3
        case ["pip", "install", *rest]:
            assert rest[-1] == "." or rest[-1][2:-1] in EXTRAS
        case ["python", "-m", module, *_]:
            assert find_spec(module)
        case ["batchdeck"]:
            pass
        case ["batchdeck", "open" | "serve" as command, *rest]:  # they need a terminal, or never end
            context = cli.commands[command].make_context(command, rest)
            if scenario := context.params["scenario"]:
                assert main(["check", str(scenario)]) == 0
        case ["batchdeck", "study", *_]:  # with two seeds; tests of the bundled studies play all of them
            assert main([*words[1:], "--seeds", "2", "--workers", "1"]) == 0, capsys.readouterr().out
        case ["batchdeck", *rest]:
            rest, _, files = " ".join(rest).partition(" > ")
            status = main([*rest.split(), "--yes"] if rest == "sample" else rest.split())
            printed = capsys.readouterr().out
            assert status == 0, printed
            if files:
                Path(files).write_text(printed)
        case _:
            pytest.fail(f"who runs {words}?")


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("name", having("sh"))
def test_the_commands_of_a_page_work(name, capsys):
    for _, block in blocks(name, "sh"):
        for line in block.splitlines():
            for command in line.split(" && "):
                words = shlex.split(command.partition(" | ")[0], comments=True)
                carry_out([words[0].removeprefix(".venv/bin/"), *words[1:]], capsys)


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("name", having("yaml"))
def test_the_scenarios_of_a_page_have_no_mistake(name, capsys):
    for file, text in blocks(name, "yaml"):
        if not file:
            Path("part.yaml").write_text(yaml.safe_dump(yaml.safe_load(AROUND) | yaml.safe_load(text)))
        assert main(["check", "--strict", file or "part.yaml"]) == 0, capsys.readouterr()


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("name", having("python"))
def test_the_programs_of_a_page_run(name):
    for _, text in blocks(name, "python"):
        exec(text.replace("from batchdeck.", "from "), {})  # tests/cli/test_wheel.py runs them as they are


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_commands_options_and_extras_that_exist(name):
    options = {option for command in cli.commands.values() for each in command.params for option in each.opts}
    options |= {
        "--help",
        "--rewrite-golden",
        "--rounds",
        "--compare",
        "--record",
        "--tasks",
        "--nodes",
        "--quiet",
        "--junitxml",
    }
    for span in spans(name):
        words = span.split()
        if words[0] == "batchdeck" and words[1:] and re.fullmatch("[a-z]+", words[1]):
            assert words[1] in cli.commands, span
        if words[0] == "batchdeck" or words[0].startswith("--"):
            assert {word for word in words if word.startswith("--")} <= options, span
        for extra in re.findall(r"\.\[(\w+)\]", span):
            assert extra in EXTRAS, span


@pytest.mark.usefixtures("examples")
def test_the_example_of_the_readme_does_what_it_says(capsys):
    assert main(["check", "first.yaml"]) == 0
    assert capsys.readouterr().out == "first.yaml: ok, 1 pool, 1 job, 60 tasks, 1 timeline entry, 3 expectations\n"
    assert main(["run", "first.yaml"]) == 0, capsys.readouterr().out


def test_two_commands_stand_alone_on_a_line():
    assert len(re.findall(r"^python3 -m venv .+$", README.read_text(), re.MULTILINE)) == 2


def anchors(page):
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", [*PAGES, "CHANGELOG.md", "engine/FIDELITY.md", "engine/STABILITY.md", "tui/cli/CI.md"])
def test_links_lead_somewhere(name):
    page = ROOT / name
    for link in re.findall(r"\]\(([^):]+)\)", page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


# Pages that name modules, classes and functions; the others name files at most.
FOR_DEVELOPERS = ("README.md", "engine/README.md", "tests/README.md", "tests/bench/README.md")


@cache
def paths():
    """The paths of all files, each in a line that begins with a stroke."""
    below = (one for folder in ("engine", "scenarios", "tests", "tui") for one in (ROOT / folder).rglob("*.*"))
    found = (*ROOT.glob("*.*"), *(one for one in below if "__pycache__" not in one.parts))
    return "".join(f"/{one.relative_to(ROOT).as_posix()}\n" for one in found)


@cache
def modules():
    """The text of each module by its path."""
    return {
        path: (ROOT / path[1:]).read_text(encoding="utf-8") for path in re.findall(r"^.+\.py$", paths(), re.MULTILINE)
    }


@cache
def words():
    """The words in all modules."""
    return {word for text in modules().values() for word in re.findall(r"\w+", text)}


def is_path(span):
    return re.fullmatch(r"[\w*-][\w*/-]*(?:\.\w+)?/?", span) and ("/" in span or span.endswith((".md", ".py")))


def is_there(path):
    """Whether a path leads to a file, module or folder, from the root or from a folder that the text is about."""
    pattern = re.escape(path.rstrip("/")).replace(r"\*", "[^/]*")
    end = "/" if path.endswith("/") else r"(?:\.py)?(?:$|/)"
    return re.search(rf"^(?:/.*)?/{pattern}{end}", paths(), re.MULTILINE) is not None


def is_defined(name):
    """Whether a name, perhaps below that of its module or class, occurs in the code; any word is a plain name."""
    *above, last = name.split(".")
    texts = [text for path, text in modules().items() if above and path.endswith(f"/{above[-1]}.py")]
    if texts:
        return any(re.search(rf"\b{last}\b", text) for text in texts)
    is_name = above or "_" in last.strip("_") or re.search("[a-z][A-Z]", last)
    return not is_name or {*above, last} <= words()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_files_modules_and_functions_that_exist(name):
    named = dict.fromkeys(spans(name))
    files = [span for span in named if is_path(span)]
    if name in FOR_DEVELOPERS:
        names = [span for span in named if re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", span) and span not in files]
    else:
        files, names = [span for span in files if span.endswith((".md", ".py"))], []
    assert [span for span in files if not is_there(span)] == []
    assert [span for span in names if not is_defined(span)] == []


def test_the_readme_leads_to_every_page_for_users():
    for name in set(PAGES) - {"README.md", "tests/rest/data/README.md"}:
        assert f"]({name})" in README.read_text(encoding="utf-8")
