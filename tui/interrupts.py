"""The signals that end the program: SIGINT, SIGTERM and SIGHUP, and the terminal until the dashboard is there.

The status is 128 plus the number of the first signal.

The command line handles them from its first line on. While nothing is open, the process ends at once, also in the
middle of an import. Within ``unwinding`` KeyboardInterrupt is raised instead, so that files are discarded, workers end
and the terminal is restored. Within ``held`` a signal waits for the end of the block. Later signals are ignored, unless
the first has not ended the process after three seconds. A signal that is ignored, as ``nohup`` has it, stays so.

This module imports only what Python has loaded already: a signal that comes before ``install`` ends the process without
a message. The module ``signal`` would take longer to import than Python takes to start.

Opening a dashboard takes a while: a line says so, and what is typed meanwhile is not shown but waits for the dashboard.
"""

import atexit
import os
import sys
from _thread import get_ident
from stat import S_ISCHR
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from types import FrameType
else:
    import _signal

STATUS = 128
_HANG_UP: int | None = getattr(_signal, "SIGHUP", None)  # the terminal was closed; not on Windows
_PATIENCE_S = 3.0
_AGAIN_S = 0.02


class _State:
    number = 0  # of the first signal
    since_s = 0.0
    is_waiting = False  # the first signal has had no effect yet
    thread = get_ident()  # in which Python handles signals
    status: int | None = None  # with which the process is about to end
    opening = ""  # the line on the terminal
    attributes: "list[int | list[bytes | int]] | None" = None  # of the terminal, before keys were no longer shown


_state = _State()


class _Block:
    """A block that changes the effect of signals in the main thread. It may be nested."""

    depth = 0

    def __enter__(self) -> None:
        if get_ident() == _state.thread:
            self.depth += 1

    def __exit__(self, *_: object) -> None:
        if get_ident() == _state.thread:
            self.depth -= 1
            act()


class _Suppressed:
    """Ignores that a stream or terminal is not there, closed or full. What a terminal raises has no common base."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: "type[BaseException] | None", *_: object) -> bool:
        return kind is not None and issubclass(kind, Exception)


unwinding = _Block()
held = _Block()


def install() -> None:
    """Handle the signals from now on, and end the process without delay after ``finish``."""
    atexit.register(_exit)  # before any other module does so: it is called last
    for number in (_signal.SIGINT, _signal.SIGTERM, _HANG_UP):
        if number is not None and _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _on_signal)
    sys.unraisablehook = _on_unraisable


def note(number: int) -> bool:
    """Note a signal; return True if it is the first. End the process if the first was of no avail."""
    if not _state.number:
        _state.number, _state.since_s = number, monotonic()
        return True
    if monotonic() - _state.since_s > _PATIENCE_S:
        os._exit(STATUS + _state.number)
    return False


def ended_by(number: int) -> None:
    """Note that the process ends because of this signal, which was handled elsewhere."""
    _state.number, _state.since_s, _state.is_waiting = number, monotonic(), False
    if number == _HANG_UP:
        _forget_terminal()


def act() -> None:
    """Let a signal that has waited have its effect, unless it is held."""
    if not _state.is_waiting or held.depth:
        return
    _state.is_waiting = False
    if unwinding.depth:
        raise KeyboardInterrupt
    end_opening()
    say("\nInterrupted.\n")
    os._exit(STATUS + _state.number)


def check() -> None:
    """Raise KeyboardInterrupt if a signal is held."""
    if _state.is_waiting:
        _state.is_waiting = False
        raise KeyboardInterrupt


def has_come() -> bool:
    """Return True if a signal has come."""
    return _state.number != 0


def status(usual: int) -> int:
    """Return the exit status: that of the first signal if one has come."""
    return STATUS + _state.number if _state.number else usual


def finish(usual: int) -> int:
    """Let the process end with this status, or that of a signal, once all else has been done; return the status."""
    _state.status = status(usual)
    return _state.status


def say(text: str) -> None:
    """Write to stderr at once, past all buffers; do nothing if it is closed."""
    if sys.__stderr__ is not None:  # else its number may belong to another file
        with _Suppressed():
            os.write(2, text.encode())


def begin_opening(line: str) -> None:
    """Write a line on the terminal until ``end_opening``. Keys are not shown meanwhile, and kept as they are pressed.

    Ctrl+C and Ctrl+Z remain signals. Windows shows no keys that nobody reads.
    """
    with _Suppressed():
        import termios  # noqa: PLC0415 - not on Windows

        _state.attributes = termios.tcgetattr(0)
        quiet = termios.tcgetattr(0)
        quiet[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
        quiet[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        termios.tcsetattr(0, termios.TCSANOW, quiet)
    _state.opening = line
    with _Suppressed():
        os.write(1, line.encode(sys.stdout.encoding, "replace"))


def end_opening(*, keeps_keys: bool = False) -> None:
    """Remove the line and let keys be shown again. Discard those that were typed, else the shell would run them."""
    line, attributes = _state.opening, _state.attributes
    _state.opening, _state.attributes = "", None
    with _Suppressed():
        if line:
            os.write(1, b"\r\x1b[K" if attributes else b"\r%b\r" % (b" " * len(line)))
        if attributes:
            import termios  # noqa: PLC0415 - not on Windows

            if not keeps_keys:
                termios.tcflush(0, termios.TCIFLUSH)
            termios.tcsetattr(0, termios.TCSANOW, attributes)


def _on_signal(number: int, _: "FrameType | None") -> None:
    if note(number):
        if number == _HANG_UP:
            _forget_terminal()
        _state.is_waiting = True
        act()


def _forget_terminal() -> None:
    """Drop what is still written to a terminal that has been closed; writing there would be an error."""
    for stream in (1, 2):
        with _Suppressed():  # it was closed before
            if S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream)
                os.close(null)


def _on_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Raise KeyboardInterrupt again if it came where Python ignores exceptions, such as in ``__del__``."""
    if not (_state.number and isinstance(unraisable.exc_value, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)
        return
    from threading import Timer  # noqa: PLC0415 - rare

    def again() -> None:
        _state.number, number = 0, _state.number
        _signal.raise_signal(number)

    Timer(_AGAIN_S, again).start()


def _exit() -> None:
    """End without taking Python apart, which takes longer than a small run and would end the handling of signals."""
    if _state.status is None:
        return
    for stream in (sys.stdout, sys.stderr):
        with _Suppressed():
            stream.flush()
    os._exit(_state.status)
