"""The wheel: what is in it, that the source distribution builds the same, and that it works where there is no clone.

It is installed into an environment of its own, which finds the other packages of this one.
"""

from __future__ import annotations

import email
import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.cli.test_pages import PAGES, blocks, examples, having
from tui import __version__

__all__ = ["examples"]  # a fixture

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]
OURS = ("engine", "tui", "scenarios")
BUILD = "import sys, hatchling.build as build; getattr(build, sys.argv[1])(sys.argv[2])"
DASHBOARD = """
import asyncio
from batchdeck.engine import Simulation, load_scenario
from batchdeck.tui.app.dashboard import Dashboard

async def look():
    app = Dashboard(Simulation(load_scenario("job-prep-release-sample")), plays=False)
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("3", "enter", "question_mark", "escape", "ctrl+o", "escape", "8"):
            await pilot.press(key)
            await pilot.pause()

asyncio.run(look())
"""
IMPORTS = """
import importlib, pkgutil, sys
import batchdeck

names = [each.name for each in pkgutil.walk_packages(batchdeck.__path__, "batchdeck.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names), *(name for name in sys.modules if name.partition(".")[0] in ("engine", "tui", "scenarios")))
"""
PLAYS = """
import contextlib, os, shlex, sys
from batchdeck.tui.cli.commands import main

for line in sys.argv[1:]:
    call, _, file = line.partition(" | ")[0].partition(" > ")
    with open(file or os.devnull, "w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
        status = main(shlex.split(call)[1:])
    if status:
        sys.exit(f"{line}: status {status}")
"""
PLUGIN = """
import engine, tui, scenarios

def test_my_own_packages_are_mine():
    assert {each.WHOSE for each in (engine, tui, scenarios)} == {"mine"}

def test_an_account(batch_account):
    from batchdeck.engine.rest.testing import LocalAccount
    assert isinstance(batch_account, LocalAccount)
"""


def build(kind, root, folder):
    """Build a wheel or a source distribution from a folder; return the file."""
    call = [sys.executable, "-c", BUILD, f"build_{kind}", str(folder)]
    subprocess.run(call, cwd=root, check=True, stdout=subprocess.DEVNULL)
    (built,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="session")
def home(tmp_path_factory, request):
    """A folder with the wheel and an environment; the first of all test processes makes it for the others."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if hasattr(request.config, "workerinput") else base) / "wheel"
    home.mkdir(exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            wheel = build("wheel", ROOT, home)
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home / "venv")], check=True)
            python = str(home / "venv" / "bin" / "python")
            pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index"]
            subprocess.run([*pip, "--no-compile", str(wheel)], check=True)
            (packages,) = (home / "venv" / "lib").glob("*/site-packages")
            (packages / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
            (home / "ready").touch()
    return home


@pytest.fixture
def run(home, tmp_path, monkeypatch):
    """Run a call in a folder, in an environment in which the wheel alone is installed; return what it printed."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PATH", f"{home / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*call, status=0):
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == status, f"{call}: status {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


def names_in(wheel):
    with zipfile.ZipFile(wheel) as file:
        return file.namelist()


def wheel_of(home):
    (wheel,) = home.glob("*.whl")
    return wheel


def test_the_wheel_claims_one_name_and_has_all_data(home):
    names = names_in(wheel_of(home))
    assert {name.partition("/")[0] for name in names} == {
        "batchdeck",
        f"batchdeck-{__version__}.dist-info",
        f"batchdeck-{__version__}.data",
    }
    files = {path for package in OURS for path in (ROOT / package).rglob("*.*") if path.is_file()}
    left_out = {"tui/wheel.py", "tui/__main__.py", "tui/editable.py", "tui/cli/batchdeck.1", "engine/py.typed"}
    needed = {path.relative_to(ROOT).as_posix() for path in files if path.suffix not in (".pyc", ".svg")} - left_out
    own = {"__init__.py", "__main__.py", "py.typed", "README.md", "CHANGELOG.md", "LICENSE"}
    assert {name for name in names if name.startswith("batchdeck/")} == {f"batchdeck/{name}" for name in needed | own}
    assert f"batchdeck-{__version__}.data/data/share/man/man1/batchdeck.1" in names


