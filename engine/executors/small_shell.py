"""The small shell: runs a command line on a node's simulated files (TASK-4, ENV-3).

It knows the commands that samples consist of (``sh_commands``, ``cmd_commands``). Every other program is assumed to
exist and behaves as ``simulate:`` says, anywhere in the line: ``fetch-data > $AZ_BATCH_NODE_SHARED_DIR/x && ls``
creates the file with the simulated output. A given exit code applies to the whole command line. Lines end in a line
feed on Windows too (decided here).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from engine.base.paths import NodeRoot
from engine.base.terms import OsFamily
from engine.base.units import SECOND_MS
from engine.executors.cmd_commands import CMD_COMMANDS
from engine.executors.command_line import AndOr, Piece, Pipeline, Program, Quoting, Shell, ShellCommand, Word, parse
from engine.executors.commands import WILDCARD, Builtin, Call, ScriptExit, ShellProcess
from engine.executors.files import AccessDenied, NodeFiles
from engine.executors.sh_commands import LINUX_PROGRAMS, SH_COMMANDS

UNDERSTOOD_MS = 1 * SECOND_MS

# fmt: off
# Shell built-ins that are not found as programs (TASK-4).
_NO_PROGRAM_ON_LINUX = frozenset({
    "alias", "bg", "bind", "break", "builtin", "cd", "command", "continue", "declare", "eval", "exec", "exit", "export",
    "fg", "getopts", "hash", "history", "jobs", "let", "local", "read", "readonly", "return", "set", "shift", "shopt",
    "source", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
})
_NO_PROGRAM_ON_WINDOWS = frozenset({
    "assoc", "break", "call", "cd", "chdir", "cls", "color", "copy", "date", "del", "dir", "echo", "endlocal", "erase",
    "exit", "for", "ftype", "goto", "if", "md", "mkdir", "mklink", "move", "path", "pause", "popd", "prompt", "pushd",
    "rd", "rem", "ren", "rename", "rmdir", "set", "setlocal", "shift", "start", "time", "title", "type", "ver",
    "verify", "vol",
})
# fmt: on
_VARIABLE = re.compile(
    r"\\(?P<escaped>.)|\$(?:(?P<name>[A-Za-z_]\w*)|(?P<special>[?#@*$!0-9])|"
    r"\{(?P<braced>\w+)(?::?-(?P<default>[^}]*))?\})",
    re.ASCII | re.DOTALL,
)
_BLANKS = re.compile(r"[ \t\n]+")
_NULL_DEVICES = frozenset({"/dev/null", "nul", "nul:"})


class SimulatedOutput(NamedTuple):
    """The ``simulate:`` values of a command line; an exit code of None leaves it to the shell."""

    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""


NO_OUTPUT = SimulatedOutput()


class ShellResult(NamedTuple):
    """The result of a command line; ``found`` is False if there is no such program (CommandProgramNotFound)."""

    exit_code: int
    stdout: str
    stderr: str
    found: bool = True


def understands(command_line: str, os: OsFamily) -> bool:
    """Return whether the small shell knows every command in the line."""
    program = parse(command_line, os)
    return program.script is not None and all(_knows(program.shell, os, command) for command in program.commands())


def unreadable(command_line: str, os: OsFamily) -> str | None:
    """Return why the small shell cannot read the line, which then counts as an unknown program; None if it can.

    An unknown program is no reason: it is assumed to exist (TASK-4).
    """
    if not is_found(command_line, os) or parse(command_line, os).script is not None:
        return None
    return "it uses a construct outside the small shell's grammar"


def is_found(command_line: str, os: OsFamily) -> bool:
    """Return whether the program exists; shell built-ins are no programs (TASK-4)."""
    program = parse(command_line, os)
    if program.shell is not Shell.NONE:
        return True
    name = next((command.name for command in program.commands()), "")
    if os is OsFamily.LINUX:
        return bool(name) and name not in _NO_PROGRAM_ON_LINUX
    return bool(name) and name.lower() not in _NO_PROGRAM_ON_WINDOWS


def duration_ms(command_line: str, os: OsFamily) -> int | None:
    """Return the sum of a known line's sleeps, or one second without any; None if a command is not known."""
    if not understands(command_line, os):
        return None
    slept_ms = sum(_sleep_ms(command) for command in parse(command_line, os).commands())
    return slept_ms or UNDERSTOOD_MS


