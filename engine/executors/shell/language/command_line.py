"""Command lines: a program with arguments, or a script for a shell (TASK-4).

A command line does not run under a shell unless it starts one: ``cmd /c ...`` on Windows, ``sh -c "..."`` or
``bash -c '...'`` on Linux. Parsing expands only ``%NAME%``, which cmd replaces before it reads a line, so callers pass
the variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from engine.base.lazy import lazy_regex
from engine.base.terms import OsFamily
from engine.executors.shell.language.cmd_reader import WINDOWS_ARGUMENT, percent_expanded, read_cmd_script
from engine.executors.shell.language.script import ScriptText, read_script
from engine.executors.shell.language.syntax import (
    SHELL_OPTIONS,
    AndOr,
    Pipeline,
    Script,
    Shell,
    ShellCommand,
    literal,
    simple_commands,
)

_BEYOND_CMD = "it uses a construct of cmd outside the small shell's grammar"


class Program(NamedTuple):
    """A parsed command line. Without a shell the script is a single command with literal words.

    ``arguments`` are ``$0``, ``$1`` and so on; ``options`` are those of the shell, such as ``errexit`` for ``sh -e``.
    """

    shell: Shell
    text: ScriptText
    bash: bool = False
    arguments: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()

    @property
    def script(self) -> Script | None:
        """The script, or None if it is outside the small shell's grammar."""
        return None if self.text.not_readable is not None else self.text.script

    def commands(self) -> Iterator[ShellCommand]:
        """Yield every simple command of the script in order."""
        return simple_commands(self.text.script)


_CMD_INVOCATION = lazy_regex(
    r'\s*"?(?:[^"\s]*[\\/])?cmd(?:\.exe)?"?(?:\s*/[^\s/c][^\s/]*)*\s*/c(?P<script>.*)', re.IGNORECASE | re.DOTALL
)
_SH_INVOCATION = lazy_regex(r"\s*(?:/usr)?(?:/bin/)?(?P<bash>ba|da)?sh\s")


def parse(command_line: str, os: OsFamily, variables: Mapping[str, str] | None = None) -> Program:
    """Parse a command line as the operating system and its shell would; never raise.

    ``variables`` replace ``%NAME%`` inside ``cmd /c``, without regard to case; unknown ones stay as written.
    """
    if os is OsFamily.LINUX:
        return _parse_linux(command_line)
    invocation = _CMD_INVOCATION.fullmatch(command_line)
    if invocation is None:
        return _without_shell([word.replace('"', "") for word in WINDOWS_ARGUMENT.findall(command_line)])
    script = read_cmd_script(percent_expanded(_without_outer_quotes(invocation["script"]), variables or {}))
    if script is None:
        return Program(Shell.CMD, ScriptText((), not_readable=_BEYOND_CMD))
    return Program(Shell.CMD, ScriptText(script))


@lru_cache(maxsize=4096)
def _parse_linux(command_line: str) -> Program:
    argv = _split(command_line)
    invocation = _SH_INVOCATION.match(command_line)
    if invocation is None:
        return _without_shell(argv)
    options: set[str] = set()
    runs_script = False
    index = 1
    while index < len(argv) and len(argv[index]) > 1 and argv[index][0] in "-+":
        argument = argv[index]
        index += 1
        if argument.startswith("--"):
            continue
        runs_script |= "c" in argument
        options |= {SHELL_OPTIONS[letter] for letter in argument[1:] if letter in SHELL_OPTIONS and argument[0] == "-"}
        if argument.endswith("o") and index < len(argv):
            options.add(argv[index])
            index += 1
    if not runs_script or index >= len(argv):
        return _without_shell(argv)
    bash = invocation["bash"] == "ba"
    arguments = tuple(argv[index + 1 :]) or (argv[0],)
    return Program(Shell.SH, read_script(argv[index], bash=bash), bash, arguments, frozenset(options))


def _without_shell(argv: list[str]) -> Program:
    if not argv:
        return Program(Shell.NONE, ScriptText(()))
    command = ShellCommand(tuple(map(literal, argv)))
    return Program(Shell.NONE, ScriptText((AndOr((("&&", Pipeline((command,))),)),)))


_QUOTES = lazy_regex(r"""['"\\]""")
# Repetitions are possessive (`++`): a line with an open quote would be tried in every way of dividing it.
_ARGUMENT = lazy_regex(
    r"""[ \t\r\n]*+((?:[^ \t\r\n'"\\]++|'[^']*+'|"(?:[^"\\]|\\.)*+"|\\.)++)(?=[ \t\r\n]|\Z)|[ \t\r\n]+\Z""",
    re.DOTALL,
)
_ARGUMENT_PIECE = lazy_regex(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)


def _split(command_line: str) -> list[str]:
    """Return the arguments as on Linux, with quotes as ``shlex.split`` reads them, but faster.

    A line with an open quote is split at blanks only.
    """
    if not _QUOTES.search(command_line):
        return command_line.split()
    argv: list[str] = []
    at = 0
    while at < len(command_line):
        found = _ARGUMENT.match(command_line, at)
        if found is None:
            return command_line.split()
        at = found.end()
        if found[1] is not None:
            argv.append(_ARGUMENT_PIECE.sub(_without_quotes, found[1]) if _QUOTES.search(found[1]) else found[1])
    return argv


def _without_quotes(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    if double is not None:
        return re.sub(r'\\(["\\])', r"\1", double) if "\\" in double else double
    return single if single is not None else escaped


def _without_outer_quotes(script: str) -> str:
    """Return the script without a leading quote and the last one, as cmd does."""
    stripped = script.strip()
    if not stripped.startswith('"'):
        return stripped
    head, quote, tail = stripped[1:].rpartition('"')
    return head + tail if quote else stripped[1:]
