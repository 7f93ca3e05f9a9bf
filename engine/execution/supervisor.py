"""The program that starts, watches and ends processes, so that none of them outlives the command that asked for it.

It imports the standard library alone. For each start it forks a *guardian*, which adopts whatever its program leaves,
and kills that tree when it is asked to, when the program has ended, and when the command or the supervisor has gone.
What a killed guardian leaves is adopted and killed by the supervisor.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import stat
import sys
import time
from contextlib import contextmanager, suppress
from functools import cache, partial
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

KEPT_BYTES = 10_000_000  # of each stream; the others are counted
_KILLED, _LINUX = 128 + signal.SIGKILL, sys.platform == "linux"
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36  # of prctl(2)
_NEW_MOUNT_NAMESPACE, _RECURSIVELY_PRIVATE, _BIND = 1 << 17, 1 << 18 | 1 << 14, 1 << 12  # of unshare(2) and mount(2)
_GROUPS = "/sys/fs/cgroup"
_TASKS_WITHOUT_GROUPS = 8  # whose processes are bounded together where there is no bound for each
_CHUNK, _HEAD_BYTES = 1 << 16, 1000  # of a stream; bubblewrap complains in the head
_POLL_MS, _POLL_S = 1, 0.001
_libc = cache(partial(ctypes.CDLL, None, use_errno=True))  # the C library, for what Python does not offer
_RESET = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD, signal.SIGXFSZ)


def main() -> None:
    """Fork a guardian for each connection that comes through the socket, until that is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    wake = _adopt()
    lifeline, held = os.pipe()
    # Those of a user are bounded together, with what the user has already: at most all threads of the machine.
    bound = int(Path("/proc/loadavg").read_text("ascii").split("/")[1].split()[0]) if _LINUX else 0
    prefix = f"batchdeck-{os.getpid()}-"
    groups = _Groups(f"{prefix}0", memory=1 << 40, processes=1)
    groups.remove()
    guardians: set[int] = set()
    with suppress(OSError):  # the command has gone
        _tell(control, memory=groups.bounds_memory, processes=groups.bounds_processes)
        while True:
            ready, _, _ = select.select([control.fileno(), wake], [], [])
            if wake in ready:
                os.read(wake, _CHUNK)
                _reap_guardians(guardians)
            if control.fileno() in ready:
                data, connections, _, _ = socket.recv_fds(control, 1, 1)
                if not data:
                    break
                with socket.socket(fileno=connections[0]) as channel:
                    channel.set_inheritable(False)
                    try:
                        guardian = os.fork()
                    except OSError as error:  # the machine has no more processes
                        _tell(channel, error=str(error))
                        continue
                    if not guardian:
                        os.close(held)
                        control.close()
                        _guard(channel, lifeline, prefix, bound)
                    guardians.add(guardian)
    os.close(held)
    while guardians:
        _reap_guardians(guardians)
        time.sleep(_POLL_S)
    for path in glob(f"{_GROUPS}/{prefix}*") + glob(f"{_GROUPS}/*/{prefix}*"):
        with suppress(OSError):
            os.rmdir(path)


@contextmanager
def directory_below(root: str, path: str, *, make: bool = False) -> Iterator[int]:
    """Open a directory below another, without following links, which a program may have put there; ``make`` makes it.

    Raises:
        OSError: There is a link or a file on the way, or the path leads out of the directory.
    """
    names = os.path.relpath(path, root).split(os.sep)
    if os.pardir in names:
        raise OSError(f"{path} is not below {root}")
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=opened)
            above, opened = opened, os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
            os.close(above)
        yield opened
    finally:
        os.close(opened)


def open_below(root: str, path: str, flags: int) -> int:
    """Open a file below a directory without following links; with ``os.O_CREAT``, make the directories above it.

    Raises:
        OSError: There is a link on the way, or what is there is no regular file.
    """
    above, name = os.path.split(path)
    with directory_below(root, above, make=bool(flags & os.O_CREAT)) as directory:
        opened = os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o666, dir_fd=directory)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(f"{path} is not a regular file")
    return opened


