"""Redirections of the small shell: the files and streams of a command."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING

from engine.executors.shell.interpreter.expansion import Expander
from engine.executors.shell.programs.streams import FileStream, InputStream, NullStream, Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.executors.shell.language.syntax import Redirect

_NULL_DEVICES = frozenset({"/dev/null", "nul", "nul:"})


class RedirectFailed(Exception):
    """A redirection to or from a file that cannot be opened."""


class Redirector(Expander, ABC):
    """The redirections of one shell process."""

    def redirected(self, redirects: tuple[Redirect, ...], action: Callable[[], int]) -> int:
        """Open the files of the redirections, do the action, and bring its output to them."""
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
            return InputStream(text, regular=True)
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
        """Report a redirection that fails where standard error has been redirected to before it."""
        process = self.process
        err = streams[2]
        if isinstance(err, Stream):
            windows = process.root.is_windows
            err.append("The system cannot find the path specified.\n" if windows else f"{process.place}{text}\n")
            err.flush()
        return RedirectFailed()

    def redirect_status(self) -> int:
        """Return the status of a command whose files cannot be opened."""
        return 1 if self.process.root.is_windows or self.process.bash else 2
