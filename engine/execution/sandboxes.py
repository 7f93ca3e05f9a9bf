"""Sandboxes: what starts, bounds and kills the program of one process, without knowing what it is for.

``sandbox_of`` returns the one that was chosen. Programs are started by the supervisor, a process of its own, so that
they end with batchdeck, however it ends; containers are started by podman or docker.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from engine.execution.supervisor import Kept

if TYPE_CHECKING:
    from collections.abc import Mapping

_SUPERVISOR, _CONTAINER_WATCH = (Path(__file__).with_name(f"{name}.py") for name in ("supervisor", "container_watch"))
_KILLED = 137  # 128 and the number of SIGKILL
_NOT_STARTED = 127
_STREAMS = ("stdout", "stderr")
_NOBODY = 65534
_MOUNT_POINT = "/mnt"  # there, in a mount namespace of its own, is the folder of a node for a user who is not root
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store")
_HARDWARE = ("/sys/devices/system/cpu", "/sys/devices/system/node")
_CHOOSE = "or choose --sandbox process, in which programs can change all that you can change"


class Limits(NamedTuple):
    """The most that one process and what it starts may take."""

    memory_bytes: int | None = None
    processes: int = 512
    open_files: int = 1024
    file_bytes: int | None = None


class Start(NamedTuple):
    """A program to start. ``stdout`` and ``stderr`` are empty files below ``root``, the only folder it may change."""

    command_line: str
    directory: Path
    environment: Mapping[str, str]
    stdout: Path
    stderr: Path
    root: Path
    limits: Limits = Limits()
    image: str | None = None
    is_elevated: bool = False  # its user is an administrator


class ProgramNotFound(Exception):
    """A program that cannot be started, and why."""


class ImageMissing(OSError):
    """The image of a container, which cannot be had, and why."""


class SandboxMissing(Exception):
    """A sandbox that cannot be had here, and what to do."""


class Running(ABC):
    """A program that has been started. Once it has ended, ``is_full`` tells that no room was left for its output."""

    is_full = False

    @abstractmethod
    def poll(self) -> int | None:
        """Return its exit code, 128 and the number of a signal that has ended it, or None while it runs."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the program and all that it has started; return when they are gone."""


class Sandbox(ABC):
    """A way to start programs. ``notes`` are what users have to know of it.

    ``elevates`` tells that programs of administrators see themselves as root.
    """

    name: str
    notes: tuple[str, ...] = ()
    elevates = False

    @abstractmethod
    def start(self, start: Start) -> Running:
        """Start a program; return when it runs.

        Raises:
            ProgramNotFound: There is no such program, or it cannot be executed.
            ImageMissing: There is no such image.
            OSError: Something else has failed.
        """

    @abstractmethod
    def close(self) -> None:
        """Kill everything that still runs; return when it is gone."""


def sandbox_of(kind: str | None, *, network: bool, image: str | None, elevated: bool) -> Sandbox:
    """Return a sandbox, after trying it out.

    Args:
        kind: "process", "bubblewrap" or "container"; None for bubblewrap, which needs no other choice.
        network: Whether programs may use the network; those of "process" always do.
        image: The image of containers that name none.
        elevated: Whether programs of administrators see themselves as root, where they are isolated.

    Raises:
        SandboxMissing: It does not work here.
    """
    if sys.platform == "win32":
        raise SandboxMissing("command lines can be executed on Linux and macOS only: leave out --execute")
    if kind == "process":
        return _Processes()
    if kind in {None, "bubblewrap"}:
        return _Bubblewrap(network=network, elevated=elevated)
    if kind == "container":
        return _Containers(image, network=network, elevated=elevated)
    raise SandboxMissing(f"there is no sandbox {kind!r}: choose process, bubblewrap or container")


