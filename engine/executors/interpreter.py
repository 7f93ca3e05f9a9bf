"""The interpreter of scripts: control flow, redirections and functions around the commands (TASK-22).

A run is bounded in steps, output and depth, so that no script takes long (``streams``). The parts of a pipeline run one
after the other, and so does what runs in the background; only its sleeping counts as simultaneous.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.executors import patterns
from engine.executors.commands import Call, FunctionReturn, LoopExit, NotSimulated, ScriptExit, ShellProcess
from engine.executors.expansion import Expander
from engine.executors.files import AccessDenied
from engine.executors.programs import SPECIAL, SimulatedOutput, base_name, builtin_of
from engine.executors.sh_grammar import ScriptText, read_script
from engine.executors.streams import BoundReached, FileStream, Input, NullStream, Stream
from engine.executors.syntax import (
    AndOr,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Loop,
    Piece,
    Pipeline,
    Quoting,
    Redirect,
    Script,
    Shell,
    ShellCommand,
    Word,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_NULL_DEVICES = frozenset({"/dev/null", "nul", "nul:"})


_DECLARING = frozenset({"export", "local", "readonly"})  # their assignments are not split
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z_0-9]*=", re.ASCII)


class _RedirectFailed(Exception):
    """A redirection to or from a file that cannot be opened."""


def _is_assignment(word: Word) -> bool:
    first = word.parts[0]
    return isinstance(first, Piece) and first.quoting is Quoting.BARE and _ASSIGNMENT.match(first.text) is not None


class Interpreter(Expander):
    """The run of scripts in one shell process."""

    def __init__(self, process: ShellProcess, shell: Shell, simulated: SimulatedOutput) -> None:
        super().__init__(process)
        self.shell = shell
        self.simulated = simulated
        self.tested = 0  # levels of conditions, in which a failure does not end the script (set -e)
        process.runner = self

    # -- entry points ------------------------------------------------------------------------------------------------

    def run_all(self, text: ScriptText) -> int:
        """Run a whole script and the trap of its end; return its status."""
        process = self.process
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
        return status

    def run_text(self, text: str) -> int:
        """Run a script in this shell and return its status."""
        run = self.process.run
        run.step(len(text) >> 4)
        run.enter()
        found = read_script(text, bash=self.process.bash, depth=run.level)
        try:
            if found.not_readable is not None:
                return self._unknown()
            self.process.status = 0
            self.run_script(found.script)
            if found.error is not None:
                self.complain(found.error, line=False)
                raise ScriptExit(2)
            return self.process.status
        finally:
            run.level -= 1

    def run_words(self, words: list[str], rest: str = "", *, functions: bool = True) -> int:
        """Run a command with these words and return its status."""
        process = self.process
        name = words[0]
        if functions and name in process.functions:
            return self._call_function(name, words[1:])
        builtin = builtin_of(self.shell, process.root.os, name)
        if builtin is None:
            return self._unknown()
        streams = process.streams
        stdin, out, err = streams[0], streams[1], streams[2]
        assert isinstance(stdin, Input)
        assert isinstance(out, Stream)
        assert isinstance(err, Stream)
        try:
            status = builtin(Call(process, base_name(name), words[1:], rest, stdin, out, err))
        except NotSimulated:
            status = self._unknown()
        out.flush()
        err.flush()
        return status

    def run_child(self, text: str, name: str, arguments: list[str], *, bash: bool, options: set[str]) -> int:
        """Run a script in a new shell, which sees exported variables only, and return its status."""
        process = self.process.subshell()
        process.env = {key: value for key, value in process.env.items() if key in process.exported}
        process.functions, process.active = {}, ()
        process.name, process.arguments, process.bash, process.options = name, arguments, bash, options
        process.plain_echo = not bash
        process.run.enter()
        status = Interpreter(process, Shell.SH, self.simulated).run_all(
            read_script(text, bash=bash, depth=process.run.level)
        )
        process.run.level -= 1
        return status

    def is_known(self, name: str) -> str:
        """Return ``function`` or ``builtin``, or "" for another program."""
        if name in self.process.functions:
            return "function"
        return "builtin" if builtin_of(self.shell, self.process.root.os, name) else ""

    def substitute(self, script: Script) -> str:
        """Run the script in a subshell and return its output without the last ends of lines."""
        out = Stream(self.process.run)
        self.substituted = self._subshell(script, {**self.process.streams, 1: out})
        return out.text.rstrip("\n")

    def complain(self, text: str, *, line: bool = True) -> None:
        """Write a message of the shell to standard error."""
        err = self.process.streams[2]
        assert isinstance(err, Stream)
        err.append(f"sh: {'1: ' if line else ''}{text}\n")
        err.flush()

    # -- lists -------------------------------------------------------------------------------------------------------

    def run_script(self, script: Script) -> None:
        """Run the lists of a script."""
        for chain in script:
            if chain.background:
                self._run_aside(chain)
            else:
                self._run_chain(chain)

    def _run_aside(self, chain: AndOr) -> None:
        """Run what stands before ``&`` in a subshell; its sleeping goes on beside what follows."""
        run = self.process.run
        begin_ms = run.clock_ms
        run.background = True
        self._subshell((AndOr(chain.parts),), {**self.process.streams, 0: Input()})
        run.ends_ms = max(run.ends_ms, run.clock_ms)
        run.clock_ms = begin_ms
        self.process.status = 0

    def _run_chain(self, chain: AndOr) -> None:
        process, last = self.process, len(chain.parts) - 1
        for index, (operator, pipeline) in enumerate(chain.parts):
            if index and (process.status == 0) is (operator == "||"):
                continue
            if index < last or pipeline.negated:
                self.tested += 1
                process.status = self._run_pipeline(pipeline)
                self.tested -= 1
                continue
            process.status = self._run_pipeline(pipeline)
            if process.status and not self.tested and "errexit" in process.options:
                raise ScriptExit(process.status)

    def _run_pipeline(self, pipeline: Pipeline) -> int:
        commands = pipeline.commands
        status = self._run_command(commands[0]) if len(commands) == 1 else self._run_parts(commands)
        return int(not status) if pipeline.negated else status

    def _run_parts(self, commands: tuple[Command, ...]) -> int:
        """Run the commands of a pipeline, each in a subshell on the output of the one before."""
        process = self.process
        stdin = process.streams[0]
        begin_ms = latest_ms = process.run.clock_ms
        failed = 0
        for index, command in enumerate(commands):
            out = process.streams[1] if index == len(commands) - 1 else Stream(process.run)
            chain = AndOr((("&&", Pipeline((command,))),))
            process.run.clock_ms = begin_ms
            status = self._subshell((chain,), {**process.streams, 0: stdin, 1: out})
            latest_ms = max(latest_ms, process.run.clock_ms)
            failed = status or failed
            stdin = Input(out.text) if isinstance(out, Stream) else Input()
        process.run.clock_ms = latest_ms
        return failed if "pipefail" in process.options else status

    def _subshell(self, script: Script, streams: dict[int, Stream | Input]) -> int:
        process = self.process.subshell()
        process.streams = streams
        process.run.enter()
        inner = Interpreter(process, self.shell, self.simulated)
        inner.tested = self.tested
        status = inner.run_all(ScriptText(script))
        process.run.level -= 1
        return status

    # -- commands ----------------------------------------------------------------------------------------------------

    def _run_command(self, command: Command) -> int:
        """Run a command; it fails if it writes where its user may not (FILE-12)."""
        self.process.run.step()
        if isinstance(command, ShellCommand):
            try:
                return self._run_simple(command)
            except AccessDenied as denied:
                return self._denied(denied)
        if isinstance(command, Function):
            self.process.functions[command.name] = command.body
            return 0
        run = self.process.run
        run.enter()
        try:
            if command.redirects:
                return self._redirected(command.redirects, lambda: self._run_compound(command))
            return self._run_compound(command)
        except AccessDenied as denied:
            return self._denied(denied)
        except _RedirectFailed:
            return self._redirect_status()
        finally:
            run.level -= 1

    def _denied(self, denied: AccessDenied) -> int:
        root = self.process.root
        path = root.native(denied.key)
        err = self.process.streams[2]
        assert isinstance(err, Stream)
        err.append("Access is denied.\n" if root.is_windows else f"{path}: Permission denied\n")
        return 1

    def _run_simple(self, command: ShellCommand) -> int:
        process = self.process
        self.substituted = None
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
            if command.assignments and words[0] not in SPECIAL:
                return self._with_assignments(command, words)
            for name, value in command.assignments:
                self.assign(name, self.text(value))
            return self._invoke(command, words)
        except _RedirectFailed:
            if words[0] in SPECIAL and self.shell is Shell.SH and not process.bash:
                raise ScriptExit(2) from None
            return self._redirect_status()

    def _invoke(self, command: ShellCommand, words: list[str]) -> int:
        if not command.redirects:
            return self.run_words(words, command.rest)
        if words[0] == "exec" and self.shell is Shell.SH and len(words) == 1:
            self.process.streams = self._opened(command.redirects)
            return 0
        return self._redirected(command.redirects, lambda: self.run_words(words, command.rest))

    def _without_words(self, command: ShellCommand) -> int:
        """Do assignments and redirections alone; the status is that of the last substitution."""

        def assign_all() -> int:
            for name, word in command.assignments:
                self.assign(name, self.text(word))
            return self.substituted or 0

        if not command.redirects:
            return assign_all()
        try:
            return self._redirected(command.redirects, assign_all)
        except _RedirectFailed:
            return self._redirect_status()

    def _with_assignments(self, command: ShellCommand, words: list[str]) -> int:
        """Run a command with variables that only it sees."""
        process = self.process
        before = process.env.copy()
        exported = process.exported.copy()
        for name, value in command.assignments:
            self.assign(name, self.text(value))
            process.exported.add(name)
        given = {name: process.env[name] for name, _ in command.assignments}
        try:
            return self._invoke(command, words)
        finally:
            for name, text in given.items():
                if process.env.get(name) == text:
                    if name in before:
                        process.env[name] = before[name]
                    else:
                        del process.env[name]
                    if name not in exported:
                        process.exported.discard(name)

    def _trace(self, command: ShellCommand, words: list[str]) -> None:
        err = self.process.streams[2]
        assert isinstance(err, Stream)
        given = [f"{name}={self.text(word)}" for name, word in command.assignments] if not words else []
        err.append("+ " + " ".join([*given, *words]) + "\n")

    def _unknown(self) -> int:
        """Behave as ``simulate:`` says (TASK-4)."""
        process = self.process
        process.run.after_unknown = True
        for handle, text in ((1, self.simulated.stdout), (2, self.simulated.stderr)):
            stream = process.streams[handle]
            assert isinstance(stream, Stream)
            stream.append(text)
            stream.flush()
        return self.simulated.exit_code or 0

    def _call_function(self, name: str, arguments: list[str]) -> int:
        process = self.process
        if name in process.active:
            raise BoundReached(f"{name}: a function that calls itself is not simulated")
        process.run.enter()
        before = process.arguments, process.active, process.loops
        process.arguments, process.active, process.loops = arguments, (*process.active, name), 0
        process.locals.append({})
        try:
            status = self._run_command(process.functions[name])
        except FunctionReturn as returned:
            status = returned.code
        finally:
            process.arguments, process.active, process.loops = before
            for variable, value in process.locals.pop().items():
                if value is None:
                    process.env.pop(variable, None)
                else:
                    process.env[variable] = value
            process.run.level -= 1
        return status

    # -- compound commands -------------------------------------------------------------------------------------------

    def _run_compound(self, command: Group | If | Loop | For | Case) -> int:
        process = self.process
        match command:
            case Group(subshell=True):
                return self._subshell(command.body, process.streams)
            case Group():
                self.run_script(command.body)
                return process.status
            case If():
                return self._run_if(command)
            case Loop():
                return self._run_loop(command)
            case For():
                return self._run_for(command)
        return self._run_case(command)

    def _holds(self, condition: Script) -> bool:
        self.tested += 1
        self.run_script(condition)
        self.tested -= 1
        return self.process.status == 0

    def _run_body(self, body: Script) -> int:
        if not body:
            return 0
        self.run_script(body)
        return self.process.status

    def _run_if(self, command: If) -> int:
        for condition, body in command.branches:
            if self._holds(condition):
                return self._run_body(body)
        return self._run_body(command.otherwise)

    def _run_loop(self, command: Loop) -> int:
        def one_round() -> int | None:
            if self._holds(command.condition) is command.ends_when:
                return None
            self.run_script(command.body)
            return self.process.status

        return self._rounds(one_round)

    def _run_for(self, command: For) -> int:
        process = self.process
        if command.words is None:
            values = iter(list(process.arguments))
        else:
            values = iter([field for word in command.words for field in self.fields(word)])

        def one_round() -> int | None:
            value = next(values, None)
            if value is None:
                return None
            self.assign(command.name, value)
            self.run_script(command.body)
            return process.status

        return self._rounds(one_round)

    def _rounds(self, one_round: Callable[[], int | None]) -> int:
        """Repeat until ``one_round`` returns None instead of a status; return the last status."""
        process = self.process
        tested, last = self.tested, 0
        process.loops += 1
        try:
            while True:
                process.run.step()
                try:
                    status = one_round()
                    if status is None:
                        return last
                    last = status
                except LoopExit as leaving:
                    self.tested = tested
                    last = 0
                    if leaving.levels > 1:
                        leaving.levels -= 1
                        raise
                    if not leaving.goes_on:
                        return 0
        finally:
            process.loops -= 1

    def _run_case(self, command: Case) -> int:
        text = self.text(command.word)
        for words, body in command.items:
            for word in words:
                pattern = self.pattern(word)
                self.process.run.step((len(text) * (len(pattern) + 1)) >> 8)
                if patterns.matches(pattern, text):
                    return self._run_body(body)
        return 0

    # -- redirections ------------------------------------------------------------------------------------------------

    def _redirected(self, redirects: tuple[Redirect, ...], action: Callable[[], int]) -> int:
        """Open the files of the redirections, do the action, and bring its output to them."""
        process = self.process
        before = process.streams
        process.streams = after = self._opened(redirects)
        try:
            return action()
        finally:
            process.streams = before
            for stream in after.values():
                if isinstance(stream, FileStream):
                    stream.flush()

    def _opened(self, redirects: tuple[Redirect, ...]) -> dict[int, Stream | Input]:
        process = self.process
        process.run.step(2)
        streams = process.streams.copy()
        for redirect in redirects:
            streams[redirect.handle] = self._stream(redirect, streams)
        for handle in (0, 1, 2):  # a stream of the wrong direction is as good as a closed one
            if isinstance(streams[handle], Input) is not (handle == 0):
                streams[handle] = NullStream(process.run) if handle else Input()
        return streams

    def _stream(self, redirect: Redirect, streams: dict[int, Stream | Input]) -> Stream | Input:
        process = self.process
        if redirect.same_as is not None:
            same = streams.get(redirect.same_as)
            if same is None and redirect.same_as >= 0:
                self.complain(f"{redirect.same_as}: Bad file descriptor")
                raise _RedirectFailed
            return same or (NullStream(process.run) if redirect.handle else Input())
        if redirect.here is not None:
            return Input(self.text(redirect.here.word))
        path = self.text(redirect.target)
        if path.lower() in _NULL_DEVICES:
            return Input() if redirect.reads else NullStream(process.run)
        if redirect.reads:
            text = process.read(path)
            if text is None:
                raise self._cannot_open(path)
            return Input(text, regular=True)
        if path in ("/dev/stdout", "/dev/stderr"):
            return streams[1 if path.endswith("out") else 2]
        key = process.key(path)
        if not path or process.files.is_dir(key) or not process.holds(key):
            raise self._cannot_open(path)
        if redirect.append:
            process.files.append(key, "")
        else:
            process.files.write(key, "")
        return FileStream(process.run, process.files, key)

    def _cannot_open(self, path: str) -> _RedirectFailed:
        if self.process.root.is_windows:
            err = self.process.streams[2]
            assert isinstance(err, Stream)
            err.append("The system cannot find the path specified.\n")
        else:
            self.complain(f"cannot open {path}: No such file")
        return _RedirectFailed()

    def _redirect_status(self) -> int:
        return 1 if self.process.root.is_windows or self.process.bash else 2