class _Groups:
    """The control groups that bound the memory and the number of processes of one tree, where they can be made."""

    def __init__(self, name: str, *, memory: int | None, processes: int) -> None:
        unified = os.path.exists(f"{_GROUPS}/cgroup.controllers")
        memory_file = "memory.max" if unified else "memory.limit_in_bytes"
        self._paths: set[str] = set()
        self.bounds_memory = self._bound(name if unified else f"memory/{name}", memory_file, memory)
        self.bounds_processes = self._bound(name if unified else f"pids/{name}", "pids.max", processes)

    def _bound(self, name: str, file: str, value: int | None) -> bool:
        path = f"{_GROUPS}/{name}"
        with suppress(OSError):
            os.makedirs(path, exist_ok=True)
            self._paths.add(path)
            if value is not None:
                Path(path, file).write_text(str(value), "ascii")
            return True
        return False

    def join(self) -> None:
        """Put this process into the groups."""
        for path in self._paths:
            # Moving a thread of its own waits for no other, while moving a process takes tens of milliseconds.
            threads = Path(path, "tasks")
            (threads if threads.exists() else Path(path, "cgroup.procs")).write_text("0", "ascii")

    def forbid_forks(self) -> None:
        """Let no process of the groups start another."""
        for path in self._paths:
            with suppress(OSError):
                Path(path, "pids.max").write_text("0", "ascii")

    def remove(self) -> None:
        """Remove the groups, which are empty."""
        for path in self._paths:
            with suppress(OSError):
                os.rmdir(path)


class Kept:
    """The file of a stream: it gets the first bytes as they come, and a last line that tells how many others came."""

    def __init__(self, root: str, path: str) -> None:
        self.file = open_below(root, path, os.O_WRONLY | os.O_APPEND)
        self.begins = os.fstat(self.file).st_size  # after what the coordination command of a primary has written
        self.head = self._last = b""
        self.kept = self.lost = 0

    def take(self, data: bytes) -> None:
        """Write what is still to be kept, and count the rest."""
        written = 0
        with suppress(OSError):  # a full disk
            written = os.write(self.file, data[: KEPT_BYTES - self.kept])
        self.kept += written
        self.lost += len(data) - written
        self._last = data[:written][-1:] or self._last
        self.head += data[: _HEAD_BYTES - len(self.head)]

    def close(self) -> None:
        """Close the file, after the last line if there is one."""
        if self.lost:
            begin = "" if self._last == b"\n" else "\n"
            with suppress(OSError):
                os.write(self.file, f"{begin}[{self.lost:,} more bytes were not kept]\n".encode())
        os.close(self.file)


class _Stream(Kept):
    """A stream that comes through a pipe."""

    def __init__(self, root: str, path: str) -> None:
        super().__init__(root, path)
        self.pipe, self.end = os.pipe()
        os.set_blocking(self.pipe, False)

    def pump(self) -> bool:
        """Take what has come; return False at the end of the stream."""
        data = os.read(self.pipe, _CHUNK)
        self.take(data)
        return bool(data)


class _Bubblewrap:
    """The options that bubblewrap gets beside a program, and what it tells of the program."""

    def __init__(self, words: Sequence[str], processes: int | None) -> None:
        """Make the pipes; ``processes`` bounds those of the program, where nothing else does."""
        self._processes = processes
        options = os.memfd_create("options")  # as arguments, all users of the machine would see the environment
        with open(options, "wb", closefd=False) as file:
            file.write(_as_in_proc(words[1:]))
        os.lseek(options, 0, os.SEEK_SET)
        self._status, status_end = os.pipe()
        go_end, self._go = os.pipe()
        os.set_blocking(self._status, False)
        self.passed = (options, status_end, go_end)
        flags = ("--args", options, "--json-status-fd", status_end, "--block-fd", go_end, "--")
        self.argv = [words[0], *map(str, flags)]
        self._told = b""
        self._first = 0  # process in the sandbox

    def has_begun(self, argv: Sequence[str]) -> bool:
        """Let the program begin once its number is known; return True when it has."""
        with suppress(BlockingIOError):
            self._told += os.read(self._status, _CHUNK)
        if b'"exit-code"' in self._told:
            return True
        if not self._first and b"\n" in self._told:
            self._first = int(json.loads(self._told.partition(b"\n")[0])["child-pid"])
            if self._processes is not None:
                with suppress(OSError):
                    resource.prlimit(self._first, resource.RLIMIT_NPROC, (self._processes, self._processes))
            os.write(self._go, b"x")
        with suppress(OSError):
            child, *_ = Path(f"/proc/{self._first}/task/{self._first}/children").read_bytes().split() or [b"0"]
            # Until it becomes the program, it has the arguments of bubblewrap.
            return Path(f"/proc/{int(child)}/cmdline").read_bytes() not in {b"", _as_in_proc([*self.argv, *argv])}
        return False


