"""Nodes on which the small shell runs lines."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from engine.base.paths import NodeFacts, NodeRoot, TaskFacts, TaskKind, task_directory, variables, working_directory
from engine.base.terms import OsFamily
from engine.shell.files import NodeFiles
from engine.shell.interpreter import SimulatedOutput
from engine.shell.small_shell import run

DIRECTORY = task_directory("risk", "task001")
WD = working_directory(DIRECTORY)


class Outcome(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str
    found: bool


class Machine:
    """A node with the environment of one task, on which lines run one after the other."""

    def __init__(self, os, **settings):
        self.os = os
        self.root = NodeRoot.of(os)
        node = NodeFacts("contoso", "https://contoso.example", "shared", "tvm-1", self.root)
        task = TaskFacts(TaskKind.TASK, DIRECTORY, "task001", "risk")
        self.env = variables(node, task, task_settings=settings)
        self.files = NodeFiles()

    def run(self, line, exit_code=None, stdout="", stderr=""):
        result = run(line, self.root, self.env, self.files, WD, SimulatedOutput(exit_code, stdout, stderr))
        return Outcome(*result[:4])

    def texts(self):
        return {key: text for key in self.files.walk() if (text := self.files.read(key)) is not None}


@pytest.fixture
def linux():
    return Machine(OsFamily.LINUX, GREETING="hello  world", EMPTY="")


@pytest.fixture
def windows():
    return Machine(OsFamily.WINDOWS, GREETING="hello  world")