def test_the_metadata_name_licence_and_pages(home):
    with zipfile.ZipFile(wheel_of(home)) as file:
        metadata = email.message_from_bytes(file.read(f"batchdeck-{__version__}.dist-info/METADATA"))
        assert f"batchdeck-{__version__}.dist-info/licenses/LICENSE" in file.namelist()
    assert (metadata["License-Expression"], metadata["Author"]) == ("MIT", "the batchdeck authors")
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert text.startswith("# batchdeck")
    links = re.findall(r"\]\(([^)]*)\)", text)  # others than to the web lead nowhere on an index
    assert [link for link in links if not link.startswith("https:")] == []


def test_the_source_distribution_builds_the_same_wheel(home, tmp_path):
    source = build("sdist", ROOT, tmp_path)
    with tarfile.open(source) as file:
        file.extractall(tmp_path / "source", filter="data")
    (root,) = (tmp_path / "source").iterdir()
    again = build("wheel", root, tmp_path)
    assert again.name == wheel_of(home).name
    digests = {hashlib.sha256(each.read_bytes()).hexdigest() for each in (again, wheel_of(home))}
    assert len(digests) == 1


def test_modules_import_each_other_within_the_package(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    count, *foreign = run("python", "-c", IMPORTS).split()
    assert int(count) > 300
    assert foreign == []


def test_the_version_is_told_by_each_way_in(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        run("batchdeck", "--version") == run("python", "-m", "batchdeck", "--version") == f"batchdeck {__version__}\n"
    )


def test_the_dashboard_opens(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("python", "-c", DASHBOARD)


def test_a_project_with_packages_of_our_names_runs_its_tests(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in OURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("WHOSE = 'mine'\n")
    (tmp_path / "test_mine.py").write_text(PLUGIN)
    run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py")
    assert "PREP-16" in run("batchdeck", "rules", "PREP-16")
    assert "--seeds" in run("python", "-m", "batchdeck", "study", "--help")


def test_every_page_is_shown(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [line.split()[0] for line in run("batchdeck", "docs").splitlines()]
    assert {"readme", "scenarios", "tui", "cli", "ci", "studies", "rest", "histories", "rules", "fidelity"} <= set(
        names
    )
    for name in ("readme", "ci", names[-1]):
        assert run("batchdeck", "docs", name).startswith("# ")


def adapted(line):
    """A line of a page as a test can carry it out: what needs a terminal or never ends is checked instead."""
    line = line.partition("  # ")[0].replace(".venv/bin/batchdeck", "batchdeck")
    line = re.sub(r"^.venv/bin/pip install \S+ \S+ && ", "", line)
    if found := re.match(r"batchdeck (?:open|serve)(?: ([a-z][\w.-]*))?", line):
        return f"batchdeck check {found[1] or 'job-prep-release-sample'}"
    if " --vary " in line:  # many runs, which tests/cli/test_pages.py plays
        return f"{line.partition(' --results ')[0]} --list"
    if line.startswith("batchdeck study"):
        return f"{re.sub(r' --seeds [0-9]+', '', line).rstrip()} --seeds 1"
    if line.startswith("batchdeck test"):
        return re.sub("batchdeck test", "batchdeck test --workers 1", line)
    return f"{line} --yes" if line == "batchdeck sample" else line


@pytest.mark.usefixtures("examples")
def test_every_command_of_the_pages_works(run):
    lines = [line for name in having("sh") for _, block in blocks(name, "sh") for line in block.splitlines()]
    ours = [line for line in lines if re.match(r"(\.venv/bin/pip .* && \.venv/bin/)?batchdeck ", line)]
    assert len(ours) > 30
    # Each once, in one process: a file that one writes is read by a later one.
    run("python", "-c", PLAYS, *dict.fromkeys(map(adapted, ours)))


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize(
    "name", [name for name in having("python") if "from batchdeck" in PAGES[name].read_text("utf-8")]
)
def test_the_programs_of_a_page_run_as_they_are(name, run):
    for _, text in blocks(name, "python"):
        if "from batchdeck" in text:
            run("python", "-c", text)
