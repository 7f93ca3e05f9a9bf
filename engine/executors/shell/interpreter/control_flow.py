"""The control flow of scripts: lists, pipelines and compound commands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from engine.executors.shell.interpreter.redirection import Redirector
from engine.executors.shell.language import patterns
from engine.executors.shell.language.syntax import (
    AndOr,
    Case,
    Command,
    For,
    Group,
    If,
    Loop,
    Pipeline,
    Script,
)
from engine.executors.shell.programs.call import LoopExit, ScriptExit, ShellProcess
from engine.executors.shell.programs.streams import InputStream, Job, Stream

if TYPE_CHECKING:
    from collections.abc import Callable


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
        """Run what stands before ``&`` in a subshell; its sleeping goes on beside what follows."""
        run = self.process.run
        begin_ms = run.clock_ms
        status = self.subshell((AndOr(chain.parts),), {**self.process.streams, 0: InputStream()})
        run.jobs.append(Job(run.clock_ms, status))
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
        status = self.run_command(commands[0]) if len(commands) == 1 else self._run_parts(commands)
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
            status = self.subshell((chain,), {**process.streams, 0: stdin, 1: out})
            latest_ms = max(latest_ms, process.run.clock_ms)
            failed = status or failed
            stdin = InputStream(out.text) if isinstance(out, Stream) else InputStream()
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