def run(
    command_line: str,
    root: NodeRoot,
    env: Mapping[str, str],
    files: NodeFiles,
    cwd: str,
    simulated: SimulatedOutput = NO_OUTPUT,
) -> ShellResult:
    """Run the line in directory ``cwd`` (a key, created if necessary) and change the files; never raise.

    ``root`` determines the operating system and the native paths.
    """
    files.mkdir(cwd)
    if not is_found(command_line, root.os):
        return ShellResult(127, "", "", found=False)
    here = {"CD": root.native(cwd), "ERRORLEVEL": "0"} if root.is_windows else {}
    program = parse(command_line, root.os, here | dict(env))
    session = _Session(program, ShellProcess(files, root, dict(env), cwd), simulated)
    exit_code = session.run()
    if simulated.exit_code is not None:
        exit_code = simulated.exit_code
    return ShellResult(exit_code, "".join(session.out), "".join(session.err))


_SLEEP = re.compile(r"(?P<number>\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?P<unit>[smhd]?)", re.ASCII)
_UNIT_MS = {"": 1_000, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _sleep_ms(command: ShellCommand) -> int:
    if _base_name(command.name) not in ("sleep", "timeout"):
        return 0
    arguments = ["".join(piece.text for piece in word) for word in command.words[1:]]
    times = [found for argument in arguments if (found := _SLEEP.fullmatch(argument))]
    return sum(round(float(found["number"]) * _UNIT_MS[found["unit"]]) for found in times)


def _base_name(name: str) -> str:
    """Return the command of ``/bin/echo`` and ``timeout.exe``."""
    for directory in ("/bin/", "/usr/bin/"):
        name = name.removeprefix(directory)
    return name.removesuffix(".exe")


def _builtin(shell: Shell, os: OsFamily, name: str) -> Builtin | None:
    if shell is Shell.CMD:
        return CMD_COMMANDS.get(_base_name(name.lower()))
    if os is not OsFamily.LINUX:
        return CMD_COMMANDS["timeout"] if _base_name(name.lower()) == "timeout" else None
    base = _base_name(name)
    return SH_COMMANDS.get(base) if shell is Shell.SH or base in LINUX_PROGRAMS else None


def _knows(shell: Shell, os: OsFamily, command: ShellCommand) -> bool:
    return not command.words or _builtin(shell, os, command.name) is not None


class _Session:
    """A run of a program: expansion, redirection and control flow around its commands."""

    def __init__(self, program: Program, process: ShellProcess, simulated: SimulatedOutput) -> None:
        self.program = program
        self.process = process
        self.simulated = simulated
        self.out: list[str] = []
        self.err: list[str] = []
        process.stop_at_error = program.stop_at_error

    def run(self) -> int:
        if self.program.script is None:
            return self._unknown(self.out, self.err)
        try:
            for chain in self.program.script:
                self._run_chain(chain)
        except ScriptExit as stop:
            return stop.code
        return self.process.status

    def _run_chain(self, chain: AndOr) -> None:
        process, last = self.process, len(chain.parts) - 1
        for index, (operator, pipeline) in enumerate(chain.parts):
            if index and (process.status == 0) is (operator == "||"):
                continue
            process.status = self._run_pipeline(pipeline)
            if process.status and index == last and process.stop_at_error:
                raise ScriptExit(process.status)

    def _run_pipeline(self, pipeline: Pipeline) -> int:
        stdin = ""
        for command in pipeline[:-1]:
            out: list[str] = []
            self._run_command(command, stdin, out)
            stdin = "".join(out)
        return self._run_command(pipeline[-1], stdin, self.out)

    def _run_command(self, command: ShellCommand, stdin: str, out: list[str]) -> int:
        """Run a command; it fails if it writes where its user may not (FILE-12)."""
        try:
            return self._run_redirected(command, stdin, out)
        except AccessDenied as denied:
            root = self.process.root
            path = root.native(denied.key)
            self.err.append("Access is denied.\n" if root.is_windows else f"{path}: Permission denied\n")
            return 1

    def _run_redirected(self, command: ShellCommand, stdin: str, out: list[str]) -> int:
        """Open the files of the redirections, run the command, and write its output to them."""
        process = self.process
        streams: dict[int, list[str]] = {1: out, 2: self.err}
        written: list[tuple[str, list[str]]] = []
        for redirect in command.redirects:
            if redirect.same_as is not None:
                streams[redirect.handle] = streams.get(redirect.same_as, [])
                continue
            path = self._text(redirect.target)
            if redirect.handle == 0:
                text = "" if path.lower() in _NULL_DEVICES else process.read(path)
                if text is None:
                    return self._cannot_open(path)
                stdin = text
                continue
            stream: list[str] = []
            streams[redirect.handle] = stream
            if path.lower() in _NULL_DEVICES:
                continue
            key = process.key(path)
            if not path or process.files.is_dir(key) or not process.holds(key):
                return self._cannot_open(path)
            if redirect.append:
                process.files.append(key, "")
            else:
                process.files.write(key, "")
            written.append((key, stream))
        try:
            return self._call(command, stdin, streams[1], streams[2])
        finally:
            for key, stream in written:
                process.files.append(key, "".join(stream))

    def _cannot_open(self, path: str) -> int:
        windows = self.process.root.is_windows
        self.err.append(
            "The system cannot find the path specified.\n" if windows else f"sh: cannot open {path}: No such file\n"
        )
        return 1 if windows else 2

    def _call(self, command: ShellCommand, stdin: str, out: list[str], err: list[str]) -> int:
        process = self.process
        words = [field for word in command.words for field in self._fields(word)]
        if not words:
            for name, word in command.assignments:
                process.env[name] = self._text(word)
            return 0
        builtin = _builtin(self.program.shell, process.root.os, words[0])
        if builtin is None:
            return self._unknown(out, err)
        return builtin(Call(process, _base_name(words[0]), words[1:], command.rest, stdin, out, err))

    def _unknown(self, out: list[str], err: list[str]) -> int:
        """Behave as ``simulate:`` says (TASK-4)."""
        self.process.after_unknown = True
        out.append(self.simulated.stdout)
        err.append(self.simulated.stderr)
        return self.simulated.exit_code or 0

    def _text(self, word: Word) -> str:
        """Return a word with its variables replaced, without splitting."""
        return "".join(self._expanded(piece) for piece in word)

    def _fields(self, word: Word) -> list[str]:
        """Return the fields of a word: variables replaced, split at unquoted blanks, wildcards expanded."""
        fields, patterns, quoted = [""], [""], set[int]()
        for piece in word:
            text = self._expanded(piece)
            if piece.quoting is Quoting.BARE:
                first, *others = _BLANKS.split(text)
                fields[-1] += first
                patterns[-1] += first
                fields += others
                patterns += others
            else:
                quoted.add(len(fields) - 1)
                fields[-1] += text
                patterns[-1] += WILDCARD.sub(r"[\g<0>]", text)
        found: list[str] = []
        for index, (text, pattern) in enumerate(zip(fields, patterns, strict=True)):
            if matches := self.process.matches(pattern) if WILDCARD.search(pattern) else []:
                found += matches
            elif text or index in quoted:
                found.append(text)
        return found

    def _expanded(self, piece: Piece) -> str:
        if piece.quoting is Quoting.LITERAL:
            return piece.text
        return _VARIABLE.sub(self._value, piece.text)

    def _value(self, found: re.Match[str]) -> str:
        if found["escaped"] is not None:
            return found["escaped"] if found["escaped"] in '"\\$`' else found[0].replace("\\\n", "")
        name = found["name"] or found["braced"] or ""
        if found["special"]:
            return str(self.process.status) if found["special"] == "?" else ""
        return self.process.env.get(name) or found["default"] or ""
