"""Machines that run a script of the POSIX shell: a simulated node, and the real ``/bin/sh`` in a directory."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from engine.base.paths import NodeFacts, NodeRoot, TaskFacts, TaskKind, task_directory, variables, working_directory
from engine.base.terms import OsFamily
from engine.shell.files import NodeFiles
from engine.shell.small_shell import run

DIRECTORY = task_directory("risk", "task001")
WD = working_directory(DIRECTORY)
LINES = Path(__file__).with_name("shell_lines.jsonl")
IS_DASH = os.path.realpath("/bin/sh").endswith("/dash")


class Outcome(NamedTuple):
    """What a script leaves: the root directory is written as ROOT, and of standard error counts whether it is empty."""

    exit_code: int
    stdout: str
    complains: bool
    files: dict[str, str]


def recorded() -> dict[str, Outcome]:
    """Return the outcomes of dash on Debian, by script. ``python -m tests.units.shell_machines`` records them anew."""
    rows = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    return {script: Outcome(*outcome) for script, *outcome in rows}


def environment(root):
    node = NodeFacts("contoso", "https://contoso.example", "shared", "tvm-1", root)
    settings = {"A": "a b", "EMPTY": "", "PATH": "/usr/bin:/bin"}
    return variables(node, TaskFacts(TaskKind.TASK, DIRECTORY, "task001", "risk"), task_settings=settings)


def simulated(script):
    root, files = NodeRoot(OsFamily.LINUX, "/node/root"), NodeFiles()
    result = run(f"/bin/sh -c {shlex.quote(script)}", root, environment(root), files, WD)
    texts = {key: text for key in files.walk() if (text := files.read(key)) is not None}
    return Outcome(result.exit_code, result.stdout.replace(root.path, "ROOT"), bool(result.stderr), texts)


def real(script):
    with tempfile.TemporaryDirectory(prefix="batchdeck") as path:
        for directory in ("shared", WD):
            os.makedirs(f"{path}/{directory}")
        done = subprocess.run(
            ["/bin/sh", "-c", script],
            cwd=f"{path}/{WD}",
            env=environment(NodeRoot(OsFamily.LINUX, path)),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )
        texts = {
            str(file.relative_to(path)): file.read_text(errors="replace")
            for file in sorted(Path(path).rglob("*"))
            if file.is_file()
        }
        stdout = done.stdout.decode(errors="replace").replace(path, "ROOT")
        return Outcome(done.returncode, stdout, bool(done.stderr), texts)


def record(scripts):
    """Write the outcomes of the real shell."""
    rows = [json.dumps([script, *real(script)], ensure_ascii=False) for script in scripts]
    LINES.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    assert IS_DASH, "the recorded outcomes are those of dash"
    assert shutil.which("seq"), "and of GNU coreutils"
    record(list(recorded()))
