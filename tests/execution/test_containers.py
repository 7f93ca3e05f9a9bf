"""Programs in containers: by a service that is made up, and by a real one where it answers."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from engine.execution import container_watch, sandboxes
from engine.execution.sandboxes import ImageMissing, Limits, ProgramNotFound, SandboxMissing, sandbox_of
from tests.execution.programs import DEADLINE_S, Ended, Runner, ended, sandbox_missing, until

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")


class FakeError(OSError):
    """An answer of the service that is no success, as of ``requests``."""

    def __init__(self, explanation: str) -> None:
        super().__init__(f"500 Server Error: {explanation}")
        self.explanation = explanation


class FakeNotFound(FakeError):
    pass


class FakeImageNotFound(FakeNotFound):
    pass


class FakeContainer:
    """A container that ends when it is killed or removed, or at once if its program is ``true``."""

    def __init__(self, service: FakeDocker, image: str, command: list[str], options: dict[str, Any]) -> None:
        self.service, self.image, self.command, self.options = service, image, command, options
        self.code = 0
        self.ended = threading.Event()

    def start(self) -> None:
        if self.command[0] == "nosuch":
            raise FakeError('runc create failed: exec: "nosuch": executable file not found in $PATH')
        if self.command[0] == "unlucky":
            raise FakeError("no space left on device")
        if self.command[0] == "true":
            self.ended.set()

    def logs(self, *, stream: bool, follow: bool, stdout: bool, stderr: bool) -> Iterator[bytes]:
        assert stream
        assert stdout != stderr
        if self.service.api.timeout is not None:  # Podman answers with the first output, and Docker at the end of wait
            raise FakeError("Read timed out")
        yield b"begin\n" if stdout else b"wrong\n"
        if follow:
            assert self.ended.wait(DEADLINE_S)
        elif stdout:
            yield b"what was missed\n"

    def wait(self, *, timeout: None) -> dict[str, int]:
        assert timeout is None
        assert self.ended.wait(DEADLINE_S)
        if self.service.is_gone:
            raise FakeError("Connection aborted")
        if self not in self.service.all:
            raise FakeNotFound("no such container")
        return {"StatusCode": self.code}

    def kill(self) -> None:
        if self.ended.is_set():
            raise FakeError("is not running")
        self.code = 137
        self.ended.set()

    def remove(self, *, force: bool) -> None:
        assert force
        self.service.all.discard(self)
        self.ended.set()


class FakeDocker:
    """The part of the Docker SDK that is used, with one image, and another that can be pulled."""

    def __init__(self, address: str) -> None:
        self.all: set[FakeContainer] = set()
        self.images_here = {"here:1"}
        self.address = address
        self.addresses: list[str] = []
        self.is_rootless = self.is_gone = False
        self.api = SimpleNamespace(timeout=60)
        self.errors = SimpleNamespace(
            DockerException=FakeError, APIError=FakeError, NotFound=FakeNotFound, ImageNotFound=FakeImageNotFound
        )
        self.types = SimpleNamespace(Ulimit=lambda **options: options)
        self.containers = SimpleNamespace(create=self._create, list=self._list)
        self.images = SimpleNamespace(pull=self._pull)

    def DockerClient(self, *, base_url: str) -> FakeDocker:  # noqa: N802
        self.addresses.append(base_url)
        return self

    def ping(self) -> bool:
        if self.addresses[-1] != self.address:
            raise FakeError("Connection refused")
        return True

    def info(self) -> dict[str, Any]:
        return {"SecurityOptions": ["name=rootless"] if self.is_rootless else None}

    def _create(self, image: str, command: list[str], **options: Any) -> FakeContainer:
        if image not in self.images_here:
            raise FakeImageNotFound(f"no such image: {image}")
        container = FakeContainer(self, image, command, options)
        self.all.add(container)
        return container

    def _pull(self, image: str) -> None:
        if image != "elsewhere:1":
            raise FakeImageNotFound(f"no such image: {image}")
        self.images_here.add(image)

    def _list(self, *, all: bool, filters: dict[str, str]) -> list[FakeContainer]:  # noqa: A002
        assert all
        name, _, value = filters["label"].partition("=")
        return [each for each in self.all if each.options["labels"] == {name: value}]


@pytest.fixture
def docker(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """The service that answers at the socket of the user, where a file is as good as one."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "podman").mkdir()
    (folder / "podman" / "podman.sock").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    found = FakeDocker(f"unix://{folder}/podman/podman.sock")
    monkeypatch.setitem(sys.modules, "docker", found)
    monkeypatch.setitem(sys.modules, "docker.errors", found.errors)
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    # The process that removes what a killed command leaves has no fake: a test of its own calls what it does.
    monkeypatch.setattr(subprocess, "Popen", lambda call, **_: SimpleNamespace(args=call, communicate=lambda: None))
    return found


