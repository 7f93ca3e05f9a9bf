"""The interface of the small shell's commands: functions of a ``Call`` that return an exit code.

Their messages and exit codes are the real ones where they are visible: ``rm`` of a missing file fails, while ``del``
reports it and succeeds. A command is one entry: a function below ``@command`` or, with the options of a GNU program,
below ``@Program``. The texts that programs read are their operands and standard input, by lines.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from engine.base.paths import NodeRoot, is_managed, parent
from engine.base.values import lazy_regex
from engine.shell.files import InputStream, Run, Stream

if TYPE_CHECKING:
    from engine.shell.files import NodeFiles
    from engine.shell.syntax import Command


class ScriptExit(Exception):
    """The end of the script, or of its subshell, with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class FunctionReturn(ScriptExit):
    """The end of a function, or of the script outside any function."""


class LoopExit(Exception):
    """``break`` or ``continue`` of so many loops."""

    def __init__(self, levels: int, *, goes_on: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.goes_on = goes_on


class NotSimulated(Exception):
    """An option or a file that the small shell does not know: the command behaves as an unknown program."""


class WrongUsage(Exception):
    """A call that a program refuses with a message, and an exit code of its own."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


class Runner(Protocol):
    """An interpreter, for the commands that run others."""

    def run_text(self, text: str, caller: str = "") -> int:
        """Run a script in this shell and return its status; a syntax error names the caller."""
        ...

    def run_words(self, words: list[str], rest: str = "", *, functions: bool = True) -> int:
        """Run a command with these words and return its status."""
        ...

    def run_program(self, caller: str, words: list[str]) -> int:
        """Run a program with these words, no command of the shell, for ``caller`` and return its status."""
        ...

    def run_child(self, text: str, name: str, arguments: list[str], *, bash: bool, options: set[str]) -> int:
        """Run a script in a new shell, which sees exported variables only, and return its status."""
        ...


@dataclass(slots=True)
class ShellProcess:
    """The state of a shell between commands; a subshell has a copy, and shares files and ``run``."""

    files: NodeFiles
    root: NodeRoot
    env: dict[str, str]  # all variables
    cwd: str
    run: Run
    streams: dict[int, Stream | InputStream]
    exported: set[str] = field(default_factory=set)
    read_only: set[str] = field(default_factory=set)
    functions: dict[str, Command] = field(default_factory=dict)
    active: tuple[str, ...] = ()  # the functions that are running
    name: str = "/bin/sh"
    arguments: list[str] = field(default_factory=list)
    options: set[str] = field(default_factory=set)
    traps: dict[str, str] = field(default_factory=dict)
    locals: list[dict[str, str | None]] = field(default_factory=list)
    vague: set[str] = field(default_factory=set)  # variables whose values come from unknown programs
    bash: bool = False
    plain_echo: bool = False  # `echo` replaces escapes and has no option but -n, as that of dash
    status: int = 0
    loops: int = 0
    line: int = 1  # of the command that runs
    runner: Runner = field(init=False)

    def subshell(self) -> ShellProcess:
        """Return a copy whose changes of variables, options and directory are not seen here."""
        return replace(
            self,
            env=self.env.copy(),
            exported=self.exported.copy(),
            read_only=self.read_only.copy(),
            functions=self.functions.copy(),
            vague=self.vague.copy(),
            options=self.options.copy(),
            traps={},
            locals=[],
            loops=0,
        )

    def writer(self, handle: int) -> Stream:
        """Return standard output (1) or standard error (2)."""
        stream = self.streams[handle]
        assert isinstance(stream, Stream)
        return stream

    @property
    def place(self) -> str:
        """The shell and the line, with which the shell's messages begin; "" without a shell."""
        if not (self.bash or self.plain_echo):
            return ""
        return f"{self.name}: {'line ' if self.bash else ''}{self.line}: "

    def set_or_unset(self, name: str, value: str | None) -> None:
        """Give a variable a value, or unset it with None."""
        if value is None:
            self.env.pop(name, None)
        else:
            self.env[name] = value

    def exported_variables(self) -> dict[str, str]:
        """Return the variables that programs see."""
        return {name: text for name, text in self.env.items() if name in self.exported}

    def key(self, path: str) -> str:
        """Return the key of a path of the process."""
        return self.root.key(path, self.cwd)

    def holds(self, key: str) -> bool:
        """Return whether a file can be created: its directory exists, or may exist on a real node."""
        above = parent(key)
        return self.files.is_dir(above) or not (self.files.exists(above) or self.must_know(above))

    def must_know(self, key: str) -> bool:
        """Return whether a file would be known if there were one: no unknown program has run, and others can know."""
        return not self.run.after_unknown and self.files.knows(key)

    def exists(self, key: str) -> bool:
        """Return whether there is a file or directory.

        Raises:
            NotSimulated: None is known, but a real node may have it (FILE-15).
        """
        if self.files.exists(key):
            return True
        if not self.files.knows(key):
            raise NotSimulated
        return False

    def listdir(self, key: str) -> list[str]:
        """Return the names in a directory, sorted.

        Raises:
            NotSimulated: A real node may have others there (FILE-15).
        """
        if not self.files.knows(f"{key}/x" if key else "x") and key not in _LISTED:
            raise NotSimulated
        return self.files.listdir(key)

    def make_directory(self, key: str) -> bool:
        """Create a directory and its parents; return False if a file is in the way."""
        above = key
        while not self.files.exists(above) and above != parent(above):
            above = parent(above)
        if self.files.read(above) is not None:
            return False
        self.files.mkdir(key)
        return True

    def read(self, path: str) -> str | None:
        """Return the text of a file, or None if it is missing.

        Raises:
            NotSimulated: None is known, but a real node may have it (FILE-15).
        """
        if path in ("/dev/null", "/dev/stdin"):
            return ""
        key = self.key(path)
        text = self.files.read(key)
        self.run.step(len(text or "") >> 7)
        self.run.vague_texts += key in self.run.vague_files or (text is None and self.run.after_unknown)
        if text is not None or self.files.is_dir(key):
            return text
        if self.run.after_unknown:
            return ""
        if not self.files.knows(key):
            raise NotSimulated
        return None

    def enter(self, path: str) -> bool:
        """Change to a directory; return False if there is none."""
        key = self.key(path)
        if self.run.after_unknown and is_managed(key) and not self.files.exists(key):
            self.make_directory(key)
        if not self.files.is_dir(key) and (self.files.exists(key) or self.must_know(key)):
            return False
        self.cwd = key
        if not self.root.is_windows:
            self.env["OLDPWD"] = self.env.get("PWD", "")
        self.env["CD" if self.root.is_windows else "PWD"] = self.root.native(key)
        return True


@dataclass(slots=True)
class Call:
    """A command of a script with its arguments and streams; ``rest`` is the unexpanded text after its name in cmd."""

    process: ShellProcess
    name: str
    args: list[str]
    rest: str
    stdin: InputStream
    out: Stream
    err: Stream
    status: int = 0  # of the last failure

    def keys(self, paths: list[str]) -> Iterator[tuple[str, str]]:
        """Yield each path with its key."""
        return ((path, self.process.key(path)) for path in paths)

    def say(self, text: str) -> None:
        """Write a line to standard output."""
        self.out.append(text + "\n")

    def fail(self, text: str, code: int = 1) -> int:
        """Write a line to standard error; return the exit code, and keep it as the status."""
        self.err.append(text + "\n")
        self.status = code
        return code

    def complain(self, text: str, code: int = 1) -> int:
        """Write a message of a command that is part of the shell and return the exit code."""
        self.err.append(f"{self.process.place}{self.name}: {text}\n")
        return code

    def misuse(self, text: str, code: int = 1) -> int:
        """Write that the command was called wrongly, as GNU programs do, and return the exit code."""
        self.err.append(f"{self.name}: {text}\nTry '{self.name} --help' for more information.\n")
        return code


_LISTED = frozenset({"/mnt", "/mnt/batch"})  # directories of the system of which the content is known

Builtin = Callable[[Call], int]

PROGRAMS: dict[str, Builtin] = {}
"""The programs of Linux, which shells and command lines without a shell find."""
SHELL_BUILTINS: dict[str, Builtin] = {}
"""The commands that only the Linux shells have."""
RUNNERS: dict[str, Program] = {}
"""The programs and built-in commands of Linux that run the command that they are given (TASK-26)."""
CMD_COMMANDS: dict[str, Builtin] = {}
"""The commands of cmd, and the programs that it finds."""


def command(table: dict[str, Builtin], *names: str) -> Callable[[Builtin], Builtin]:
    """Add the decorated function to a table of commands, by these names."""

    def add(run: Builtin) -> Builtin:
        table.update(dict.fromkeys(names, run))
        return run

    return add


NAME = lazy_regex(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)


def succeed(_: Call) -> int:
    """Succeed without an effect."""
    return 0


@dataclass(frozen=True)
class Program:
    """A program of Linux with its options; decorates the function that runs it.

    Each item of ``spec`` is an option that the small shell knows: its letter, its kind and its long names, as in
    ``q/quiet/silent n=/lines``. The kind is empty for a flag, ``=`` for a required value, and ``?`` for one that can
    only be attached. With any other option the call counts as an unknown program (TASK-22).

    If ``stops`` is True, the first operand ends the options. ``least`` and ``most`` limit the number of operands;
    ``usage`` is the exit code if there are too few. A program that ``runs`` another one has so many operands before the
    name of that one.
    """

    names: str
    spec: str = ""
    usage: int = 1
    stops: bool = False
    least: int = 0
    most: int = sys.maxsize
    runs: int | None = None

    @cached_property
    def options(self) -> tuple[dict[str, str], dict[str, str]]:
        """The kind of each letter, and the letter of each long name."""
        kinds: dict[str, str] = {}
        words: dict[str, str] = {}
        for item in self.spec.split():
            option, *names = item.split("/")
            kinds[option[0]] = option[1:]
            words |= dict.fromkeys(names, option[0])
        return kinds, words

    def __call__(self, run: Callable[[Call, ProgramOptions], int]) -> Builtin:
        """Add the program to the table of programs."""
        if self.runs is not None:
            RUNNERS.update(dict.fromkeys(self.names.split(), self))
        return command(PROGRAMS, *self.names.split())(lambda call: run(call, ProgramOptions(call.args, self)))


class ProgramOptions:
    """The options of a command by letter, and its operands, which may stand between them."""

    def __init__(self, arguments: list[str], program: Program) -> None:
        """Read the arguments.

        Raises:
            WrongUsage: Operands are missing or too many.
            NotSimulated: There is an option that the small shell does not know, or one without its value.
        """
        self.values: dict[str, str] = {}
        self.operands: list[str] = []
        self.all: list[tuple[str, str]] = []
        self._kinds, self._words = program.options
        self._rest = iter(arguments)
        for argument in self._rest:
            if argument == "--":
                self.operands += self._rest
            elif argument.startswith("--"):
                self._read_word(argument)
            elif len(argument) > 1 and argument[0] == "-":
                self._read_letters(argument)
            else:
                self.operands.append(argument)
                if program.stops:
                    self.operands += self._rest
        if len(self.operands) < program.least:
            raise WrongUsage("missing operand", program.usage)
        if len(self.operands) > program.most:
            raise WrongUsage(f"extra operand '{self.operands[program.most][:80]}'")

    def _read_letters(self, argument: str) -> None:
        for index, letter in enumerate(argument[1:], start=2):
            kind = self._kinds.get(letter)
            value = argument[index:] or (next(self._rest, None) if kind == "=" else "")
            self._put(letter, kind, value if kind else "")
            if kind:
                return

    def _read_word(self, argument: str) -> None:
        name, assigned, value = argument[2:].partition("=")
        letter = self._words.get(name, "")  # an abbreviated name is not known here
        kind = self._kinds.get(letter) if letter and (not assigned or self._kinds[letter]) else None
        self._put(letter, kind, value if assigned or kind != "=" else next(self._rest, None))

    def _put(self, letter: str, kind: str | None, value: str | None) -> None:
        if kind is None or value is None:
            raise NotSimulated
        self.values[letter] = value
        self.all.append((letter, value))

    def __contains__(self, letter: str) -> bool:
        return letter in self.values

    def last_of(self, letters: str) -> str:
        """Return the letter that was given last of several that exclude each other, or ""."""
        return next((letter for letter, _ in reversed(self.all) if letter in letters), "")


_MISSING = "No such file or directory"
_DIRECTORY = "Is a directory"
_REASONS = {
    "head": ("cannot open '{path}' for reading: {reason}", "error reading '{path}': {reason}"),
    "tail": ("cannot open '{path}' for reading: {reason}", "error reading '{path}': {reason}"),
    "sort": ("cannot read: {path}: {reason}", "read failed: {path}: {reason}"),
}
"""The messages of programs with their own words, about a missing file and about a directory."""


def inputs(call: Call, paths: list[str], *, quiet: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each operand that can be read with its text, standard input for ``-`` and without operands.

    After any other one the status of the call is 1, which is reported unless ``quiet``.
    """
    for path in paths or ["-"]:
        text = read_input(call, path, quiet=quiet)
        if text is None:
            call.status = 1
        else:
            yield path, text


def read_input(call: Call, path: str, *, quiet: bool = False) -> str | None:
    """Return the text of an operand; None if it cannot be read, which is reported unless ``quiet``."""
    text = call.stdin.read() if path in ("-", "/dev/stdin") else call.process.read(path)
    if text is None and not quiet:
        is_directory = call.process.files.is_dir(call.process.key(path))
        form = _REASONS.get(call.name, ("{path}: {reason}",) * 2)[is_directory]
        call.fail(f"{call.name}: {form.format(path=path, reason=_DIRECTORY if is_directory else _MISSING)}")
    call.process.run.step(len(text or "") >> 6)
    return text


def all_text(call: Call, paths: list[str]) -> str:
    """Return the text of all operands that can be read together."""
    return "".join(text for _, text in inputs(call, paths))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their ends; a last one may have none."""
    return text.removesuffix("\n").split("\n") if text else []


def with_ends(text: str) -> list[str]:
    """Return the lines of a text with their ends, which are line feeds only."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