class _Supervised(Running):
    """A program whose guardian answers through a socket: when it has begun, and with its exit code."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._text = b""
        self._code: int | None = None

    def request(self, request: Mapping[str, object]) -> dict[str, Any]:
        """Ask for the start, and return the first answer."""
        with suppress(ConnectionError):
            self._channel.sendall(json.dumps(request, default=str).encode() + b"\n")
        return self._answer()

    def _answer(self, flags: int = 0) -> dict[str, Any]:
        while b"\n" not in self._text:
            data = b""
            with suppress(ConnectionResetError):
                data = self._channel.recv(4096, flags)
            # Without an answer its guardian was killed, and the supervisor kills the program.
            self._text += data or b'{"exit": %d}\n' % _KILLED
        line, _, self._text = self._text.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "begun" not in answer:
            self.is_full = answer.get("full", False)
            self._code = answer.get("exit", _NOT_STARTED)
            self._channel.close()
        return answer

    def poll(self) -> int | None:
        if self._code is None:
            with suppress(BlockingIOError):
                self._answer(socket.MSG_DONTWAIT)
        return self._code

    def kill(self) -> None:
        if self._code is None:
            with suppress(ConnectionError):
                self._channel.sendall(b"k")
            self._answer()


class _Processes(Sandbox):
    """Programs as processes of the user, in sessions of their own."""

    name = "process"
    notes: tuple[str, ...] = ("programs run as you, and can change all that you can change",)
    _has_own_count = False  # of processes, as users have in a namespace of their own

    def __init__(self) -> None:
        self._lock = Lock()
        self._control, self._supervisor = self._supervise()
        if not self.bounds_memory:
            self.notes += ("memory can be limited for each process only, not for a task as a whole",)
        if not self.bounds_processes:
            self.notes += ("the number of processes can be limited for all tasks together only",)

    def _supervise(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        control, end = socket.socketpair()
        with end:
            supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_SUPERVISOR), str(end.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(end.fileno(),),
                cwd="/",
                start_new_session=True,
            )
        with control.makefile("rb") as lines:
            line = lines.readline()
        if not line:
            raise SandboxMissing(f"the supervisor of programs does not start: try {sys.executable} {_SUPERVISOR}")
        bounds = json.loads(line)
        self.bounds_memory: bool = bounds["memory"]
        self.bounds_processes: bool = bounds["processes"] or self._has_own_count
        return control, supervisor

    def start(self, start: Start) -> Running:
        argv = _split(start.command_line)
        channel, end = socket.socketpair()
        running = _Supervised(channel)
        with end, self._lock:
            try:
                socket.send_fds(self._control, [b"s"], [end.fileno()])
            except OSError:  # it was killed
                self.close()
                self._control, self._supervisor = self._supervise()
                socket.send_fds(self._control, [b"s"], [end.fileno()])
        answer = running.request(
            start._asdict()
            | start.limits._asdict()
            | {"argv": argv, "environment": dict(start.environment)}
            | self._isolated(start)
        )
        if "program" in answer:
            raise ProgramNotFound(f"{argv[0]}: {answer['program']}{self._hint(argv[0], start)}")
        if "error" in answer:
            raise OSError(answer["error"])
        return running

    def _isolated(self, _start: Start) -> dict[str, object]:
        """Return how the program is isolated."""
        return {"bubblewrap": None, "user": None}

    def _hint(self, _program: str, _start: Start) -> str:
        return ""

    def close(self) -> None:
        self._control.close()
        self._supervisor.wait()


class _Bubblewrap(_Processes):
    """Programs that see the system without the user's files, and can change the folder of their node only.

    Root owns what the system is made of, such as the files in /proc/sys, which are not part of any folder. So what root
    starts runs as nobody, and the folders of nodes belong to nobody.
    """

    name = "bubblewrap"
    notes = ()

    def __init__(self, *, network: bool, elevated: bool) -> None:
        found = shutil.which("bwrap")
        if found is None:
            raise SandboxMissing(f"bubblewrap is not installed: apt-get install bubblewrap, {_CHOOSE}")
        self._has_own_count = os.getuid() != 0
        self._user = None if os.getuid() else _NOBODY
        self.elevates = elevated
        self._fixed = [os.path.realpath(found), *_isolation(network=network)]
        super().__init__()
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            out, err = root / "stdout.txt", root / "stderr.txt"
            out.touch()
            err.touch()
            try:
                self.start(Start("true", root, {"PATH": os.defpath}, out, err, root)).kill()
            except (OSError, ProgramNotFound) as error:
                self.close()
                reason = f"bubblewrap cannot isolate programs here ({error})"
                raise SandboxMissing(f"{reason}: allow user namespaces, {_CHOOSE}") from None

    def _isolated(self, start: Start) -> dict[str, object]:
        root = str(start.root)
        variables = [word for name, value in start.environment.items() for word in ("--setenv", name, value)]
        source = root if self._user is None else _MOUNT_POINT
        user = str(0 if self.elevates and start.is_elevated else os.getuid() or _NOBODY)
        words = [*self._fixed, "--uid", user, "--gid", user, "--bind", source, root, "--chdir", str(start.directory)]
        return {"bubblewrap": [*words, *variables], "user": self._user, "mount_point": _MOUNT_POINT}

    def _hint(self, program: str, start: Start) -> str:
        hidden = shutil.which(program, path=start.environment.get("PATH", os.defpath))
        return f"; bubblewrap hides {hidden}" if hidden else ""


class _Container(Running):
    """A container, whose logs are followed to its end."""

    def __init__(self, container: Any, start: Start) -> None:  # noqa: ANN401 - of an extra, which has no types
        self._container, self._start = container, start
        threads = ThreadPoolExecutor(3)
        followed = [threads.submit(self._copy_log, name) for name in _STREAMS]
        self._code = threads.submit(self._wait, followed)
        threads.shutdown(wait=False)

    def _copy_log(self, name: str, begins: int | None = None) -> int:
        """Append the log to a stream as it grows, or put it there as a whole; return where it begins."""
        kept = Kept(str(self._start.root), str(getattr(self._start, name)))
        try:
            if begins is not None:
                os.truncate(kept.file, begins)
            which = {"stdout": False, "stderr": False, name: True}
            for data in self._container.logs(stream=True, follow=begins is None, **which):
                kept.take(data)
            return kept.begins
        finally:
            kept.close()

    def _wait(self, followed: list[Future[int]]) -> int:
        try:
            code = self._container.wait(timeout=None)["StatusCode"]
            for name, each in zip(_STREAMS, followed, strict=True):
                self._copy_log(name, each.result())  # Podman loses parts of what is followed
            self._container.remove(force=True)
        except OSError:  # somebody has removed it, or the service has gone
            return _KILLED
        return int(code)

    def poll(self) -> int | None:
        return self._code.result() if self._code.done() else None

    def kill(self) -> None:
        with suppress(OSError):  # it has just ended
            self._container.kill()
        self._code.result()


class _Containers(Sandbox):
    """Programs in containers of Docker, or of Podman, which has the same interface."""

    name = "container"

    def __init__(self, image: str | None, *, network: bool, elevated: bool) -> None:
        self._client, address = _daemon()
        self._image, self._network = image, network
        # The folders of nodes belong to the user who has started batchdeck, and who is root where there is no other.
        is_rootless = any("rootless" in each for each in self._client.info().get("SecurityOptions") or ())
        self._user = "0:0" if is_rootless else f"{os.getuid()}:{os.getgid()}"
        self.elevates = elevated
        self._label = uuid4().hex
        self._keeper = subprocess.Popen(
            [sys.executable, "-P", str(_CONTAINER_WATCH), address, f"batchdeck={self._label}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def start(self, start: Start) -> Running:
        import docker

        image = start.image or self._image
        if image is None:
            raise OSError("there is no image: give containerSettings or --image")
        argv = _split(start.command_line) if start.command_line else None  # the image's own
        root, limits = str(start.root), start.limits
        most = {"nofile": limits.open_files, "fsize": limits.file_bytes, "core": 0}
        create = partial(
            self._client.containers.create,
            image,
            argv,
            working_dir=str(start.directory),
            environment=dict(start.environment),
            volumes={root: {"bind": root, "mode": "rw"}},
            network_mode=None if self._network else "none",
            user="0:0" if self.elevates and start.is_elevated else self._user,
            labels={"batchdeck": self._label},
            mem_limit=limits.memory_bytes,
            pids_limit=limits.processes,
            ulimits=[docker.types.Ulimit(name=name, soft=n, hard=n) for name, n in most.items() if n is not None],
        )
        try:
            try:
                container = create()
            except docker.errors.ImageNotFound:
                try:
                    self._client.images.pull(image)
                except docker.errors.APIError as error:
                    raise ImageMissing(f"{image}: {error.explanation or error}") from None
                container = create()
            try:
                container.start()
            except docker.errors.APIError:
                container.remove(force=True)
                raise
        except docker.errors.APIError as error:
            reason = str(error.explanation or error)
            if "exec: " in reason or "executable file" in reason:
                raise ProgramNotFound(f"{argv[0] if argv else image}: {reason}") from None
            raise OSError(f"{image}: {reason}") from None
        return _Container(container, start)

    def close(self) -> None:
        self._keeper.communicate()


def _daemon() -> tuple[Any, str]:
    """Return a client of the first service that answers, and its address."""
    try:
        import docker
    except ImportError:
        needed = "containers need the Docker SDK for Python, for Podman too"
        raise SandboxMissing(f"{needed}: pip install 'batchdeck[execute]'") from None
    own = f"{os.environ.get('XDG_RUNTIME_DIR', '')}/podman/podman.sock"
    sockets = ("/var/run/docker.sock", own, "/run/podman/podman.sock")
    for address in (os.environ.get("DOCKER_HOST", ""), *(f"unix://{place}" for place in sockets)):
        place = address.removeprefix("unix://")
        # At a socket that is not there the SDK would leave its connection open.
        if address and (place == address or os.path.exists(place)):
            with suppress(docker.errors.DockerException, OSError):
                client = docker.DockerClient(base_url=address)
                client.ping()
                client.api.timeout = None  # a container may be silent for hours, and an image be long on its way
                return client, address
    raise SandboxMissing(
        "neither Docker nor Podman answers: start one (systemctl --user start podman.socket) or set DOCKER_HOST"
    )


def _isolation(*, network: bool) -> list[str]:
    """Return the options of bubblewrap that every program gets."""
    words = ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for place in (*_SYSTEM, *_HARDWARE):
        words += ["--ro-bind-try", place, place]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"]
    home = os.path.realpath(Path.home())
    if home.startswith(tuple(f"{place}/" for place in _SYSTEM)):
        words += ["--tmpfs", home]
    if network:
        resolver = os.path.realpath("/etc/resolv.conf")
        words += ["--share-net", "--ro-bind-try", resolver, resolver]
    return words


def _split(command_line: str) -> list[str]:
    """Return a program and its arguments: Batch starts no shell.

    Raises:
        ProgramNotFound: There is none, or a quotation is not closed.
    """
    try:
        argv = shlex.split(command_line)
    except ValueError as error:
        raise ProgramNotFound(f"{command_line}: {error}") from None
    if not argv or not argv[0]:
        raise ProgramNotFound("the command line is empty")
    return argv