def contained(tmp_path: Path, **options: Any) -> Runner:
    return Runner(
        sandbox_of("container", **{"network": False, "image": "here:1", "elevated": False} | options), tmp_path
    )


def test_a_container_gets_the_folder_of_its_node_and_limits(docker: FakeDocker, tmp_path: Path) -> None:
    node = contained(tmp_path)
    running, out, err = node.start("sleep 'a b'", Limits(memory_bytes=1000, file_bytes=2000))
    (container,) = docker.all
    assert (container.image, container.command) == ("here:1", ["sleep", "a b"])
    label = container.options.pop("labels")["batchdeck"]
    assert node.sandbox._keeper.args[-2:] == [docker.address, f"batchdeck={label}"]
    assert container.options == {
        "working_dir": str(out.parent),
        "environment": node.environment,
        "volumes": {str(tmp_path): {"bind": str(tmp_path), "mode": "rw"}},
        "network_mode": "none",
        "user": f"{os.getuid()}:{os.getgid()}",
        "mem_limit": 1000,
        "pids_limit": 512,
        "ulimits": [
            {"name": name, "soft": n, "hard": n} for name, n in (("nofile", 1024), ("fsize", 2000), ("core", 0))
        ],
    }
    until(lambda: out.read_text() == "begin\n" and err.read_text() == "wrong\n")
    assert running.poll() is None
    running.kill()
    running.kill()
    assert running.poll() == 137
    assert docker.all == set()
    assert out.read_text() == "begin\nwhat was missed\n"
    assert err.read_text() == "wrong\n"
    node.sandbox.close()


def test_a_container_ends_with_the_exit_code_of_its_program(docker: FakeDocker, tmp_path: Path) -> None:
    assert contained(tmp_path, network=True).run("true") == Ended(0, "begin\nwhat was missed\n", "wrong\n")
    assert contained(tmp_path, elevated=True).run("true", image="elsewhere:1").code == 0
    docker.is_rootless = True
    running, _, _ = contained(tmp_path, network=True).start("sleep")
    (container,) = docker.all
    assert (container.options["user"], container.options["network_mode"]) == ("0:0", None)
    container.remove(force=True)  # by somebody else
    assert ended(running) == 137


def test_what_cannot_run_in_a_container_is_told(docker: FakeDocker, tmp_path: Path) -> None:
    node = contained(tmp_path, image=None)
    with pytest.raises(OSError, match="there is no image: give containerSettings or --image"):
        node.start("true")
    with pytest.raises(ImageMissing, match="lost:1: no such image: lost:1"):
        node.start("true", image="lost:1")
    with pytest.raises(ProgramNotFound, match=r"nosuch: .*executable file not found"):
        node.start("nosuch", image="here:1")
    with pytest.raises(OSError, match="here:1: no space left on device"):
        node.start("unlucky", image="here:1")
    assert docker.all == set()


def test_a_container_whose_service_has_gone_was_killed(docker: FakeDocker, tmp_path: Path) -> None:
    docker.is_gone = True
    assert contained(tmp_path).run("true").code == 137