class _Guardian:
    """Starts one program, and ends it with all that comes from it."""

    def __init__(self, request: dict[str, Any], prefix: str, bound: int) -> None:
        self._request = request
        self.streams = [_Stream(request["root"], request[name]) for name in ("stdout", "stderr")]
        self._argv: list[str] = request["argv"]
        processes: int = request["processes"]
        self._groups = _Groups(f"{prefix}{os.getpid()}", memory=request["memory_bytes"], processes=processes)
        self._bound = None if self._groups.bounds_processes else bound + _TASKS_WITHOUT_GROUPS * processes
        words = request["bubblewrap"]
        self._bubblewrap = _Bubblewrap(words, processes if self._bound else None) if words else None
        self._main = 0
        self.exit_code: int | None = None

    def start(self) -> dict[str, str]:
        """Start the program; return what is to be told if that fails."""
        failed, failed_end = os.pipe()
        self._main = os.fork()
        if not self._main:
            self._become_program(failed_end)
        passed = self._bubblewrap.passed if self._bubblewrap else ()
        for fd in (failed_end, *passed, *(stream.end for stream in self.streams)):
            os.close(fd)
        failure = b"".join(iter(lambda: os.read(failed, _CHUNK), b"")).decode()
        return {"program" if failure[0] == "P" else "error": failure[1:]} if failure else {}

    def _become_program(self, failed: int) -> None:
        part = "E"
        try:
            os.setsid()
            self._groups.join()
            self._limit()
            if self._request["user"] is not None:
                _become_user(self._request["user"], self._request["root"], self._request["mount_point"])
            if _LINUX:
                _libc().prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            for ignored in _RESET:
                signal.signal(ignored, signal.SIG_DFL)
            os.umask(0o022)
            for number, fd in enumerate((os.open(os.devnull, os.O_RDONLY), *(stream.end for stream in self.streams))):
                os.dup2(fd, number)
            if self._bubblewrap:
                for fd in self._bubblewrap.passed:
                    os.set_inheritable(fd, True)
                os.execve(self._bubblewrap.argv[0], [*self._bubblewrap.argv, *self._argv], {})
            os.chdir(self._request["directory"])
            part = "P"
            os.execvpe(self._argv[0], self._argv, self._request["environment"])
        except BaseException as error:
            os.write(failed, f"{part}{getattr(error, 'strerror', None) or error}".encode())
        finally:
            os._exit(127)

    def _limit(self) -> None:
        for limited, most in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, self._request["open_files"]),
            (resource.RLIMIT_FSIZE, self._request["file_bytes"]),
            (resource.RLIMIT_NPROC, self._bound),
            (resource.RLIMIT_DATA, None if self._groups.bounds_memory else self._request["memory_bytes"]),
        ):
            if most is not None:
                _, hard = resource.getrlimit(limited)
                most_here = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(limited, (most_here, most_here))

    def has_begun(self) -> bool:
        """Return True when the program itself runs or has run."""
        return self._bubblewrap is None or self._bubblewrap.has_begun(self._argv)

    def reap(self) -> bool:
        """Note which processes have ended; return True while others are left."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == self._main:
                    code = os.waitstatus_to_exitcode(status)
                    self.exit_code = code if code >= 0 else 128 - code
                if not pid:
                    return True
        return False

    def kill(self) -> None:
        """Kill what is left of the tree, and wait until it is gone."""
        while self.reap():
            self._groups.forbid_forks()
            if not _LINUX:
                with suppress(OSError):
                    os.killpg(self._main, signal.SIGKILL)
            elif not _kill_tree():
                break  # another user's, such as what sudo has started
            time.sleep(_POLL_S)
        self.exit_code = _KILLED if self.exit_code is None else self.exit_code

    def finish(self) -> dict[str, Any]:
        """Close everything when the program has ended; return what is to be told."""
        self.kill()
        self._groups.remove()
        for stream in self.streams:
            with suppress(BlockingIOError):
                while stream.pump():
                    pass
        is_full = any(each.lost and each.kept < KEPT_BYTES for each in self.streams)
        told: dict[str, Any] = {"exit": self.exit_code, "full": is_full}
        complaint = self.streams[1].head.decode("utf-8", "replace").strip()
        if complaint.startswith("bwrap: ") and not self.has_begun():
            os.truncate(self.streams[1].file, self.streams[1].begins)
            told = {"program" if ": execvp " in complaint else "error": complaint.rpartition(": ")[2]}
        for stream in self.streams:
            stream.close()
        return told


def _become_user(user: int, root: str, mount_point: str) -> None:
    """Become a user who owns a folder and finds it elsewhere, since the way to it may be closed to that user."""
    for _, folders, files, place in os.fwalk(root):
        for name in (os.curdir, *folders, *files):
            if os.stat(name, dir_fd=place, follow_symlinks=False).st_uid != user:
                os.chown(name, user, user, dir_fd=place, follow_symlinks=False)
    libc = _libc()
    for call in (
        partial(libc.unshare, _NEW_MOUNT_NAMESPACE),
        partial(libc.mount, None, b"/", None, _RECURSIVELY_PRIVATE, None),
        partial(libc.mount, os.fsencode(root), os.fsencode(mount_point), None, _BIND, None),
    ):
        if call():
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def _guard(channel: socket.socket, lifeline: int, prefix: str, bound: int) -> NoReturn:
    """Run the program that is asked for, until it has ended or is not wanted any more."""
    try:
        with suppress(OSError):  # the command has gone
            wake = _adopt()
            try:
                last = _watched(channel, lifeline, wake, prefix, bound)
            except (OSError, ValueError) as error:
                last = {"error": str(error)}
            _tell(channel, **last)
    finally:
        os._exit(0)


def _watched(channel: socket.socket, lifeline: int, wake: int, prefix: str, bound: int) -> dict[str, Any]:
    """Start the program and wait for its end; return what is to be told of it."""
    with channel.makefile("rb") as lines:
        request = json.loads(lines.readline())
    guardian = _Guardian(request, prefix, bound)
    try:
        failure = guardian.start()
        has_told = False
        poll = select.poll()
        pipes = {stream.pipe: stream for stream in guardian.streams}
        for fd in (channel.fileno(), lifeline, wake, *pipes):
            poll.register(fd, select.POLLIN)
        while not failure and guardian.exit_code is None:
            if not has_told and guardian.has_begun():
                has_told = True
                _tell(channel, begun=True)
            for fd, _ in poll.poll(None if has_told else _POLL_MS):
                if fd in pipes:
                    if not pipes[fd].pump():
                        poll.unregister(fd)
                elif fd == wake:
                    os.read(wake, _CHUNK)
                    guardian.reap()
                else:  # the end is wanted, or the command has gone
                    guardian.kill()
    finally:
        last = guardian.finish()
    return failure or last


def _tell(channel: socket.socket, **message: object) -> None:
    channel.sendall(json.dumps(message).encode() + b"\n")


def _adopt() -> int:
    """Become the parent of descendants that lose theirs; return a file that can be read when a child has ended."""
    if _LINUX:
        _libc().prctl(_SET_CHILD_SUBREAPER, 1)
    wake, end = os.pipe()
    os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(end, warn_on_full_buffer=False)
    return wake


def _reap_guardians(guardians: set[int]) -> None:
    """Forget guardians that have ended, and kill what one of them has left because it was killed itself."""
    has_left = False
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            has_left |= ended[1] != 0
            guardians.discard(ended[0])
    if has_left and _kill_tree(guardians):
        time.sleep(_POLL_S)
        _reap_guardians(guardians)


def _kill_tree(spare: Collection[int] = ()) -> set[int]:
    """Kill all descendants of this process but for some trees; return them, without those of other users.

    All are stopped before the first is killed: otherwise they could start others as fast as they are killed.
    """
    stopped, others = set[int](), set(spare)
    while fresh := _descendants(others) - stopped:
        for pid in fresh:
            try:
                os.kill(pid, signal.SIGSTOP)
            except PermissionError:
                others.add(pid)
            except ProcessLookupError:
                pass
        stopped |= fresh - others
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return stopped


def _descendants(spare: Collection[int]) -> set[int]:
    """Return the descendants of this process, without some trees."""
    found = [os.getpid()]
    for pid in found:
        found += [child for child in children_of(pid) if child not in spare]
    return set(found[1:])


def children_of(pid: int) -> Iterator[int]:
    """Yield the children of a process: as the kernel lists them, or where it does not, by looking at all processes."""
    lists = glob(f"/proc/{pid}/task/*/children")
    for path in lists or glob("/proc/[0-9]*/stat"):
        with suppress(OSError):
            text = Path(path).read_bytes()
            if lists:
                yield from map(int, text.split())
            elif int(text.rpartition(b")")[2].split()[1]) == pid:
                yield int(text.split()[0])


def _as_in_proc(argv: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in argv)


if __name__ == "__main__":
    main()
