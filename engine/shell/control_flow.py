"""The control flow of scripts: lists, pipelines and compound commands, and the redirections of a command."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from engine.shell import patterns
from engine.shell.call import LoopExit, ScriptExit, ShellProcess
from engine.shell.expansion import Expander
from engine.shell.files import FileStream, InputStream, Job, NullStream, Stream
from engine.shell.syntax import AndOr, Case, Command, For, Group, If, Loop, Script, only

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.shell.syntax import Redirect


_NULL_DEVICES = frozenset({"/dev/null", "nul", "nul:"})


class RedirectFailed(Exception):
    """A redirection to or from a file that cannot be opened."""


class Redirector(Expander, ABC):
    """The redirections of one shell process."""

    def redirected(self, redirects: tuple[Redirect, ...], action: Callable[[], int]) -> int:
        """Run the action with redirected streams, and flush its output to the files."""
        if not redirects:
            return action()
        process = self.process
        before = process.streams
        process.streams = after = self.opened(redirects)
        try:
            return action()
        finally:
            process.streams = before
            for stream in after.values():
                if isinstance(stream, FileStream):
                    stream.flush()

    def opened(self, redirects: tuple[Redirect, ...]) -> dict[int, Stream | InputStream]:
        """Return the streams of the process with these redirections."""
        process = self.process
        process.run.step(2)
        streams = process.streams.copy()
        for redirect in redirects:
            streams[redirect.handle] = self._stream(redirect, streams)
        for handle in (0, 1, 2):  # a stream of the wrong direction is as good as a closed one
            if isinstance(streams[handle], InputStream) is not (handle == 0):
                streams[handle] = NullStream(process.run) if handle else InputStream()
        return streams

    def _stream(self, redirect: Redirect, streams: dict[int, Stream | InputStream]) -> Stream | InputStream:
        process = self.process
        if redirect.same_as is not None:
            same = streams.get(redirect.same_as)
            if same is None and redirect.same_as >= 0:
                raise self._failed(f"{redirect.same_as}: Bad file descriptor", streams)
            return same or (NullStream(process.run) if redirect.handle else InputStream())
        if redirect.here is not None:
            return InputStream(self.text(redirect.here.word))
        path = self.text(redirect.target)
        if path.lower() in _NULL_DEVICES:
            return InputStream() if redirect.reads else NullStream(process.run)
        if redirect.reads:
            text = process.read(path)
            if text is None:
                raise self._failed(f"cannot open {path}: No such file", streams)
            return InputStream(text, regular=True, vague=process.key(path) in process.run.vague_files)
        if path in ("/dev/stdout", "/dev/stderr"):
            return streams[1 if path.endswith("out") else 2]
        key = process.key(path)
        if process.files.is_dir(key):
            raise self._failed(f"cannot create {path}: Is a directory", streams)
        if not path or not process.holds(key):
            raise self._failed(f"cannot create {path}: Directory nonexistent", streams)
        if redirect.append:
            process.files.append(key, "")
        else:
            process.files.write(key, "")
        return FileStream(process.run, process.files, key, appends=redirect.append)

    def _failed(self, text: str, streams: dict[int, Stream | InputStream]) -> RedirectFailed:
        """Report a failed redirection on standard error, as redirected so far."""
        process = self.process
        err = streams[2]
        if isinstance(err, Stream):
            windows = process.root.is_windows
            err.append("The system cannot find the path specified.\n" if windows else f"{process.place}{text}\n")
            err.flush()
        return RedirectFailed()


class ControlFlow(Redirector, ABC):
    """The control flow in one shell process."""

    def __init__(self, process: ShellProcess) -> None:
        super().__init__(process)
        self.tested = 0  # levels of conditions, in which a failure does not end the script (set -e)

    @abstractmethod
    def run_command(self, command: Command) -> int:
        """Run a command and return its status."""

    @abstractmethod
    def subshell(self, script: Script, streams: dict[int, Stream | InputStream]) -> int:
        """Run a script in a subshell with these streams and return its status."""

    # -- lists -------------------------------------------------------------------------------------------------------

    def run_script(self, script: Script) -> None:
        """Run the lists of a script."""
        for chain in script:
            if "noexec" in self.process.options:
                return
            if chain.background:
                self._run_aside(chain)
            else:
                self._run_chain(chain)

    def _run_aside(self, chain: AndOr) -> None:
        """Run the list before ``&`` in a subshell; its sleeps do not delay what follows."""
        run = self.process.run
        begin_ms, deadline_ms, run.deadline_ms = run.clock_ms, run.deadline_ms, None
        status = self.subshell((AndOr(chain.parts),), {**self.process.streams, 0: InputStream()})
        run.jobs.append(Job(run.clock_ms, status))
        run.clock_ms, run.deadline_ms = begin_ms, deadline_ms
        self.process.status = 0

    def _run_chain(self, chain: AndOr) -> None:
        process, last = self.process, len(chain.parts) - 1
        for index, (operator, pipeline) in enumerate(chain.parts):
            if index and (process.status == 0) is (operator == "||"):
                continue
            is_tested = index < last or pipeline.negated
            self.tested += is_tested
            commands = pipeline.commands
            status = self.run_command(commands[0]) if len(commands) == 1 else self._run_parts(commands)
            process.status = int(not status) if pipeline.negated else status
            self.tested -= is_tested
            if process.status and not is_tested and not self.tested and "errexit" in process.options:
                raise ScriptExit(process.status)

    def _run_parts(self, commands: tuple[Command, ...]) -> int:
        """Run the commands of a pipeline, each in a subshell on the output of the one before."""
        process = self.process
        stdin = process.streams[0]
        begin_ms = latest_ms = process.run.clock_ms
        failed = 0
        for index, command in enumerate(commands):
            out = process.streams[1] if index == len(commands) - 1 else Stream(process.run)
            process.run.clock_ms, before = begin_ms, process.run.vague_texts
            status = self.subshell(only(command), {**process.streams, 0: stdin, 1: out})
            latest_ms = max(latest_ms, process.run.clock_ms)
            failed = status or failed
            vague = process.run.vague_texts > before
            stdin = InputStream(out.text, vague=vague) if isinstance(out, Stream) else InputStream()
        process.run.clock_ms = latest_ms
        return failed if "pipefail" in process.options else status

    # -- compound commands -------------------------------------------------------------------------------------------

    def run_compound(self, command: Group | If | Loop | For | Case) -> int:
        """Run a compound command and return its status."""
        process = self.process
        match command:
            case Group(subshell=True):
                return self.subshell(command.body, process.streams)
            case Group():
                self.run_script(command.body)
                return process.status
            case If():
                return self._run_if(command)
            case Loop():
                return self._rounds(lambda: self._holds(command.condition) is not command.ends_when, command.body)
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

    def _run_for(self, command: For) -> int:
        if command.words is None:
            values = iter(list(self.process.arguments))
        else:
            values = iter([field for word in command.words for field in self.fields(word)])

        def assigns_next() -> bool:
            value = next(values, None)
            if value is not None:
                self.assign(command.name, value)
            return value is not None

        return self._rounds(assigns_next, command.body)

    def _rounds(self, goes_on: Callable[[], bool], body: Script) -> int:
        """Repeat the body while ``goes_on()`` is true; return the last status."""
        process = self.process
        tested, last = self.tested, 0
        process.loops += 1
        try:
            while True:
                process.run.step()
                try:
                    if not goes_on():
                        return last
                    self.run_script(body)
                    last = process.status
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