def test_containers_of_a_killed_command_are_removed(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = contained(tmp_path)
    running, _, _ = node.start("sleep")
    other = docker.containers.create("here:1", ["sleep"], labels={"batchdeck": "other"})
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    container_watch.remove_containers(*node.sandbox._keeper.args[-2:])
    assert docker.all == {other}
    assert ended(running) == 137


def test_without_a_client_or_a_service_there_are_no_containers(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker, "address", "tcp://another:1")
    assert sandbox_missing("container") == (
        "neither Docker nor Podman answers: start one (systemctl --user start podman.socket) or set DOCKER_HOST"
    )
    monkeypatch.setitem(sys.modules, "docker", None)
    assert sandbox_missing("container") == (
        "containers need the Docker SDK for Python, for Podman too: pip install 'batchdeck[execute]'"
    )


def test_a_socket_that_is_not_there_is_not_asked(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK leaves connections open that have failed."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/stopped.sock")
    contained(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(docker, "address", "tcp://another:1")
    sandbox_missing("container")
    assert [each for each in docker.addresses if not os.path.exists(each.removeprefix("unix://"))] == []
    monkeypatch.setenv("DOCKER_HOST", "tcp://another:1")
    contained(tmp_path)
    assert docker.addresses[-1] == "tcp://another:1"


# The Docker SDK leaves connections open that have failed.
UNCLOSED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def small_image() -> Iterator[str]:
    """An image with a shell and nothing else, in the service of containers that answers here."""
    pytest.importorskip("docker", reason="the Docker SDK for Python is not installed")
    try:
        client, _ = sandboxes._daemon()
    except SandboxMissing as missing:
        pytest.skip(str(missing))
    shell = Path(shutil.which("busybox") or "/no/busybox")
    if not shell.exists() or b"ld-linux" in shell.read_bytes()[:4096]:
        pytest.skip("there is no busybox that needs no libraries: apt-get install busybox-static")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as root:
        root.add(shell.resolve(), "bin/busybox")
        for name in ("sh", "sleep", "ls", "cat"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            root.addfile(link)
    client.api.import_image_from_data(packed.getvalue(), repository="localhost/batchdeck-test")
    yield "localhost/batchdeck-test:latest"
    client.images.remove("localhost/batchdeck-test:latest", force=True)


@pytest.fixture
def real_containers(small_image: str, tmp_path: Path) -> Iterator[Runner]:
    node = contained(tmp_path, image=small_image)
    node.environment["PATH"] = "/bin"
    yield node
    node.sandbox.close()
    assert left_of(node) == []


def left_of(node: Runner) -> list[Any]:
    """Return the containers of a sandbox."""
    label = f"batchdeck={node.sandbox._label}"
    found: list[Any] = node.sandbox._client.containers.list(all=True, filters={"label": label})
    return found


@UNCLOSED
def test_a_real_container_has_its_folder_streams_limits_and_exit_code(real_containers: Runner) -> None:
    script = "echo $GREETING; ulimit -n; ls /sys/class/net; echo wrong >&2; echo made > made; exit 7"
    assert real_containers.run(f"sh -c '{script}'") == Ended(7, "good morning\n1024\nlo\n", "wrong\n")
    assert [place.read_text() for place in real_containers.root.glob("task-*/made")] == ["made\n"]
    with pytest.raises(ProgramNotFound, match="no-such-program"):
        real_containers.start("no-such-program")
    with pytest.raises(ImageMissing, match="no-such-image"):
        real_containers.start("sh", image="localhost/no-such-image:1")


@UNCLOSED
def test_a_real_container_is_killed_and_none_outlives_its_command(real_containers: Runner) -> None:
    running, out, _ = real_containers.start("sh -c 'echo begun; sleep 300'")
    until(lambda: out.read_text() == "begun\n")
    assert running.poll() is None
    running.kill()
    assert running.poll() == 137
    assert left_of(real_containers) == []
    running, out, _ = real_containers.start("sh -c 'echo begun; sleep 300'")
    until(lambda: out.read_text() == "begun\n")
    real_containers.sandbox._keeper.stdin.close()  # as if the command had gone
    real_containers.sandbox._keeper.stdin = None
    until(lambda: left_of(real_containers) == [])
    assert ended(running) == 137
