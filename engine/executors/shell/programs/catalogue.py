"""The commands that the small shell knows, by shell and name (TASK-22)."""

from __future__ import annotations

from typing import NamedTuple

from engine.base.terms import OsFamily
from engine.executors.shell.language.syntax import Shell
from engine.executors.shell.programs.call import Builtin, succeed
from engine.executors.shell.programs.cmd_commands import CMD_COMMANDS
from engine.executors.shell.programs.file_commands import FILE_COMMANDS
from engine.executors.shell.programs.output_commands import echo, printf
from engine.executors.shell.programs.program_commands import PROGRAM_COMMANDS
from engine.executors.shell.programs.shell_builtins import SHELL_BUILTINS
from engine.executors.shell.programs.test_command import test
from engine.executors.shell.programs.text_commands import TEXT_COMMANDS

LINUX_PROGRAMS: dict[str, Builtin] = (
    {name: command for name, command in FILE_COMMANDS.items() if name != "cd"}
    | TEXT_COMMANDS
    | PROGRAM_COMMANDS
    | {"[": test, "echo": echo, "printf": printf, "test": test, "true": succeed}
)
SH_COMMANDS: dict[str, Builtin] = LINUX_PROGRAMS | FILE_COMMANDS | SHELL_BUILTINS

# fmt: off
SPECIAL = frozenset({
    ".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift", "times",
    "trap", "unset",
})
"""The special commands of POSIX: a failed redirection of one ends the script, and assignments before it stay."""

# Shell built-ins that are not found as programs (TASK-4).
NO_PROGRAM_ON_LINUX = frozenset({
    "alias", "bg", "bind", "break", "builtin", "cd", "command", "continue", "declare", "eval", "exec", "exit", "export",
    "fg", "getopts", "hash", "history", "jobs", "let", "local", "read", "readonly", "return", "set", "shift", "shopt",
    "source", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
})
NO_PROGRAM_ON_WINDOWS = frozenset({
    "assoc", "break", "call", "cd", "chdir", "cls", "color", "copy", "date", "del", "dir", "echo", "endlocal", "erase",
    "exit", "for", "ftype", "goto", "if", "md", "mkdir", "mklink", "move", "path", "pause", "popd", "prompt", "pushd",
    "rd", "rem", "ren", "rename", "rmdir", "set", "setlocal", "shift", "start", "time", "title", "type", "ver",
    "verify", "vol",
})
# fmt: on


class SimulatedOutput(NamedTuple):
    """The ``simulate:`` values of a command line; an exit code of None leaves it to the shell."""

    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""


def base_name(name: str) -> str:
    """Return the command of ``/bin/echo`` and ``timeout.exe``."""
    for directory in ("/bin/", "/usr/bin/"):
        name = name.removeprefix(directory)
    return name.removesuffix(".exe")


def builtin_of(shell: Shell, os: OsFamily, name: str) -> Builtin | None:
    """Return the command of this name, or None for a program that the small shell does not know."""
    if shell is Shell.SH:
        known = SH_COMMANDS.get(name)
        return known if known is not None else LINUX_PROGRAMS.get(base_name(name))
    if shell is Shell.CMD:
        return CMD_COMMANDS.get(base_name(name.lower()))
    if os is not OsFamily.LINUX:
        return CMD_COMMANDS["timeout"] if base_name(name.lower()) == "timeout" else None
    return LINUX_PROGRAMS.get(base_name(name))
