"""The interpreter of scripts: reads them, and runs their simple commands, functions and subshells (TASK-22).

A script is read with the errors for a text that does not follow its grammar; ``grammar`` is imported only for scripts
of more than one command. The commands that the small shell knows are listed by shell and name. Lists, pipelines and
compound commands run in ``control_flow``.

A run is bounded in steps, output and depth, so that no script takes long (``files``). The parts of a pipeline run one
after the other, and so does what runs in the background; only its sleeping counts as simultaneous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.paths import is_managed
from engine.base.terms import OsFamily
from engine.base.values import lazy_regex
from engine.shell import (  # noqa: F401  (the commands that they add to the tables)
    builtins,
    date,
    file_commands,
    print_commands,
    test_and_expr,
    text_commands,
)
from engine.shell.call import (
    CMD_COMMANDS,
    PROGRAMS,
    SHELL_BUILTINS,
    Builtin,
    Call,
    FunctionReturn,
    LoopExit,
    NotSimulated,
    ScriptExit,
    ShellProcess,
    WrongUsage,
)
from engine.shell.control_flow import ControlFlow, RedirectFailed
from engine.shell.files import BoundReached, FileStream, InputStream, Stream, WriteFailed
from engine.shell.lexer import ASSIGNMENT, Lexer
from engine.shell.syntax import (
    NO_PROGRAM_ON_LINUX,
    SHELL_OPTIONS,
    Command,
    Function,
    Piece,
    Script,
    Shell,
    ShellCommand,
    Word,
    is_missing,
    only,
)
from engine.shell.words import NESTING_LIMIT, NestedTooDeep, NotReadable, ShellSyntaxError

if TYPE_CHECKING:
    from engine.shell.lexer import Token


class ScriptText(NamedTuple):
    """A script as it was read.

    ``error`` is a syntax error, before which the lines in ``script`` run, as a shell reads line by line;
    ``not_readable`` is a construct that the small shell does not know, with its place. A script that is ``too_deep``
    exceeds a bound of the small shell (TASK-23).
    """

    script: Script
    error: str | None = None
    not_readable: str | None = None
    too_deep: bool = False


def read_script(text: str, *, bash: bool = False, depth: int = 0) -> ScriptText:
    """Read a script; never raise."""
    lexer = Lexer(text, _build, depth=depth, bash=bash)
    tokens = lexer.tokens
    try:
        lexer.read()
        return ScriptText(_build(tokens))
    except NotReadable as found:
        return ScriptText((), not_readable=f"{_place(text, found.at)}: {found.reason}")
    except NestedTooDeep:
        return ScriptText((), too_deep=True)
    except ShellSyntaxError as error:
        count = next((index for index, token in enumerate(tokens) if token.at >= error.at), len(tokens))
        whole = max((number for number in lexer.lines if number <= count), default=0)
        return ScriptText(_up_to(tokens[:whole]), f"{_line(text, error.at)}: Syntax error: {error.reason}")


def _up_to(tokens: list[Token]) -> Script:
    try:
        return _build(tokens)
    except ShellSyntaxError:  # an earlier line is wrong as well
        return ()


def _build(tokens: list[Token]) -> Script:
    if len(tokens) == 1 and tokens[0].kind == "COMMAND":  # most scripts, which need no grammar
        return only(tokens[0].value)
    from engine.shell.grammar import parse

    return parse(tokens)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _place(text: str, at: int) -> str:
    return f"line {_line(text, at)}, column {at - (text.rfind(chr(10), 0, at) + 1) + 1}"


# fmt: off
SPECIAL = frozenset({
    ".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift", "times",
    "trap", "unset",
})
# fmt: on
"""The special commands of POSIX: a failed redirection of one ends the script, and assignments before it stay."""


class SimulatedOutput(NamedTuple):
    """The ``simulate:`` values of a command line; an exit code of None leaves it to the shell.

    With ``has_more`` the scenario also says something else about how the line behaves.
    """

    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    has_more: bool = False


def base_name(name: str) -> str:
    """Return the command of ``/bin/echo`` and ``timeout.exe``."""
    return name.removeprefix("/bin/").removeprefix("/usr/bin/").removesuffix(".exe")


def builtin_of(shell: Shell, os: OsFamily, name: str) -> Builtin | None:
    """Return the command of this name, or None for a program that the small shell does not know."""
    if shell is Shell.SH:
        return SHELL_BUILTINS.get(name) or PROGRAMS.get(name) or PROGRAMS.get(base_name(name))
    if shell is Shell.CMD:
        return CMD_COMMANDS.get(base_name(name.lower()))
    if os is not OsFamily.LINUX:
        return CMD_COMMANDS["timeout"] if base_name(name.lower()) == "timeout" else None
    return PROGRAMS.get(base_name(name))


_NOT_ASSUMED = frozenset({"-z", "!=", "-ne", "-lt", "-le"})
_COMPARING = _NOT_ASSUMED | {"-n", "=", "==", "-eq", "-gt", "-ge", "-s"}


def assumed_status(words: list[str], status: int) -> int:
    """Return the status of a command that looks at a text of an unknown program (TASK-27).

    A search is assumed to find something, and a text to be as a test compares it: not empty, not zero, equal, large.
    """
    name, *rest = words
    if base_name(name) in ("grep", "egrep", "fgrep") and status == 1:
        return 0
    if name not in ("test", "[") or not set(rest) & _COMPARING:
        return status
    with_zero = "0" in rest and bool({"-eq", "-ne"} & set(rest))
    return int(bool(set(rest) & _NOT_ASSUMED) ^ (rest[0] == "!") ^ with_zero)


_DECLARING = frozenset({"export", "local", "readonly"})  # their assignments are not split
_FIRST_LINE = lazy_regex(
    r"#![ \t]*/(?:usr/)?bin/(?:env[ \t]+)?(?P<bash>ba|da)?sh(?:[ \t]+-(?P<options>[a-z]+))?[ \t]*\n"
)


def _is_assignment(word: Word) -> bool:
    first = word.parts[0]
    return isinstance(first, Piece) and not first.quoted and ASSIGNMENT.match(first.text) is not None


class Interpreter(ControlFlow):
    """The run of scripts in one shell process."""

    def __init__(self, process: ShellProcess, shell: Shell, simulated: SimulatedOutput) -> None:
        super().__init__(process)
        self.shell = shell
        self.simulated = simulated
        process.runner = self

    # -- entry points ------------------------------------------------------------------------------------------------

    def run_all(self, text: ScriptText) -> int:
        """Run a whole script and the trap of its end; return its status."""
        process = self.process
        self._check_depth(text)
        try:
            self.run_script(text.script)
            status = process.status
            if text.error is not None:
                self.complain(text.error, line=False)
                status = 2
            elif text.not_readable is not None:
                status = self._unknown()
        except ScriptExit as stop:
            status = stop.code
        except LoopExit:
            status = process.status
        if action := process.traps.pop("EXIT", ""):
            process.status = status
            try:
                self.run_text(action)
            except ScriptExit as stop:
                status = stop.code
        return status & 0xFF if self.shell is Shell.SH else status

    def _check_depth(self, text: ScriptText) -> None:
        if text.too_deep:
            raise BoundReached(f"stopped at more than {NESTING_LIMIT} levels of a script inside each other")

    def run_text(self, text: str, caller: str = "") -> int:
        """Run a script in this shell and return its status; a syntax error names the caller."""
        run = self.process.run
        run.step(len(text) >> 4)
        with run:
            found = read_script(text, bash=self.process.bash, depth=run.level)
            self._check_depth(found)
            if found.not_readable is not None:
                return self._unknown()
            if not found.script:
                self.process.status = 0
            self.run_script(found.script)
            if found.error is not None:
                line, _, mistake = found.error.partition(": ")
                self.complain(f"{line}: {caller}{mistake}", line=False)
                raise ScriptExit(2)
            return self.process.status

    def run_words(self, words: list[str], rest: str = "", *, functions: bool = True) -> int:
        """Run a command with these words and return its status."""
        process = self.process
        name = words[0]
        if functions and name in process.functions:
            return self._call_function(name, words[1:])
        return self._run_found(builtin_of(self.shell, process.root.os, name), words, rest)

    def run_program(self, caller: str, words: list[str]) -> int:
        """Run a program with these words, no command of the shell, for ``caller`` and return its status (TASK-26)."""
        name = words[0]
        if name in NO_PROGRAM_ON_LINUX:
            return self._not_found(f"{caller}: failed to run command '{name}'", 1 if caller == "sudo" else 127)
        return self._run_found(PROGRAMS.get(base_name(name)), words)

    def _not_found(self, text: str, status: int = 127) -> int:
        windows = self.process.root.is_windows
        reason = " is not recognized as an internal or external command" if windows else ": No such file or directory"
        self.process.writer(2).append(f"{text}{reason}\n")
        return status

    def _run_found(self, builtin: Builtin | None, words: list[str], rest: str = "") -> int:
        """Run a command that is known, or a program; return its status."""
        process, name = self.process, words[0]
        if builtin is None:
            return self._run_program(name, words[1:])
        stdin, out, err = process.streams[0], process.writer(1), process.writer(2)
        assert isinstance(stdin, InputStream)
        call, before = Call(process, base_name(name), words[1:], rest, stdin, out, err), process.run.vague_texts
        try:
            status = builtin(call)
            if self.is_vague or stdin.vague or process.run.vague_texts > before:
                status = assumed_status(words, status)
        except NotSimulated:
            status = self._unknown()
        except WrongUsage as mistake:
            status = call.misuse(str(mistake), mistake.code)
        out.flush()
        err.flush()
        return status

    def run_child(self, text: str, name: str, arguments: list[str], *, bash: bool, options: set[str]) -> int:
        """Run a script in a new shell, which sees exported variables only, and return its status."""
        process = self.process.subshell()
        process.env = self.process.exported_variables()
        process.functions, process.active = {}, ()
        process.name, process.arguments, process.bash, process.options = name, arguments, bash, options
        process.plain_echo = not bash
        with process.run:
            return Interpreter(process, Shell.SH, self.simulated).run_all(
                read_script(text, bash=bash, depth=process.run.level)
            )

    def substitute(self, script: Script) -> str:
        """Run the script in a subshell and return its output without the last ends of lines."""
        run = self.process.run
        out, before = Stream(run), run.vague_texts
        self.substituted = self.subshell(script, {**self.process.streams, 1: out})
        self.is_vague |= run.vague_texts > before
        return out.text.rstrip("\n")

    def complain(self, text: str, *, line: bool = True) -> None:
        """Write a message of the shell to standard error."""
        err = self.process.writer(2)
        err.append(f"{self.process.place if line else f'{self.process.name}: '}{text}\n")
        err.flush()

    def subshell(self, script: Script, streams: dict[int, Stream | InputStream]) -> int:
        """Run a script in a subshell with these streams and return its status."""
        process = self.process.subshell()
        process.streams = streams
        inner = Interpreter(process, self.shell, self.simulated)
        inner.tested = self.tested
        with process.run:
            return inner.run_all(ScriptText(script))

    # -- commands ----------------------------------------------------------------------------------------------------

    def run_command(self, command: Command) -> int:
        """Run a command; it fails if it writes where its user may not, or finds no room (FILE-12, VM-4)."""
        self.process.run.step()
        try:
            if isinstance(command, ShellCommand):
                return self._run_simple(command)
            if isinstance(command, Function):
                self.process.functions[command.name] = command.body
                return 0
            with self.process.run:
                return self.redirected(command.redirects, lambda: self.run_compound(command))
        except RedirectFailed:
            return 1 if self.process.root.is_windows or self.process.bash else 2
        except WriteFailed as failed:
            return self._cannot_write(failed)
        except NotSimulated:  # a redirection from a file that only a real node has
            return self._unknown()

    def _cannot_write(self, failed: WriteFailed) -> int:
        root = self.process.root
        text = failed.on_windows if root.is_windows else f"{root.native(failed.key)}: {failed.on_linux}"
        self.process.writer(2).append(f"{text}\n")
        return 1

    def _run_simple(self, command: ShellCommand) -> int:
        process = self.process
        process.line = command.line
        self.substituted, self.is_vague = None, False
        words: list[str] = []
        for word in command.words:
            if word.constant is not None:
                words.append(word.constant)
            elif words and words[0] in _DECLARING and _is_assignment(word):
                words.append(self.text(word))
            else:
                words += self.fields(word)
        if "xtrace" in process.options:
            self._trace(command, words)
        if not words:
            return self._without_words(command)
        try:
            if command.assignments and (process.bash or words[0] not in SPECIAL):
                return self._with_assignments(command, words)
            for name, value in command.assignments:
                self.assign(name, self.text(value))
            return self._invoke(command, words)
        except RedirectFailed:
            if words[0] in SPECIAL and self.shell is Shell.SH and not process.bash:
                raise ScriptExit(2) from None
            raise

    def _invoke(self, command: ShellCommand, words: list[str]) -> int:
        if words == ["exec"] and command.redirects and self.shell is Shell.SH:
            self.process.streams = self.opened(command.redirects)
            return 0
        return self.redirected(command.redirects, lambda: self.run_words(words, command.rest))

    def _without_words(self, command: ShellCommand) -> int:
        """Do assignments and redirections alone; the status is that of the last substitution."""

        def assign_all() -> int:
            for name, word in command.assignments:
                self.is_vague = False
                self.assign(name, self.text(word))
            return self.substituted or 0

        return self.redirected(command.redirects, assign_all)

    def _with_assignments(self, command: ShellCommand, words: list[str]) -> int:
        """Run a command with variables that only it sees."""
        process = self.process
        before = {name: (process.env.get(name), name in process.exported) for name, _ in command.assignments}
        for name, value in command.assignments:
            self.assign(name, self.text(value))
            process.exported.add(name)
        try:
            return self._invoke(command, words)
        finally:
            for name, (text, was_exported) in before.items():
                process.set_or_unset(name, text)
                if not was_exported:
                    process.exported.discard(name)

    def _trace(self, command: ShellCommand, words: list[str]) -> None:
        given = [f"{name}={self.text(word)}" for name, word in command.assignments] if not words else []
        self.process.writer(2).append("+ " + " ".join([*given, *words]) + "\n")

    def _run_program(self, name: str, arguments: list[str]) -> int:
        """Run a script that is a file on the node, named by its path; any other program is unknown (TASK-4, NODE-1)."""
        process = self.process
        if is_missing(name, process.root.os, outside_shell=self.shell is Shell.NONE):
            quoted = f"'{name}'" if process.root.is_windows else f"{process.place}{name}"
            return self._not_found(quoted, 1 if process.root.is_windows else 127)
        text = None if process.root.is_windows else self._script(name)
        first = _FIRST_LINE.match(text or "")
        if text and first is None and self.shell is Shell.SH and not text.startswith(("#!", "\x7f")):
            return self.run_child(text, name, arguments, bash=process.bash, options=set())
        if text is None or first is None:
            return self._unknown()
        options = {SHELL_OPTIONS[letter] for letter in first["options"] or "" if letter in SHELL_OPTIONS}
        return self.run_child(text, name, arguments, bash=first["bash"] == "ba", options=options)

    def _script(self, name: str) -> str | None:
        """Return the text of the script of this name, which has a path or is found in the directories of PATH."""
        process = self.process
        if "/" in name:
            return process.files.read(process.key(name))
        if not name.endswith(".sh"):
            return None
        keys = (process.key(f"{directory}/{name}") for directory in process.env.get("PATH", "").split(":"))
        texts = (process.files.read(key) for key in keys if is_managed(key))
        return next((text for text in texts if text is not None), None)

    def _unknown(self) -> int:
        """Behave as ``simulate:`` says (TASK-4)."""
        process = self.process
        process.run.after_unknown = True
        for handle, text in ((1, self.simulated.stdout), (2, self.simulated.stderr)):
            process.writer(handle).append(text)
            process.writer(handle).flush()
        if not self.simulated.stdout:
            process.run.vague_texts += 1
            if isinstance(out := process.writer(1), FileStream):
                process.run.vague_files.add(out.key)
        return self.simulated.exit_code or 0

    def _call_function(self, name: str, arguments: list[str]) -> int:
        process = self.process
        if name in process.active:
            raise BoundReached(f"{name}: a function that calls itself is not simulated")
        before = process.arguments, process.active, process.loops
        process.arguments, process.active, process.loops = arguments, (*process.active, name), 0
        process.locals.append({})
        try:
            with process.run:
                return self.run_command(process.functions[name])
        except FunctionReturn as returned:
            return returned.code
        finally:
            process.arguments, process.active, process.loops = before
            for variable, value in process.locals.pop().items():
                process.set_or_unset(variable, value)
